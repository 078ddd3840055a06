#!/bin/sh
# Builds the wheel, installs it into a fresh virtual environment, and runs the tests of the Python package there, two files at a time:
# their figures need no quiet machine, and most of the time one CPU is idle.
# Usage: test-python.sh [ARGUMENT OF pytest…]; by default all but those marked slow.
#        test-python.sh --environment FOLDER: only makes the virtual environment, without the wheel. With TARE_PYTHON_ENVIRONMENT=FOLDER
#        the tests then use that one.
set -eu
cd "$(dirname "$0")/.."
environment() {
    python3 -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check -r bindings/python/tests/requirements.txt
}
if [ "${1-}" = --environment ]; then
    environment "${2:?the folder of the environment}"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/build-wheel.sh "$work/wheels" dev
venv=${TARE_PYTHON_ENVIRONMENT-}
if [ -z "$venv" ]; then
    venv=$work/venv
    environment "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check "$work"/wheels/*.whl
# What the environment has on its path is what users have: the command, and the plugin for pytest.
PATH=$venv/bin:$PATH
export PATH
tare --version
if [ $# -eq 0 ]; then set -- -m "not slow"; fi
# Elsewhere than in the sources, whose folder would be imported instead of what was installed.
python -m pytest --quiet --numprocesses=2 --dist=loadfile -p no:cacheprovider --rootdir bindings/python bindings/python/tests "$@"
