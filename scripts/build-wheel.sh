#!/bin/sh
# Builds the wheel of the Python package into a folder, by maturin, which it installs into target/tools.
# Usage: build-wheel.sh FOLDER [PROFILE]; the profile is cargo's: release, or dev for tests.
set -eu
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:?the folder of the wheel}")
profile=${2:-release}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$target/tools/python
[ -x "$tools/bin/maturin" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'
}
cd bindings/python
CARGO_TARGET_DIR=$target "$tools/bin/maturin" build --locked --profile "$profile" --out "$folder"
