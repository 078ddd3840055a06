#!/bin/bash
# Fails if a file that is generated and committed is not current. Add a check here for each new one.
# With --use-rebuilt, kernel programs that this machine's clang compiles to other bytes replace the committed ones, to be tested.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Cargo.lock.
cargo metadata --locked --format-version 1 >"$work/metadata.json"

# Licences, sources and locks of all dependencies.
python3 scripts/check-dependencies.py "$work/metadata.json"

# Objects of the eBPF programs. They are from Debian 12's clang 14; another version may give other bytes for the same source. That the
# committed ones are current is then not known, and CI tests what this version gives instead.
sh crates/bpf/build.sh "$work"
for object in crates/bpf/src/*.bpf.o; do
    if ! cmp -s "$object" "$work/${object##*/}"; then
        if clang --version | grep -q 'version 14\.'; then
            echo "$object is not what its source gives: crates/bpf/build.sh" >&2
            exit 1
        fi
        if [ "${1-}" = --use-rebuilt ]; then
            echo "$object: clang $(clang -dumpversion) gives other bytes, which replace it"
            cp "$work/${object##*/}" "$object"
        else
            echo "$object: clang $(clang -dumpversion) gives other bytes; only version 14 can show whether it is current"
        fi
    fi
done

for layout in account timeline; do
    if ! cmp -s "crates/bpf/src/${layout}_layout.rs" "$work/${layout}_layout.rs"; then
        echo "crates/bpf/src/${layout}_layout.rs is not what $layout.h gives: crates/bpf/build.sh" >&2
        exit 1
    fi
done

# The web report's page, from web/.
(cd web && npm run --silent lint && npm run --silent check)

echo "Generated files are current."
