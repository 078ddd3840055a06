#!/bin/sh
# All tests. Where the machine has everything that they need, a test that is skipped fails.
set -eu
cd "$(dirname "$0")/.."

# Root, cgroup v2, and a kernel that describes its types: the development machine and CI.
if [ "$(id -u)" -eq 0 ] && grep -q ' - cgroup2 ' /proc/self/mountinfo && [ -e /sys/kernel/btf/vmlinux ]; then
    TARE_NO_SKIP=${TARE_NO_SKIP-1}
    export TARE_NO_SKIP
fi
# All of them, even if one fails: a machine that is noisy now may show more than one.
cargo test --locked --workspace --no-fail-fast

# The web report in a browser, of generated data and of what the command writes.
(cd web && TARE="$(realpath "../${CARGO_TARGET_DIR:-target}/debug/tare" 2>/dev/null || echo "${CARGO_TARGET_DIR:-}/debug/tare")" npm test --silent)

# The harness as `cargo bench` calls it, and what it leaves for `tare`.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tare="${CARGO_TARGET_DIR:-target}/debug/tare"
cargo test --locked --quiet -p tare-kbest --bench own -- --bench --json "$work/own.json"
"$tare" import --db "$work/own.db" "$work/own.json"
"$tare" show --db "$work/own.db" b1

# Seeds that the format has left behind would make the fuzz targets test nothing but refusals: fuzz/seeds.py.
for seed in fuzz/seeds/archive_json/*.json; do
    "${CARGO_TARGET_DIR:-target}/debug/tare" import --db "$work/${seed##*/}.db" "$seed" 2>/dev/null || {
        echo "$seed is no document that tare reads: fuzz/seeds.py TARE makes it anew" >&2
        exit 1
    }
done
for seed in fuzz/seeds/profile_json/*.json; do
    "${CARGO_TARGET_DIR:-target}/debug/tare" profile import --db "$work/${seed##*/}.db" "$seed" 2>/dev/null || {
        echo "$seed is no profile that tare reads: fuzz/seeds.py TARE makes it anew" >&2
        exit 1
    }
done
