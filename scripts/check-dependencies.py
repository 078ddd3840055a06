#!/usr/bin/env python3
"""Every crate must have a licence that deny.toml allows and come from the registry, and every npm package must be locked.

Reads what `cargo metadata` wrote, and web/package-lock.json. Needs no network.
"""
import json
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
ALLOWED = set(RULES["licenses"]["allow"])


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


def faults_of_crates(metadata):
    """What is wrong with the crates of a workspace."""
    packages = json.loads(pathlib.Path(metadata).read_text(encoding="utf-8"))["packages"]
    # Crates of the workspace have no source.
    sources = {package["source"] for package in packages if package["source"] is not None}
    if len(sources) > 1 or not all(source.startswith("registry+") for source in sources):
        yield f"crates are from {', '.join(sorted(sources))}, expected one registry"
    for package in packages:
        name = f"{package['name']} {package['version']}"
        unpublished = package["source"] is None and package["publish"] == []
        if not unpublished and not (package["license"] and allowed(package["license"])):
            yield f"{name}: licence {package['license']!r} is not allowed"


def faults_of_npm(folder):
    """What `npm install` would not check: it resolves anew what the lock does not have."""
    wanted = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for kind in ("dependencies", "devDependencies"):
        if wanted.get(kind) != packages[""].get(kind):
            yield f"web/package-lock.json has other {kind} than web/package.json"
    for path, package in packages.items():
        if path and not package.get("integrity", "").startswith("sha512-"):
            yield f"web/package-lock.json: {path} has no checksum"


def main():
    faults = list(faults_of_crates(sys.argv[1]))
    faults += faults_of_npm(ROOT / "web")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
