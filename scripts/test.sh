#!/bin/sh
# All tests. Where the machine has everything that they need, a test that is skipped fails.
set -eu
cd "$(dirname "$0")/.."

# Root, cgroup v2, and a kernel that describes its types: the development machine and CI.
if [ "$(id -u)" -eq 0 ] && grep -q ' - cgroup2 ' /proc/self/mountinfo && [ -e /sys/kernel/btf/vmlinux ]; then
    TARE_NO_SKIP=${TARE_NO_SKIP-1}
    export TARE_NO_SKIP
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All of them, even if one fails: a machine that is noisy now may show more than one.
stolen() { awk '$1 == "cpu" { print $9 }' /proc/stat; }
before=$(stolen)
status=0
{ cargo test --locked --workspace --no-fail-fast 2>&1 || echo $? >"$work/status"; } | tee "$work/log"
[ ! -e "$work/status" ] || status=$(cat "$work/status")
if [ "$status" -ne 0 ]; then
    # A hypervisor that takes the CPU away between two looks at two clocks spoils a comparison of them, as it spoils a sample. What
    # failed while it did is run once more, by itself, and must pass then. Where nothing was stolen, a failure is one.
    failed=$(sed -n 's/^test \([^ ]*\) \.\.\. FAILED$/\1/p' "$work/log")
    targets=$(sed -n 's/^    `\(-p .*\)`$/\1/p' "$work/log")
    # Each failed target has printed which of its tests failed: none has crashed, nor failed to compile.
    if [ "$(stolen)" = "$before" ] || [ -z "$targets" ] ||
        [ "$(echo "$targets" | wc -l)" -ne "$(grep -c '^test result: FAILED' "$work/log")" ]; then
        exit "$status"
    fi
    printf '\n== while the hypervisor stole from this machine, these failed; once more:\n%s\n' "$failed"
    echo "$targets" | while read -r target; do
        # Arguments, and names without spaces.
        # shellcheck disable=SC2086
        cargo test --locked $target -- --exact $failed </dev/null 2>&1 || { touch "$work/again"; break; }
    done | tee "$work/second"
    passed=$(awk '/^test result: ok/ { n += $4 } END { print n + 0 }' "$work/second")
    if [ -e "$work/again" ] || [ "$passed" -lt "$(grep -c '^test .* FAILED$' "$work/log")" ]; then
        exit "$status"
    fi
fi

# The web report in a browser, of generated data and of what the command writes.
(cd web && TARE="$(realpath "../${CARGO_TARGET_DIR:-target}/debug/tare" 2>/dev/null || echo "${CARGO_TARGET_DIR:-}/debug/tare")" npm test --silent)

# The harness as `cargo bench` calls it, and what it leaves for `tare`.
tare="${CARGO_TARGET_DIR:-target}/debug/tare"
cargo test --locked --quiet -p tarebench-kbest --bench own -- --bench --json "$work/own.json"
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
