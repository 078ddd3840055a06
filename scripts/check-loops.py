#!/usr/bin/env python3
"""Finds loops of imports between the files of a crate, and between its folders.

A file imports another if it names something in it, by `use` or by a path in the code; the declaration `mod x;` and a
file that only declares modules or hands on names (`pub use`) are no imports. Exit code 1, with the loops, if there are any.
"""
import os
import re
import sys

USE = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?use[ \t]+([^;]*);", re.M)
PATH = re.compile(r"(?<![\w:])((?:crate|super|self)(?:::\w+)+)")
COMMENT = re.compile(r"//[^\n]*")


def module(path):
    """The module of a file below `src`, as a tuple of names."""
    parts = path[:-3].split("/")
    return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)


def leaves(tree):
    """The paths of a `use` tree, as lists of names."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        return [[s.strip() for s in re.sub(r"\s+as\s+\w+", "", tree).split("::") if s.strip()]]
    before = [s.strip() for s in tree[:brace].split("::") if s.strip()]
    parts, depth, part = [], 0, ""
    for char in tree[brace + 1 : tree.rindex("}")]:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += char
    return [before + leaf for p in [*parts, part] if p.strip() for leaf in leaves(p)]


def absolute(path, own, modules):
    """A path as seen from a module, from the crate's root on; None if it is another crate's."""
    path = list(path)
    if path[0] == "crate":
        base, path = [], path[1:]
    elif path[0] in ("super", "self"):
        base = list(own)
        while path and path[0] == "super":
            base, path = base[:-1], path[1:]
        path = path[1:] if path and path[0] == "self" else path
    elif own + (path[0],) in modules:
        base = list(own)
    else:
        return None
    return tuple(base + [p for p in path if p not in ("self", "*")])


def handed_on(text, own, modules):
    """Names that a file hands on by `pub use`, and where they are from."""
    found = {}
    for use in USE.finditer(COMMENT.sub("", text)):
        if use[0].lstrip().startswith("pub use"):
            for leaf in leaves(use[1]):
                whole = absolute(leaf, own, modules)
                if whole:
                    found[whole[-1]] = whole
    return found


def resolve(whole, modules, handed):
    """The module that defines what a path names: names that a file hands on are followed to their source."""
    for n in range(len(whole), -1, -1):
        if whole[:n] in modules:
            source = handed.get(whole[:n], {}).get(whole[n]) if n < len(whole) else None
            return resolve(source, modules, handed) if source and source[:-1] != whole[:n] else whole[:n]
    return None


def imports(text, own, modules, handed):
    """Modules of this crate that the text names."""
    # Tests may import anything, so they are ignored.
    text = COMMENT.sub("", re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, flags=re.M)[0])
    paths = [leaf for m in USE.finditer(text) if not m[0].lstrip().startswith("pub use") for leaf in leaves(m[1])]
    paths += [m[1].split("::") for m in PATH.finditer(USE.sub("", text))]
    for path in paths:
        whole = absolute(path, own, modules)
        found = resolve(whole, modules, handed) if whole is not None else None
        if found is not None and found != own:
            yield found


def loops(arrows):
    """Strongly connected groups of more than one (Tarjan)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for to in sorted(arrows.get(node, ())):
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in on:
                low[node] = min(low[node], index[to])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
                on.discard(group[-1])
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def check(src):
    files = {}
    for folder, _, names in os.walk(src):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), src)
            if path.endswith(".rs"):
                files[module(path)] = path
    text = {m: open(os.path.join(src, p), encoding="utf-8").read() for m, p in files.items()}
    handed = {m: handed_on(text[m], m, files) for m in files}
    arrows = {m: set(imports(text[m], m, files, handed)) for m in files}
    bad = []
    for group in loops(arrows):
        bad.append(("files", [files[m] for m in group], arrows, group))
    # Loops between the folders directly below src, and between those within each folder.
    inner = {m[:n] for m in files for n in range(len(m))}
    for folder in sorted(inner):
        depth = len(folder)
        rooms = {}
        for m, to in arrows.items():
            if m[:depth] != folder or len(m) <= depth:
                continue
            rooms.setdefault(m[: depth + 1], set()).update(
                t[: depth + 1] for t in to if t[:depth] == folder and len(t) > depth and t[: depth + 1] != m[: depth + 1]
            )
        for group in loops(rooms):
            bad.append(("rooms", ["::".join(m) for m in group], arrows, group))
    for what, names, arrows, group in bad:
        print(f"{src}: a loop of {what}: {', '.join(names)}", file=sys.stderr)
        members = set(group)
        depth = len(group[0]) if what == "rooms" else None
        for m, to in sorted(arrows.items()):
            for t in sorted(to):
                a, b = (m[:depth], t[:depth]) if depth else (m, t)
                if a in members and b in members and a != b:
                    print(f"  {files[m]} -> {files[t]}", file=sys.stderr)
    return len(bad)


def main():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    sources = [os.path.join("crates", c, "src") for c in sorted(os.listdir(os.path.join(root, "crates")))] + ["lab/src", "papers/src"]
    os.chdir(root)
    found = sum(check(src) for src in [*sources, "bindings/c/src"] if os.path.isdir(src))
    if found:
        sys.exit(1)
    print(f"No loops between the files or folders of {len(sources)} crates.")


main()
