#!/usr/bin/env python3
"""Tests run-test-program.py with test programs that are shell scripts."""
import contextlib
import importlib.util
import io
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

spec = importlib.util.spec_from_file_location("runner", pathlib.Path(__file__).with_name("run-test-program.py"))
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)

# Fails its tests when all are run, for 0.3 s; what happens when one is run alone is put in.
PROGRAM = """#!/bin/sh
if [ "$1" = --exact ]; then
    {alone}
fi
sleep 0.3
for name in {failed}; do echo "test $name ... FAILED <0.300s>"; done
echo "test result: FAILED. 1 passed; {count} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s"
exit 101
"""
PASSES = 'echo "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0s"; exit 0'
FAILS = 'echo "test $2 ... FAILED <0.3s>"; exit 101'
NOT_THERE = 'echo "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0s"; exit 0'


class Reruns(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)
        (self.folder / "deps").mkdir()

    def code(self, stolen_share, alone=PASSES, failed=("a::b",), count=None):
        """Exit code when this share of all time is stolen."""
        program = self.folder / "deps" / "program"
        count = len(failed) if count is None else count
        program.write_text(PROGRAM.format(alone=alone, failed=" ".join(failed), count=count), encoding="utf-8")
        program.chmod(0o755)
        stolen = lambda: runner.time.monotonic() * stolen_share  # noqa: E731
        with (
            unittest.mock.patch.object(runner, "stolen", stolen),
            unittest.mock.patch.object(sys, "argv", ["runner", str(program)]),
            unittest.mock.patch.dict(os.environ, TARE_TEST_RERUNS=str(self.folder)),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            return runner.main()

    def listed(self):
        file = self.folder / "list"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def test_a_failure_without_steal_is_a_failure(self):
        self.assertEqual((self.code(0.0), self.listed()), (101, []))
        self.assertEqual((self.code(0.02), self.listed()), (101, []))

    def test_a_failure_with_steal_is_run_again_and_kept(self):
        self.assertEqual(self.code(0.2), 0)
        self.assertRegex(self.listed()[0], r"^a::b \(program\): [23]\d% of its time stolen; passed$")
        self.assertIn("FAILED", (self.folder / "program-a-b-1.log").read_text(encoding="utf-8"))
        self.assertIn("1 passed", (self.folder / "program-a-b-2.log").read_text(encoding="utf-8"))

    def test_it_must_pass_then(self):
        for alone in (FAILS, NOT_THERE):
            with self.subTest(alone):
                self.assertEqual(self.code(0.2, alone), 101)
        self.assertTrue(all(line.endswith("failed again") for line in self.listed()))

    def test_two_reruns_in_a_suite(self):
        self.assertEqual(self.code(0.2, failed=("a", "b", "c")), 101)
        self.assertEqual(self.listed(), [], "none is run again")
        self.assertEqual(self.code(0.2, failed=("a", "b")), 0)
        self.assertEqual((self.code(0.2), len(self.listed())), (101, 2))

    def test_a_crash_is_a_failure(self):
        self.assertEqual((self.code(0.2, failed=("a",), count=2), self.listed()), (101, []))


if __name__ == "__main__":
    unittest.main()
