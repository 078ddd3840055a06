#!/bin/sh
# Fuzzes every target (or the named ones) for SECONDS each, starting from the committed seeds and the inputs that earlier calls found.
# Usage: fuzz.sh SECONDS [TARGET…]
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift
# Lets the stable compiler use the options of a nightly one, which the sanitizer needs.
export RUSTC_BOOTSTRAP=1
# SQLite's source has two static tables with the same name, which the sanitizer would report as an error.
export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# Lines in the reports of what fails.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
command -v cargo-fuzz >/dev/null 2>&1 || cargo install --locked cargo-fuzz
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(cargo fuzz list)
cargo fuzz build
failed=
for target in "$@"; do
    case $target in
    archive_json | bench_json | bsp | compare_json | report | profile_json | study_json) max=32768 ;; # a document of some samples
    *) max=4096 ;;
    esac
    mkdir -p "fuzz/corpus/$target"
    echo "== $target"
    cargo fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len="$max" -timeout=10 -print_final_stats=1 || failed="$failed $target"
done
[ -z "$failed" ] || { echo "Failed:$failed" >&2; exit 1; }
