# For the examples: a temporary folder with a store of its own, and numbers.txt, some text to work on. Read by `.`, not run.
# shellcheck shell=sh
set -eu
TARE=$(realpath "$(command -v "${TARE:-tare}")") || {
    echo "there is no command ${TARE:-tare}; install it, or name it: TARE=target/release/tare $0" >&2
    exit 2
}
tare() { "$TARE" "$@"; }
# The example's own path, as the working folder changes.
started=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export TARE_DB="$work/tare.db" TARE_CALIBRATION="$work" XDG_CACHE_HOME="$work/cache" LC_ALL=C.UTF-8
cd "$work"
seq 1 7 4000000 >numbers.txt
