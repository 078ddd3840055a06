#!/usr/bin/env python3
"""Tests check-console.py: what has the same shape and what has not, and small pages with a program in place of tare."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("check-console.py")
spec = importlib.util.spec_from_file_location("checker", SCRIPT)
checker = importlib.util.module_from_spec(spec)
sys.modules["checker"] = checker
spec.loader.exec_module(checker)
SNAPSHOTS = checker.ROOT / "crates/render/src/run/snapshots"


def differs(shown, printed):
    return checker.difference(checker.shapes(shown.split("\n")), checker.shapes(printed.split("\n"), "build7"))


class Shapes(unittest.TestCase):
    def same(self, one, other):
        self.assertEqual(checker.shape(one), checker.shape(other, "build7"))

    def other(self, one, other):
        self.assertNotEqual(checker.shape(one), checker.shape(other))

    def test_figures_units_and_spaces_do_not_matter(self):
        self.same("  elapsed  592 ms ± 14      range 561 … 608", "  elapsed  1.245 s ± 0.011   range 1.234 … 1.268")
        self.same("  CPU      2.4 ms ± 1.0     95% [1, 2]   user 1", "  CPU  18 µs ± 1  (interval from 6 samples)  user 0.88")
        self.same("net  343 ms      38 %    94×", "net  1.2 s  0.0004 %   2.4×")
        self.same("a delay of +4.6 % and 8.2e-5", "a delay of −58 % and 0.24")

    def test_words_matter(self):
        self.other("xz is 2.50 times as fast as gzip", "xz is 2.50 times as slow as gzip")
        self.other("  elapsed  592 ms ± 14", "  CPU  592 ms ± 14")
        self.other("EMPv1, 2 of 6 steps hold", "EMPv1, 2 of 6 steps held")
        self.other("elapsed 592 ms", "elapsed")

    def test_the_sizes_of_work_in_a_command_are_kept(self):
        kept = checker.sizes("tare run -r 12 './inc 60000' './inc 60600'")
        answer = checker.shape("./inc 60000 is 1.0083 times as fast as ./inc 60600", sizes=kept)
        self.assertEqual(answer, "./inc SIZE_60000 is # times as fast as ./inc SIZE_60600")

    def test_names_with_digits_are_kept(self):
        self.assertEqual(checker.shape("INC8 on x86_64 by v1"), "INC8 on x86_64 by v1")
        self.assertEqual(checker.shape("stored as b2"), "stored as b#")

    def test_intervals_may_be_missing(self):
        self.same("elapsed: 2.45 [2.31, 2.52]", "elapsed: 1.02")
        self.same("PT [ms]    294.4 [291.6, 302.2]   1 (=0+1)", "PT [s]    2.4   0")
        self.other("PT [ms]  294.4", "PT  294.4")

    def test_discards_and_causes_depend_on_the_machine(self):
        self.same("gzip  gzip -6  9 of 10 samples (1 discarded: outside 2 s.d.)", "gzip  gzip -6  10 samples")
        one = "net  294.3 ms ± 6.4   the machine added 297 ms: cc1 294"
        self.same(one, "net  1.95 ms ± 0.38   the machine added 169 µs to its 3 tasks")
        self.other("gzip  gzip -6  10 samples", "gzip  gzip -6  10 samples (3 failed)")

    def test_machines_dates_and_protocols_have_placeholders(self):
        self.same("vm: 2 × Intel(R) Xeon(R) Processor, Linux 6.18.44-fc-v445 x86_64", "build7: 8 × AMD EPYC, Linux 6.8.0-45 x86_64")
        self.same(" 9  run   2026-11-22 10:02:32 +00:00  finished  vm", "1  run   2027-01-02 03:04:05 +01:00  finished  build7")
        self.assertEqual(checker.shape("/proc/sys/vm/compaction"), "/proc/sys/vm/compaction", "no name of a machine")
        self.same("run 4 · EMPv1, 2 of 6 steps hold", "run 12 · no EMP version, 3 of 6 steps hold")

    def test_factors_are_named_whatever_they_are(self):
        self.same("  ✗ watchdog  on (1)", "  ✓ watchdog      off")
        self.other("  ✗ watchdog  on (1)", "  ✗ swap  on (1)")
        self.same("✓ 1 as recommended · ✗ 1 not as recommended", "✓ 2 as recommended")


class Differences(unittest.TestCase):
    def test_gaps_stand_for_any_lines(self):
        self.assertIsNone(differs("a\n…\nd 1", "a\nb\nc\nd 2"))
        self.assertIsNone(differs("a\n  …\nd", "a\nd"))
        self.assertEqual(differs("a\n…\nd", "a\nb\nc"), (2, 3))

    def test_a_line_too_few_and_one_too_many_are_found(self):
        self.assertEqual(differs("a\nb", "a"), (1, 1))
        self.assertEqual(differs("a", "a\nb"), (1, 1))
        self.assertEqual(differs("a\nb\nc", "a\nx\nc"), (1, 1))

    def test_lines_may_be_broken_at_other_words(self):
        shown = "level=1 is 20.8 times as fast as level=9\n  [18.4, 23.1] CPU time, 6 pairs; elapsed: 22.3 [18.5, 24.2]"
        printed = "level=1 is 2.1 times as fast as level=9  [1.8, 2.3]   CPU time, 10 pairs;  elapsed: 2.3"
        self.assertIsNone(differs(shown, printed))
        self.assertIsNone(differs("a b\nc d e", "a b c\nd e"))
        self.assertIsNone(differs("x · y ms\n  z", "x · y ms · z"))

    def test_warnings_and_notes_may_come_and_go(self):
        self.assertIsNone(differs("a\n! 20 ms of CPU time were stolen\nb", "a\n· something\n  in two lines\nb"))
        self.assertIsNone(differs("a\nb", "a\n! Only 4 of 10 samples are retained for CPU time: the\n  result is poor.\nb"))

    def test_rows_that_the_load_decides_may_come_and_go(self):
        shown = "net  343 ms  38 %  94×\nwaited for rustc  542 ms  61 %  78×\nunattributed  0  0 %"
        self.assertIsNone(differs(shown, "net  1 s  98 %  4×\nsoftirq: RCU  140 µs  0.016 %  21×\nunattributed  3 µs  0.1 %"))
        self.assertIsNotNone(differs(shown, "waited for rustc  542 ms  61 %  78×\nunattributed  0  0 %"))

    def test_the_first_example_is_what_the_renderer_draws(self):
        readme = (checker.ROOT / "README.md").read_text(encoding="utf-8")
        shown = next(block for block in checker.blocks(readme) if block.lines[0][:2] == "$ ")
        drawn = (SNAPSHOTS / "tarebench_render__run__tests__two_100.snap").read_text(encoding="utf-8").split("---\n", 2)[2]
        [command] = checker.commands(shown)
        self.assertIsNone(differs("\n".join(command.shown), drawn))
        one = (SNAPSHOTS / "tarebench_render__run__tests__one_100.snap").read_text(encoding="utf-8").split("---\n", 2)[2]
        self.assertIsNotNone(differs("\n".join(command.shown), one))


class Blocks(unittest.TestCase):
    def kinds(self, text):
        return [checker.kind(block).split(":")[0] for block in checker.blocks(text)]

    def test_kinds(self):
        page = "```console\n$ a\nb\n```\n```sh\na\nb\n```\n```toml\nc\n```\n```console\n# a\n```\n"
        self.assertEqual(self.kinds(page), ["run", "commands", "commands"])
        self.assertEqual(self.kinds("```console\nb\n```\n"), ["fault"])

    def test_a_reason_stands_right_before_its_block(self):
        comment = "<!-- console: not run: made up -->"
        self.assertEqual(self.kinds(f"{comment}\n\n```console\n$ a\nb\n```\n\n```console\n$ a\nb\n```\n"), ["not run", "run"])
        self.assertEqual(self.kinds(f"{comment}\ntext\n```console\n$ a\nb\n```\n"), ["run"])
        self.assertEqual(self.kinds(f"{comment}\n```console\nb\n```\n"), ["not run"])
        self.assertEqual(self.kinds(f"{comment}\n```console\n$ a\n```\n"), ["fault"], "a reason for what is not run anyway")

    def test_commands_have_what_is_shown_below_them(self):
        [block] = checker.blocks("```console\n$ a \\\n    b\n1\n\n2\n\n$ c # d\n```\n")
        found = [(command.text, command.shown) for command in checker.commands(block)]
        self.assertEqual(found, [("a \\\n    b", ["1", "", "2"]), ("c # d", [])])

    def test_every_block_of_the_documentation_is_run_or_says_why_not(self):
        found = [(f"{name}:{block.line}", checker.kind(block)) for name, blocks in checker.read([]) for block in blocks]
        self.assertEqual([block for block in found if block[1].startswith("fault")], [])


class Pages(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        self.tare = self.work / "tare"
        self.tare.write_text(TARE, encoding="utf-8")
        self.tare.chmod(0o755)

    def failed(self, text, attempts=1):
        page = self.work / "page.md"
        page.write_text(text, encoding="utf-8")
        code = "import importlib.util, sys; s = importlib.util.spec_from_file_location('c', sys.argv[1]); "
        code += "c = importlib.util.module_from_spec(s); sys.modules['c'] = c; s.loader.exec_module(c); "
        code += "sys.exit(c.run(c.read([sys.argv[2]]), sys.argv[3], int(sys.argv[4]), 30))"
        command = [sys.executable, "-c", code, SCRIPT, page, self.tare, str(attempts)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_an_example_that_holds(self):
        page = "```console\n$ tare run true\ntrue  took 3 ms\nrun 7 · EMPv1\n$ ls numbers.txt\nnumbers.txt\n```\n"
        self.assertEqual(self.failed(page)[0], 0)

    def test_an_example_that_does_not_hold(self):
        failed, said = self.failed("```console\n$ tare run true\ntrue  needed 3 ms\nrun 7 · EMPv1\n```\n")
        self.assertEqual(failed, 1)
        for part in ("page.md:2: not as shown", "expected  true needed #", "printed   true took #"):
            self.assertIn(part, said)

    def test_numbers_of_runs_follow_those_of_the_store(self):
        page = "```console\n$ tare run true\n…\nrun 7 · EMPv1\n```\ntext\n```console\n$ tare show 7 --full\nshown: 1\n```\n"
        self.assertEqual(self.failed(page)[0], 0, "run 7 of the page is run 1 of the store")
        self.assertEqual(self.failed("```console\n$ tare show 7 --full\nshown: all\n```\n")[0], 1)

    def test_what_chance_decides_is_tried_again(self):
        page = "```console\n$ tare sometimes\nyes\n```\n"
        self.assertEqual(self.failed(page)[0], 1)
        self.assertEqual(self.failed(page, attempts=3)[0], 0)


# The first time, `tare sometimes` says no; `tare show` wants the number that `tare run` gave.
TARE = """#!/bin/sh
case $1 in
run) echo "$2  took 5 ms"; echo 'run 1 · EMPv2' ;;
show) [ "$2" = 1 ] && echo "shown: $2" ;;
sometimes) if [ -e tried ]; then echo yes; else echo no; touch tried; fi ;;
esac
"""

if __name__ == "__main__":
    unittest.main()
