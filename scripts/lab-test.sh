#!/bin/sh
# Tests of the lab that need a PostgreSQL server: scripts/lab-faults.py in its short form, and that an agent does nothing while it
# measures. With `slurm`, also the tasks of a Slurm cluster. Takes about two minutes; needs root and `scripts/setup.sh test` (`slurm`).
# Usage: lab-test.sh [TARE [slurm]], by default target/debug/tare
set -eu
cd "$(dirname "$0")/.."
tare=${1:-${CARGO_TARGET_DIR:-target}/debug/tare}
export PYTHONDONTWRITEBYTECODE=1
if [ "$(id -u)" -ne 0 ]; then
    echo "skipped: the lab's tests need root, for mount name spaces" >&2
    [ -z "${TARE_NO_SKIP:-}" ]
    exit
fi
echo "The lab: nothing is lost while agents, connections and the server fail"
python3 scripts/lab-faults.py --tare "$tare" --short
echo "The lab: an agent does nothing while it measures"
python3 scripts/lab-undisturbed.py --tare "$tare" --samples 3
if [ "${2:-}" = slurm ]; then
    echo "The lab: nothing is lost while Slurm's controller and nodes fail"
    python3 scripts/lab-faults.py --tare "$tare" --short --engine slurm
fi
