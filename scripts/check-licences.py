#!/usr/bin/env python3
"""Every dependency must have a licence of the list: reads what `cargo metadata` wrote. Needs no network."""
import json
import re
import sys

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "ISC", "MIT", "MIT-0", "MPL-2.0", "NCSA", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "Zlib",
}


def allowed(expression):
    """Whether an SPDX expression can be fulfilled with allowed licences alone."""
    text = expression.replace("/", " OR ")
    tokens = re.findall(r"[()]|[\w.+-]+(?: WITH [\w.+-]+)?", text)

    def any_of():
        result = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            result = all_of() or result
        return result

    def all_of():
        result = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            result = one() and result
        return result

    def one():
        token = tokens.pop(0)
        if token == "(":
            result = any_of()
            tokens.pop(0)
            return result
        return token in ALLOWED

    return any_of()


with open(sys.argv[1], encoding="utf-8") as file:
    packages = json.load(file)["packages"]
bad = [p for p in packages if not (p.get("license") and allowed(p["license"]))]
for package in bad:
    print(f"{package['name']} {package['version']}: licence {package.get('license')!r} is not allowed", file=sys.stderr)
sys.exit(1 if bad else 0)
