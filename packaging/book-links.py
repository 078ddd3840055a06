#!/usr/bin/env python3
"""A preprocessor of mdBook: links from docs/ to other files of the repository lead to the repository's web site, as the book does not
have these files. It reads `[context, book]` as JSON from standard input and writes the book to standard output.
"""
import json
import re
import sys

REPOSITORY = "https://github.com/tarebench/tare/blob/main"
# Code blocks and code spans, which hold no links, or the address of a link one folder up.
OUTSIDE = re.compile(r"(^ {0,3}(```|~~~).*?^ {0,3}\2|`[^`\n]+`)|\]\(\.\./([^)\s]*)\)", re.M | re.S)


def changed(text):
    """The text of a page with the links out of docs/ replaced."""
    return OUTSIDE.sub(lambda found: found[1] or f"]({REPOSITORY}/{found[3]})", text)


def visit(part):
    """Changes the pages below a part of the book."""
    if isinstance(part, dict):
        if isinstance(part.get("content"), str):
            part["content"] = changed(part["content"])
        for inner in part.values():
            visit(inner)
    elif isinstance(part, list):
        for inner in part:
            visit(inner)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    visit(book)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
