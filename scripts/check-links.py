#!/usr/bin/env python3
"""Checks the links between the pages of documentation: each relative link must lead to a file or folder of the repository, and each
anchor to a heading of its page, by GitHub's rule. Every file below docs/ must be linked from docs/README.md.

Code blocks and code spans hold no links. Addresses with a scheme (https:, mailto:) are not fetched. Exit code 1, with a line for each
fault, if there is any.
"""
import html
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "ci/**/*.md", "bindings/**/*.md")
INDEX = "docs/README.md"
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
# A code span ends with as many backquotes as it begins with, in the same paragraph.
SPAN = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
# The end of a link or image, in angle brackets or not, with or without a title; parentheses in pairs belong to the address.
INLINE = re.compile(r"\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))+))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?([^\s>]+)>?", re.M)
ATTRIBUTE = re.compile(r"<(?:a|img)\s[^>]*?\b(?:href|src)\s*=\s*[\"']([^\"']+)[\"']", re.I)
NAMED = re.compile(r"<\w+\s[^>]*?\b(?:id|name)\s*=\s*[\"']([^\"']+)[\"']", re.I)
ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
# What begins a line that no underline makes a heading: lists, quotations, tables.
NO_TEXT = re.compile(r"\s*(?:[-*+>|]|\d+[.)] )| {4}|\s*$")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def blank(text):
    """As many spaces as the text has characters, in as many lines."""
    return re.sub(r"[^\n]", " ", text)


def without_blocks(text):
    """The text with spaces for fenced code blocks and comments, so that every place in it keeps its line."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = FENCE.fullmatch(line)
        if fence:
            inside = True
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = None
        else:
            # Backquotes after three backquotes are a code span.
            inside = mark is not None and not (mark[1][0] == "`" and "`" in mark[2])
            fence = mark[1] if inside else None
        lines.append(blank(line) if inside else line)
    return COMMENT.sub(lambda found: blank(found[0]), "\n".join(lines))


def slug(heading):
    """GitHub's anchor of a heading: its text in lower case, without punctuation, with hyphens for spaces."""
    spans = []

    def keep(found):
        spans.append(found[2])
        return f"\0{len(spans) - 1}\0"

    text = SPAN.sub(keep, heading)
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", re.sub(r"<[^>]*>", "", text))
    text = re.sub(r"\0(\d+)\0", lambda found: spans[int(found[1])], html.unescape(text))
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def headings(text):
    """The texts of the headings of a page without its code blocks."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        atx = ATX.fullmatch(line)
        if atx:
            yield atx[1] or ""
        elif not NO_TEXT.match(line) and number + 1 < len(lines) and UNDERLINE.fullmatch(lines[number + 1]):
            yield line


def anchors(text):
    """All anchors of a page. A heading whose anchor is taken gets -1, the next one -2."""
    text = without_blocks(text)
    found = set()
    for heading in headings(text):
        base = name = slug(heading)
        count = 0
        while name in found:
            count += 1
            name = f"{base}-{count}"
        found.add(name)
    return found | set(NAMED.findall(SPAN.sub(lambda span: blank(span[0]), text)))


def links(text):
    """The line and the target of every link of a page, in order."""
    text = SPAN.sub(lambda found: blank(found[0]), without_blocks(text))
    found = [(link.start(), link[1] or link[2] or "") for link in INLINE.finditer(text)]
    found += [(link.start(1), link[1]) for pattern in (REFERENCE, ATTRIBUTE) for link in pattern.finditer(text)]
    return [(text.count("\n", 0, at) + 1, html.unescape(target)) for at, target in sorted(found)]


def place_of(root, page, path):
    """The file or folder that a link of this page names; a path from the root begins with a slash."""
    path = urllib.parse.unquote(path)
    if not path:
        return page
    return (root / path.lstrip("/") if path.startswith("/") else page.parent / path).resolve()


def fault(root, page, target, known):
    """What is wrong with a link, or None. `known` holds the anchors of the pages that were read."""
    if SCHEME.match(target) or target.startswith("//"):
        return None
    path, mark, anchor = target.partition("#")
    place = place_of(root, page, path)
    if not place.is_relative_to(root):
        return f"the link {target} leaves the repository; expected a path below its root"
    name = place.relative_to(root)
    if not place.exists():
        return f"the link {target} leads to {name}, which does not exist; expected a file or folder of the repository"
    if not mark or (not anchor and place == page):
        return None
    if place.suffix != ".md":
        return f"the link {target} has an anchor, but {name} is no page of Markdown; expected a link without one"
    if place not in known:
        known[place] = anchors(place.read_text(encoding="utf-8"))
    anchor = urllib.parse.unquote(anchor)
    if anchor in known[place]:
        return None
    listed = ", ".join(f"#{other}" for other in sorted(known[place])) or "none"
    return f"the link {target} names an anchor that {name} does not have; expected one of: {listed}"


def unlinked(root):
    """The files below docs/ to which the list of all pages has no link."""
    index = root / INDEX
    if not index.is_file():
        return [f"{INDEX}:1: the page is missing; expected a list of all files below docs/"]
    linked = {place_of(root, index, target.partition("#")[0]) for _, target in links(index.read_text(encoding="utf-8"))}
    files = sorted(file for file in (root / "docs").rglob("*") if file.is_file() and file != index)
    return [f"{file.relative_to(root)}:1: no link of {INDEX} leads to this file; expected one" for file in files if file not in linked]


def check(root):
    """A line for every fault."""
    known, faults = {}, []
    for page in sorted({page for pattern in PAGES for page in root.glob(pattern)}):
        for line, target in links(page.read_text(encoding="utf-8")):
            wrong = fault(root, page, target, known)
            if wrong:
                faults.append(f"{page.relative_to(root)}:{line}: {wrong}")
    return faults + unlinked(root)


def main():
    faults = check(ROOT)
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
