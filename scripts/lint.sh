#!/bin/bash
# All checks but the tests: format, lints, layout, names, documents, generated files, licences. `make lint` and CI call it.
# Usage: lint.sh [OPTION of check-generated.sh]
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

step "format"
cargo fmt --all --check
step "clippy"
# Also of the fuzz targets, with an empty library in place of libFuzzer, whose C++ takes long to compile. Fuzzing itself takes too long
# here: make fuzz.
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
ar rc "$empty/libfuzzer.a"
CUSTOM_LIBFUZZER_PATH=$empty/libfuzzer.a cargo clippy --locked --workspace --all-targets -- -D warnings
step "documentation of the code"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --no-deps --workspace --exclude tare-fuzz
step "no loops of imports, no name for two types"
python3 scripts/check-loops.py
python3 scripts/check-names.py
step "links and examples of the documentation, the map of the papers"
python3 scripts/check-papers-map.py
python3 scripts/check-links.py
python3 scripts/check-links-test.py
python3 scripts/check-console-test.py
python3 scripts/check-console.py --list >/dev/null
step "the script that runs tests, CI templates"
python3 scripts/run-test-program-test.py
python3 scripts/run-ci-template-test.py
step "generated files, licences"
scripts/check-generated.sh "$@"
step "aarch64 compiles"
# What is written for that CPU is in these; make dist compiles all for it. Its core library comes with rustup; where it cannot be had,
# this says so.
if rustup target add aarch64-unknown-linux-gnu >/dev/null 2>&1; then
    cargo check --locked --quiet --target aarch64-unknown-linux-gnu -p tarebench-kbest -p tarebench-sys
else
    echo "not checked: the core library of aarch64-unknown-linux-gnu cannot be had here"
fi
