#!/usr/bin/env python3
"""Tests check-links.py with small folders of pages."""
import importlib.util
import pathlib
import tempfile
import unittest

spec = importlib.util.spec_from_file_location("checker", pathlib.Path(__file__).with_name("check-links.py"))
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)


class Anchors(unittest.TestCase):
    def of(self, text, *expected):
        self.assertEqual(checker.anchors(text), set(expected))

    def test_headings_become_lower_case_with_hyphens_and_without_punctuation(self):
        self.of("# What's new: `tare run --quiet`, CPUs & time?\n", "whats-new-tare-run---quiet-cpus--time")

    def test_links_emphasis_and_entities_of_a_heading_are_read_as_text(self):
        self.of("## The [K-best](kbest.md) *scheme* of _two_ &lt;files&gt; in snake_case ##\n", "the-k-best-scheme-of-two-files-in-snake_case")

    def test_code_in_a_heading_is_kept_as_it_is(self):
        self.of("## `a_b_c` and `_d_`\n", "a_b_c-and-_d_")

    def test_later_headings_of_the_same_name_are_counted(self):
        self.of("# Notes\n## Notes\n## Notes 1\n### Notes\n", "notes", "notes-1", "notes-1-1", "notes-2")

    def test_underlined_headings_and_named_elements_count(self):
        self.of('Title\n=====\n\n<a id="here"></a>\n\n- a list\n---\n', "title", "here")

    def test_code_blocks_and_comments_have_no_headings(self):
        self.of("```sh\n# one\n~~~\n# two\n```\n<!--\n# three\n-->\n#four\n# Five\n", "five")


class Links(unittest.TestCase):
    def of(self, text, *expected):
        self.assertEqual(checker.links(text), list(expected))

    def test_links_have_the_line_of_their_target(self):
        self.of("[a](b.md)\n\n[`two\nlines`](c.md#d), ![image](e.svg \"title\")\n", (1, "b.md"), (4, "c.md#d"), (4, "e.svg"))

    def test_references_and_elements_are_links(self):
        self.of('[a][x]\n\n[x]: b.md "title"\n<a href="c.md">c</a>\n', (3, "b.md"), (4, "c.md"))

    def test_parentheses_and_spaces_belong_to_a_target(self):
        self.of("[a](b_(c).md) [d](<e f.md>)\n", (1, "b_(c).md"), (1, "e f.md"))

    def test_code_has_no_links(self):
        self.of("`[a](b.md)` ``x`[c](d.md)``\n\n```\n[e](f.md)\n```\nan odd ` quote\n\n[g](h.md) `\n", (8, "h.md"))


class Pages(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.root = pathlib.Path(work.name).resolve() / "tree"
        self.put("docs/README.md", "# Pages\n[use](usage.md) [top](../README.md#tare)\n")
        self.put("docs/usage.md", "# Using it\n## Using it\n")
        self.put("README.md", "# tare\n[docs](docs) [docs](docs/usage.md#using-it-1) <https://example.org/none>\n")

    def put(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def faults(self, *expected):
        found = checker.check(self.root)
        self.assertEqual(len(found), len(expected), found)
        for line, (begin, part) in zip(found, expected):
            self.assertTrue(line.startswith(begin) and part in line, line)

    def test_right_pages_have_no_fault(self):
        self.faults()

    def test_what_is_missing_is_named_with_its_line(self):
        self.put("CHANGELOG.md", "# Changes\n\n[a](docs/none.md)\n[b](docs/usage.md#none)\n[c](#changes) [d](#none)\n")
        self.faults(
            ("CHANGELOG.md:3: ", "docs/none.md, which does not exist"),
            ("CHANGELOG.md:4: ", "expected one of: #using-it, #using-it-1"),
            ("CHANGELOG.md:5: ", "the link #none"),
        )

    def test_pages_of_all_folders_are_checked(self):
        self.put("bindings/c/deep/README.md", "[a](../none.h)\n")
        self.put("ci/README.md", "[a](/docs/usage.md) [b](/none)\n")
        self.faults(("bindings/c/deep/README.md:1: ", "bindings/c/none.h"), ("ci/README.md:1: ", "the link /none"))

    def test_no_link_leads_out_of_the_repository_or_into_a_file_that_has_no_anchors(self):
        self.put("SECURITY.md", "[a](../tree2/x.md)\n[b](docs/x.toml#L1)\n")
        self.put("docs/x.toml", "")
        self.put("docs/README.md", "[use](usage.md) [x](x.toml)\n")
        self.put("README.md", "# tare\n")
        self.faults(("SECURITY.md:1: ", "leaves the repository"), ("SECURITY.md:2: ", "docs/x.toml is no page"))

    def test_every_file_below_docs_is_linked_from_the_list(self):
        self.put("docs/data/table.csv", "")
        self.put("docs/usage.md", "# Using it\n## Using it\n[a](data/table.csv)\n")
        self.faults(("docs/data/table.csv:1: ", "no link of docs/README.md"))


if __name__ == "__main__":
    unittest.main()
