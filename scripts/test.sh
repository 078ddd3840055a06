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
# Outputs of tests that were run again; what the previous suite left is removed.
TARE_TEST_RERUNS=$(realpath -m "${CARGO_TARGET_DIR:-target}/test-reruns")
export TARE_TEST_RERUNS
rm -rf "$TARE_TEST_RERUNS"
mkdir -p "$TARE_TEST_RERUNS"
ended() {
    wait
    if [ -s "$TARE_TEST_RERUNS/list" ]; then
        printf '\n== tests that were run again, with their outputs in %s:\n' "$TARE_TEST_RERUNS"
        cat "$TARE_TEST_RERUNS/list"
    fi
    rm -rf "$work"
}
trap ended EXIT

# What the Python tests need is downloaded while cargo compiles; nothing is measured then.
scripts/test-python.sh --environment "$work/venv" >"$work/venv.log" 2>&1 &
environment=$!
# The benchmarks of `own` with all others: compiled alone, they would need other crates compiled anew, as cargo chooses their features
# by what it compiles together.
{ cargo test --locked --workspace --exclude tare-fuzz --no-run --tests --bench own 2>&1 || touch "$work/failed"; } | tee "$work/compiled"
[ ! -e "$work/failed" ] || exit 1
own=$(sed -n 's/^ *Executable benches\/own.rs (\(.*\))$/\1/p' "$work/compiled")
wait "$environment" || { cat "$work/venv.log"; exit 1; }

# Run all of them even if one fails: on a noisy machine several may fail. Each test program is started by a script that runs those
# tests again that stolen CPU time may have failed. With the Python module, which has no tests here, crates have the features that its
# wheel needs, and are compiled once. The program that tests measure is compiled by now, too.
TARE_BURNER=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/burner
export TARE_BURNER
host=$(rustc -vV | sed -n 's/^host: //p')
cargo test --locked --workspace --exclude tare-fuzz --no-fail-fast \
    --config "target.$host.runner = ['python3', '$PWD/scripts/run-test-program.py']"

# The Python package, from a wheel.
TARE_PYTHON_ENVIRONMENT=$work/venv scripts/test-python.sh

# Tests of the web report in a browser, with generated data and with pages that the command writes; beside what needs no quiet machine.
(cd web && TARE="$(realpath "../${CARGO_TARGET_DIR:-target}/debug/tare" 2>/dev/null || echo "${CARGO_TARGET_DIR:-}/debug/tare")" \
    nice -n 19 npm test --silent) >"$work/web.log" 2>&1 &
web=$!

# The benchmark harness as `cargo bench` calls it; `tare` imports the file that it writes.
tare="${CARGO_TARGET_DIR:-target}/debug/tare"
"$own" --bench --json "$work/own.json"
"$tare" import --db "$work/own.db" "$work/own.json"
"$tare" show --db "$work/own.db" b1

# A lab on a PostgreSQL server, with failures of agents, connections and the server.
scripts/lab-test.sh "$tare"

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

wait "$web" || { cat "$work/web.log"; exit 1; }
cat "$work/web.log"
