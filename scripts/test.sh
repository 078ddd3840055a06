#!/bin/sh
# Runs all tests. If the machine has everything that the tests need, a skipped test is a failure.
set -eu
cd "$(dirname "$0")/.."

# Root, cgroup v2 and a kernel with BTF: the development machine and CI.
if [ "$(id -u)" -eq 0 ] && grep -q ' - cgroup2 ' /proc/self/mountinfo && [ -e /sys/kernel/btf/vmlinux ]; then
    TARE_NO_SKIP=${TARE_NO_SKIP-1}
    export TARE_NO_SKIP
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Run all of them even if one fails: on a noisy machine several may fail.
stolen() { awk '$1 == "cpu" { print $9 }' /proc/stat; }
before=$(stolen)
status=0
{ cargo test --locked --workspace --no-fail-fast 2>&1 || echo $? >"$work/status"; } | tee "$work/log"
[ ! -e "$work/status" ] || status=$(cat "$work/status")
if [ "$status" -ne 0 ]; then
    # If the hypervisor steals the CPU between two readings of two clocks, a comparison of the clocks fails. Tests that failed while CPU
    # time was stolen are run once more, alone, and must pass then. If none was stolen, a failure is a failure.
    failed=$(sed -n 's/^test \([^ ]*\) \.\.\. FAILED$/\1/p' "$work/log")
    targets=$(sed -n 's/^    `\(-p .*\)`$/\1/p' "$work/log")
    # Each failed target has printed which of its tests failed, so none has crashed or failed to compile.
    if [ "$(stolen)" = "$before" ] || [ -z "$targets" ] ||
        [ "$(echo "$targets" | wc -l)" -ne "$(grep -c '^test result: FAILED' "$work/log")" ]; then
        exit "$status"
    fi
    printf '\n== these failed while the hypervisor stole CPU time; running them once more:\n%s\n' "$failed"
    echo "$targets" | while read -r target; do
        # Test names and arguments have no spaces, so they can be split.
        # shellcheck disable=SC2086
        cargo test --locked $target -- --exact $failed </dev/null 2>&1 || { touch "$work/again"; break; }
    done | tee "$work/second"
    passed=$(awk '/^test result: ok/ { n += $4 } END { print n + 0 }' "$work/second")
    if [ -e "$work/again" ] || [ "$passed" -lt "$(grep -c '^test .* FAILED$' "$work/log")" ]; then
        exit "$status"
    fi
fi

# Tests of the web report in a browser, with generated data and with pages that the command writes.
(cd web && TARE="$(realpath "../${CARGO_TARGET_DIR:-target}/debug/tare" 2>/dev/null || echo "${CARGO_TARGET_DIR:-}/debug/tare")" npm test --silent)

# The benchmark harness as `cargo bench` calls it; `tare` imports the file that it writes.
tare="${CARGO_TARGET_DIR:-target}/debug/tare"
cargo test --locked --quiet -p tarebench-kbest --bench own -- --bench --json "$work/own.json"
"$tare" import --db "$work/own.db" "$work/own.json"
"$tare" show --db "$work/own.db" b1

# With seeds of an old format the fuzz targets would test only refusals: generate them again with fuzz/seeds.py.
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
