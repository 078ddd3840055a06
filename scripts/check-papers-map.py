#!/usr/bin/env python3
"""Checks docs/papers.md: every file and folder that it names must exist, and every item that it names of a file be in it.

A path is a word in backquotes that begins with a folder of the repository. A file name without a folder is looked for in the
folder that the same cell names before it, followed by a colon, or in the one that its section gives: "Files without a folder are in
`folder`". Items are names in backquotes in parentheses right after a path, or after a path and a comma within parentheses; a method
may have its type before it, and is then looked for in all crates if it stands alone. Exit code 1, with what is missing, if anything
is.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/papers.md"
WORD = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w.-]+\.(?:rs|c|h|ts|py|toml|json|md|sh)")
ITEM = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
BASE = re.compile(r"Files without a folder are in\s+`([^`]+)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def is_path(word):
    """Whether a word names something in the repository by its folder."""
    return re.fullmatch(r"[\w./-]+", word) is not None and "/" in word and (ROOT / word.split("/")[0]).is_dir()


def has_item(place, item):
    """Whether a file, or a file below a folder, defines the last part of this name: an item, field or variant in Rust, else a word."""
    name = re.escape(item.split("::")[-1])
    defined = rf"\b(?:fn|struct|enum|trait|const|static|type|mod|union)\s+{name}\b|^\s*(?:pub(?:\([^)]*\))? )?{name}\s*(?:[:,({{]|$)"
    files = [place] if place.is_file() else [f for f in place.rglob("*") if f.suffix in (".rs", ".c", ".h", ".ts", ".py")]
    texts = ((f.suffix, f.read_text(encoding="utf-8")) for f in files)
    return any(re.search(defined if suffix == ".rs" else rf"\b{name}\b", text, re.M) for suffix, text in texts)


def items_after(text, at):
    """The names that are given of the path that ends at this position: in parentheses, or after a comma before one closes."""
    bracket = re.match(r" \(([^()]*)\)", text[at:])
    if bracket:
        listed = bracket[1]
    else:
        listed = re.match(r"(?:,\s+`[\w:]+`)*(?=\))", text[at:])
        listed = listed[0] if listed else ""
    return [w for w in WORD.findall(listed) if ITEM.fullmatch(w)]


def check_text(text, base, missing):
    """Checks a cell of a table or a paragraph."""
    folder = base
    for word in WORD.finditer(text):
        name = word[1]
        if is_path(name):
            place = ROOT / name
            if place.is_dir() and text[word.end() :].startswith(":"):
                folder = place
        elif FILE.fullmatch(name) and folder:
            place = folder / name
        elif "::" in name and ITEM.fullmatch(name):
            if not any(has_item(ROOT / house, name) for house in ("crates", "papers", "lab")):
                missing.append(f"{name}: defined nowhere")
            continue
        else:
            continue
        if not place.exists():
            missing.append(f"{name}: no such file" + ("" if is_path(name) else f" in {folder.relative_to(ROOT)}"))
            continue
        for item in items_after(text, word.end()):
            if not has_item(place, item):
                missing.append(f"{name}: nothing called {item}")


def main():
    missing = []
    page = PAGE.read_text(encoding="utf-8")
    for section in re.split(r"^(?=## )", page, flags=re.M):
        given = BASE.search(section)
        base = ROOT / given[1] if given else None
        for paragraph in section.split("\n\n"):
            if paragraph.lstrip().startswith("|"):
                for row in paragraph.splitlines():
                    for cell in row.split(" | "):
                        check_text(cell, base, missing)
            else:
                check_text(paragraph, base, missing)
    missing += [f"{link}: no such page" for link in LINK.findall(page) if not (PAGE.parent / link).exists()]
    for line in missing:
        print(f"docs/papers.md: {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
