#!/bin/sh
# Runs the unit tests of crates/core in Miri, an interpreter that finds undefined behaviour, module by module: SECONDS are the limit of
# a module (600 by default), as some analyses take hours there. Property tests try one case each. Ends with what was not run to its end.
# Usage: miri.sh [SECONDS [MODULE…]]
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -eq 0 ] || shift
export PROPTEST_CASES=1 PROPTEST_DISABLE_FAILURE_PERSISTENCE=1 MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"
rustup component list --toolchain nightly 2>/dev/null | grep -q '^miri.*(installed)' ||
    rustup toolchain install nightly --profile minimal -c miri -c rust-src
miri() { cargo +nightly miri test --locked --quiet --package tarebench-core --lib -- "$@"; }
if [ $# -eq 0 ]; then
    # shellcheck disable=SC2046
    set -- $(miri --list 2>/dev/null | sed -n 's/::[^:]*: test$//p' | sort -u)
fi
failed= unfinished=
for module in "$@"; do
    status=0
    log=$(timeout "$seconds" cargo +nightly miri test --locked --quiet --package tarebench-core --lib -- "$module::" 2>&1) || status=$?
    case $status in
    0) echo "$module: $(echo "$log" | sed -n 's/^test result: ok\. \([0-9]* passed\).*/\1/p')" ;;
    124) echo "$module: not finished in $seconds s"; unfinished="$unfinished $module" ;;
    *) echo "$module: FAILED"; echo "$log"; failed="$failed $module" ;;
    esac
done
[ -z "$unfinished" ] || echo "Not run to the end:$unfinished"
[ -z "$failed" ] || { echo "Failed:$failed" >&2; exit 1; }
