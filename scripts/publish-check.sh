#!/bin/sh
# Packages every crate as for a registry, in the order of their dependencies, and compiles each package; publishes nothing. Says what
# a crate lacks. Since 1.90, cargo does this with crates of which no registry has the dependencies; an earlier cargo only packages them.
set -eu
cd "$(dirname "$0")/.."
python3 scripts/dist-metadata.py

minor=$(cargo --version | sed 's/^cargo 1\.\([0-9]*\)\..*/\1/')
if [ "$minor" -ge 90 ]; then
    # Crates with `publish = false` are left out.
    cargo publish --workspace --dry-run --locked --allow-dirty
    echo "All crates can be published, in this order: $(python3 scripts/dist-metadata.py --order)"
else
    for crate in $(python3 scripts/dist-metadata.py --order); do
        cargo package --locked --allow-dirty --no-verify -p "$crate" || {
            echo "$crate: publish the crates before it first, or use cargo 1.90 or later" >&2
            exit 1
        }
    done
    echo "Packaged, but not compiled: that needs cargo 1.90 or later"
fi
