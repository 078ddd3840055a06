#!/bin/sh
# Boots real kernels in QEMU and holds tare against truths in each (scripts/machines), of these names or all.
# With PROGRAMS, a folder of tare, burner and truth, makes what checks break with a kernel. Without, builds these programs, for aarch64
# too, and makes all checks; if all kernels are asked for, tries tare on a Debian with systemd, too, and writes docs/machines.md.
# Usage: machines.sh [KERNEL…]
set -eu
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
triple=aarch64-unknown-linux-musl

set -- $(for kernel in "$@"; do printf -- '--kernel %s ' "$kernel"; done)
if [ -n "${PROGRAMS:-}" ]; then
    exec python3 scripts/machines/machines.py --folder "$target/machines" --programs "$PROGRAMS" --brief "$@"
fi
cargo build --locked -p tarebench-cli -p tarebench-lab -p tarebench-testbed
code=0
systemd=0
scripts/aarch64.sh cargo build --locked --target "$triple" -p tarebench-cli -p tarebench-testbed || code=$?
case $code in
0) set -- --programs-arm64 "$target/$triple/debug" "$@" ;;
# It has said why that cannot be had here.
3) ;;
*) exit "$code" ;;
esac
case " $* " in
*" --kernel "*) ;;
*)
    # All: also a Debian with systemd, whose failures are told at the end.
    python3 scripts/machines/systemd.py --tare "$target/debug/tare" --work "$target/debug/burner" --folder "$target/machines" \
        --results "$target/machines/systemd" || systemd=1
    set -- --write docs/machines.md --systemd "$target/machines/systemd" "$@"
    ;;
esac
code=0
python3 scripts/machines/machines.py --folder "$target/machines" --programs "$target/debug" "$@" || code=$?
exit $((code ? code : systemd))
