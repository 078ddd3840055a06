#!/usr/bin/env python3
"""Tests run-ci-template.py and the templates in ci/, with a program in place of tare that notes how it was called."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

DRIVER = pathlib.Path(__file__).with_name("run-ci-template.py")
# Notes its arguments, writes what tare writes, and ends with the code that the repository says.
TARE = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word"; done >"{notes}/arguments"
pwd >"{notes}/folder"
while [ $# -gt 0 ]; do
    case $1 in
    --json | --summary | --bmf | --custom-smaller) echo "$1" >"$2" ;;
    --google-benchmark) echo base >"$2/base.json" ;;
    esac
    shift
done
if [ -n "${{GITHUB_STEP_SUMMARY-}}" ]; then echo "a summary" >>"$GITHUB_STEP_SUMMARY"; fi
exit "$(cat "{notes}/code")"
"""
HOSTILE = """./prog '$(touch pwned)' `touch pwned` ; touch pwned "EOF"
END_OF_COMMANDS"""


class Templates(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        self.repository = self.work / "repository"
        self.tare = self.work / "tare program"
        self.tare.write_text(TARE.format(notes=self.work), encoding="utf-8")
        self.tare.chmod(0o755)
        self.repository.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        for message in ("first", "second"):
            self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def git(self, *words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        run = subprocess.run(["git", *identity, *words], cwd=self.repository, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    def run_template(self, runner, code=0, driver_options=(), **inputs):
        """Exit code, result and the words that tare was given."""
        (self.work / "code").write_text(str(code), encoding="utf-8")
        (self.work / "arguments").unlink(missing_ok=True)
        given = [word for name, value in inputs.items() for word in ("--input", f"{name}={value}")]
        command = [sys.executable, str(DRIVER), runner, "--repository", str(self.repository), "--tare", str(self.tare)]
        command += ["--result", str(self.work / "result"), "--artifacts", str(self.work / "kept")]
        command += ["--summary", str(self.work / "summary"), *driver_options, *given]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        arguments = self.work / "arguments"
        words = arguments.read_text(encoding="utf-8").split("\0")[:-1] if arguments.exists() else None
        result = json.loads((self.work / "result").read_text(encoding="utf-8")) if words is not None else run.stderr
        return run.returncode, result, words

    def value(self, words, option):
        return words[words.index(option) + 1]

    def test_github_passes_its_inputs(self):
        code, result, words = self.run_template(
            "github", commands="./prog 1\n./prog  2 x\n", build="make all", threshold="3%", budget="5min", options="--no-control"
        )
        self.assertEqual((code, words[0], words[-2:]), (0, "gate", ["./prog 1", "./prog  2 x"]))
        expected = {"--base": "HEAD~1", "--build": "make all", "--threshold": "3%", "--budget": "5min", "--inconclusive": "pass"}
        self.assertEqual({o: self.value(words, o) for o in expected}, expected)
        self.assertIn("--no-control", words)
        self.assertEqual(result["outputs"]["exit-code"], "0")
        self.assertEqual([s["conclusion"] for s in result["steps"]], ["success"] * 5)
        self.assertEqual((self.work / "summary").read_text(encoding="utf-8"), "a summary\n")
        kept = sorted(p.name for p in (self.work / "kept/tare-gate").iterdir())
        self.assertEqual(kept, ["base.json", "bmf.json", "custom-smaller.json", "gate.json", "summary.md"])

    def test_github_without_inputs_leaves_the_choice_to_tare(self):
        _, _, words = self.run_template("github", commands="./prog")
        for option in ("--build", "--threshold", "--budget"):
            self.assertNotIn(option, words)
        _, _, words = self.run_template("github", suite="tare.toml")
        self.assertEqual(words[-1], "tare.toml")

    def test_github_fails_after_it_has_kept_the_results(self):
        for wanted in (1, 2, 5, 6, 130):
            code, result, _ = self.run_template("github", code=wanted, commands="./prog")
            self.assertEqual((code, result["exit_code"], result["outputs"]["exit-code"]), (wanted, wanted, str(wanted)))
            conclusions = {s["name"]: s["conclusion"] for s in result["steps"]}
            self.assertEqual((conclusions["Keep the results"], conclusions["Verdict"]), ("success", "failure"))
        _, result, _ = self.run_template("github", commands="./prog", artifact="")
        self.assertIn({"name": "Keep the results", "conclusion": "skipped"}, result["steps"])

    def test_github_finds_the_base(self):
        first = self.git("rev-parse", "HEAD~1")
        for context, base in (
            (["event.before=" + "0" * 40], "HEAD~1"),
            ([f"event.before={first}"], first),
            ([f"event.before={'0' * 40}", f"event.pull_request.base.sha={first}"], first),
        ):
            options = [word for c in context for word in ("--context", c)]
            _, _, words = self.run_template("github", driver_options=options, commands="./prog")
            self.assertEqual(self.value(words, "--base"), base)
        _, _, words = self.run_template("github", base="main", commands="./prog")
        self.assertEqual(self.value(words, "--base"), "main")

    def test_github_fetches_a_base_that_is_not_there(self):
        clone = self.work / "clone"
        origin = self.repository
        self.git("clone", "--quiet", "--depth=1", f"file://{origin}", str(clone))
        self.repository = clone
        _, _, words = self.run_template("github", base="origin/main", commands="./prog")
        self.assertEqual(self.value(words, "--base"), "origin/main")
        self.assertEqual(self.git("rev-list", "--count", "HEAD"), "2")

    def test_github_without_tare_says_so(self):
        self.tare.unlink()
        code, result, words = self.run_template("github", commands="./prog")
        self.assertEqual((code, words), (2, None))
        self.assertIn("There is no program", result)

    def test_gitlab_passes_its_variables(self):
        first = self.git("rev-parse", "HEAD~1")
        code, result, words = self.run_template(
            "gitlab",
            driver_options=["--env", f"CI_MERGE_REQUEST_DIFF_BASE_SHA={first}"],
            TARE_GATE_COMMANDS="./prog 1\n./prog  2 x",
            TARE_GATE_BUILD="make all",
            TARE_GATE_OPTIONS="--measure\ncpu",
        )
        self.assertEqual((code, words[0], words[-2:]), (0, "gate", ["./prog 1", "./prog  2 x"]))
        expected = {"--base": first, "--build": "make all", "--measure": "cpu", "--inconclusive": "fail"}
        self.assertEqual({o: self.value(words, o) for o in expected}, expected)
        self.assertEqual(result["steps"][0]["conclusion"], "success")
        self.assertEqual((self.work / "folder").read_text(encoding="utf-8").strip(), str(self.repository.resolve()))
        self.assertTrue((self.work / "kept/tare-gate/gate.json").exists())
        _, _, words = self.run_template("gitlab", TARE_GATE_SUITE="tare.toml")
        self.assertEqual((words[-1], self.value(words, "--base")), ("tare.toml", "origin/main"))

    def test_gitlab_warns_of_what_is_inconclusive(self):
        for wanted, conclusion in ((0, "success"), (1, "failure"), (5, "failure"), (6, "warning")):
            code, result, _ = self.run_template("gitlab", code=wanted, TARE_GATE_COMMANDS="./prog")
            self.assertEqual((code, result["steps"][0]["conclusion"]), (wanted, conclusion))
            self.assertTrue((self.work / "kept/tare-gate/gate.json").exists(), "kept whatever the verdict is")

    def test_inputs_are_not_run(self):
        for runner, commands, build in (("github", "commands", "build"), ("gitlab", "TARE_GATE_COMMANDS", "TARE_GATE_BUILD")):
            code, _, words = self.run_template(runner, **{commands: HOSTILE, build: HOSTILE})
            self.assertEqual((code, words[-2:]), (0, HOSTILE.splitlines()))
            self.assertEqual(self.value(words, "--build"), HOSTILE)
        self.assertEqual([p for p in self.work.rglob("pwned")], [])

    def test_what_is_not_known_is_refused(self):
        for runner in ("github", "gitlab"):
            code, error, words = self.run_template(runner, nonsense="1")
            self.assertEqual((code, words), (70, None))
            self.assertIn("nonsense", error)
        template = self.work / "action.yml"
        step = {"name": "a", "shell": "sh", "run": "echo ${{ inputs.commands }}"}
        action = {"inputs": {"tare": {}}, "runs": {"using": "composite", "steps": [step]}}
        template.write_text(json.dumps(action), encoding="utf-8")
        code, error, _ = self.run_template("github", driver_options=["--template", str(template)])
        self.assertEqual(code, 70)
        self.assertIn("could be run as code", error)


if __name__ == "__main__":
    unittest.main()
