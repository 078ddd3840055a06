#!/usr/bin/env python3
"""Types of different crates and subjects have different names, and no closure is called `of` or `one`.

A reader who meets a name in one subject should not have to ask which of several types is meant. Exits with 1 and the places
where this does not hold.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Items only: an associated type is indented below its trait's implementation.
TYPE = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|union|trait|type) (\w+)", re.MULTILINE)
CLOSURE = re.compile(r"\blet (?:mut )?(?:of|one) = (?:move )?\|")


def main():
    places, closures = collections.defaultdict(set), []
    for path in sorted([*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("lab/src/**/*.rs"), *ROOT.glob("papers/src/**/*.rs")]):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        # Twice in one file: one for each architecture.
        for match in TYPE.finditer(text):
            places[match[1]].add(name)
        closures += [f"{name}:{text.count(chr(10), 0, m.start()) + 1}" for m in CLOSURE.finditer(text)]
    repeated = {name: files for name, files in sorted(places.items()) if len(files) > 1}
    for name, files in repeated.items():
        print(f"the type name {name} is used in: {', '.join(sorted(files))}")
    for place in closures:
        print(f"{place}: a closure called `of` or `one` does not say what it does")
    print(f"{len(places)} type names, {len(repeated)} of them used for different types; {len(closures)} closures without a name")
    return 1 if repeated or closures else 0


sys.exit(main())
