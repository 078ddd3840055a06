#!/bin/sh
# Builds the wheel, installs it into a fresh virtual environment, and runs the tests of the Python package there. They disturb each
# other's figures: one at a time.
# Usage: test-python.sh [ARGUMENT OF pytest…]; by default all but those marked slow.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/build-wheel.sh "$work/wheels" dev
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$work"/wheels/*.whl -r bindings/python/tests/requirements.txt
# What the environment has on its path is what users have: the command, and the plugin for pytest.
PATH=$work/venv/bin:$PATH
export PATH
tare --version
if [ $# -eq 0 ]; then set -- -m "not slow"; fi
# Elsewhere than in the sources, whose folder would be imported instead of what was installed.
python -m pytest --quiet -p no:cacheprovider --rootdir bindings/python bindings/python/tests "$@"
