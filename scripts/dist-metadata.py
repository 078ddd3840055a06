#!/usr/bin/env python3
"""Checks what the crates of the workspace need to be published, beyond what cargo checks; runs nothing but `cargo metadata`.

Each crate that is published has a description, a licence, a repository, one to five keywords, categories, a readme in its own folder,
and a Rust version; its dependencies in the workspace have a version beside their path; and no source that is compiled into it, tests
left out, includes a file from outside of its folder or one that its package leaves out. Exit code 1, with a line for each fault.

With `--order`, prints the crates in the order in which they can be published.
"""
import json
import pathlib
import re
import subprocess
import sys

INCLUDED = re.compile(r"include(?:_str|_bytes)?!\(\s*\"([^\"]+)\"")
NEEDED = ("description", "license", "repository", "keywords", "categories", "readme", "rust_version")
KEYWORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,19}")


def faults(package):
    """What the manifest of a crate lacks."""
    for field in NEEDED:
        if not package[field]:
            yield f"has no {field.replace('_', '-')}; expected one in [package]"
    if len(package["keywords"]) > 5:
        yield f"has {len(package['keywords'])} keywords; expected five at most"
    for word in package["keywords"]:
        if not KEYWORD.fullmatch(word):
            yield f"has the keyword {word!r}; expected up to 20 letters, digits, - or _"
    for needed in package["dependencies"]:
        # `*` is a path without a version. Dependencies of tests without one are left out of what is published.
        if needed.get("path") and needed["req"] == "*" and needed["kind"] != "dev":
            yield f"depends on {needed['name']} by its path alone; expected `version` beside `path` in [workspace.dependencies]"


def without_tests(text):
    """A source up to its tests, which stand at the end of a file."""
    return re.split(r"^\s*#\[cfg\(test\)\]\s*\n\s*mod \w+ \{", text, maxsplit=1, flags=re.M)[0]


def packaged(package):
    """The files that a crate's package will have, relative to its folder."""
    command = ["cargo", "package", "--list", "--allow-dirty", "--locked", "--package", package["name"]]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n"))


def missing(package):
    """Files that the sources include and that the package does not have."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = packaged(package)
    for source in sorted((folder / "src").rglob("*.rs")):
        for name in INCLUDED.findall(without_tests(source.read_text(encoding="utf-8"))):
            path = (source.parent / name).resolve()
            if not path.is_relative_to(folder):
                # A file of a module that is for tests only is not compiled into the package.
                if "tests" not in source.relative_to(folder).parts and source.stem not in ("tests", "fixtures"):
                    yield f"{source.relative_to(folder)} includes {name}, which is not in the crate's folder"
            elif str(path.relative_to(folder)) not in files and "tests" not in path.relative_to(folder).parts:
                yield f"{source.relative_to(folder)} includes {name}, which the package leaves out"


def order(packages):
    """The names, each after those that it depends on."""
    names = {package["name"]: package for package in packages}
    done = []

    def visit(name):
        for needed in names[name]["dependencies"]:
            if needed["name"] in names and needed["kind"] != "dev" and needed["name"] not in done:
                visit(needed["name"])
        if name not in done:
            done.append(name)

    for name in sorted(names):
        visit(name)
    return done


def main():
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = [package for package in metadata["packages"] if package["publish"] != []]
    if sys.argv[1:] == ["--order"]:
        print(" ".join(order(packages)))
        return 0
    found = [f"{package['name']} {fault}" for package in packages for fault in [*faults(package), *missing(package)]]
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
