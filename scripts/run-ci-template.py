#!/usr/bin/env python3
"""Runs a CI template of this repository as the runner of GitHub or GitLab would: its shell steps, in a repository of one's own.

    run-ci-template.py github --repository DIR --tare PATH --input commands='./prog 1' --input build=make
    run-ci-template.py gitlab --repository DIR --tare PATH --input TARE_GATE_COMMANDS='./prog 1'

It understands what the templates use, and refuses what it does not know. GitHub: composite actions with `run`, `if`, `env`,
`working-directory` and `actions/upload-artifact`; expressions of contexts, strings, `||`, `&&`, `==`, `!=`, `!`, `always()`,
`success()`, `failure()`. GitLab: a job with `variables`, `before_script`, `script`, `after_script`, `artifacts`, `allow_failure`.

The exit code is that of the step or script that failed, else 0; 70 if the template or an option is not understood. `--result FILE`
writes what the runner would keep as JSON:
`{"exit_code": 5, "allowed": false, "outputs": {...}, "steps": [{"name": "...", "conclusion": "success"}, ...]}`.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = {"github": ROOT / "ci/github/action.yml", "gitlab": ROOT / "ci/gitlab/tare-gate.yml"}
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)
TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(\|\||&&|==|!=|[!()])|([A-Za-z_][\w.-]*))")


# So that it is not taken for an exit code of what was run.
REFUSED = 70


def refuse(what):
    print(f"run-ci-template.py: {what}", file=sys.stderr)
    sys.exit(REFUSED)


class Unknown(Exception):
    """The template has something that this program does not know."""


class Expressions:
    """Values of `${{ ... }}`."""

    def __init__(self, contexts, failed):
        self.contexts = contexts
        self.failed = failed
        self.tokens = []

    def text(self, template):
        """A text with its expressions replaced."""
        return EXPRESSION.sub(lambda m: as_text(self.value(m[1])), str(template))

    def value(self, expression):
        position, self.tokens = 0, []
        expression = expression.strip()
        while position < len(expression):
            match = TOKEN.match(expression, position)
            if not match:
                raise Unknown(f"in the expression {expression!r}: {expression[position:]!r}")
            self.tokens.append(match.groups())
            position = match.end()
        value = self.either()
        if self.tokens:
            raise Unknown(f"in the expression {expression!r}, after its end: {self.tokens[0]}")
        return value

    def sign(self, *signs):
        if self.tokens and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def either(self):
        value = self.both()
        while self.sign("||"):
            other = self.both()
            value = value or other
        return value

    def both(self):
        value = self.equal()
        while self.sign("&&"):
            other = self.equal()
            value = value and other
        return value

    def equal(self):
        value = self.single()
        while sign := self.sign("==", "!="):
            other = self.single()
            value = (as_text(value) == as_text(other)) == (sign == "==")
        return value

    def single(self):
        if self.sign("!"):
            return not self.single()
        if self.sign("("):
            value = self.either()
            if not self.sign(")"):
                raise Unknown("an expression without its closing parenthesis")
            return value
        if not self.tokens:
            raise Unknown("an expression that ends too early")
        string, _, name = self.tokens.pop(0)
        if string:
            return string[1:-1].replace("''", "'")
        if name is None:
            raise Unknown("an expression with a sign where a value is expected")
        if self.sign("("):
            if not self.sign(")"):
                raise Unknown(f"{name}() with arguments")
            functions = {"always": True, "success": not self.failed, "failure": self.failed}
            if name not in functions:
                raise Unknown(f"the function {name}()")
            return functions[name]
        return self.find(name)

    def find(self, path):
        if path in ("true", "false"):
            return path == "true"
        value = self.contexts
        names = path.split(".")
        if names[0] not in value:
            raise Unknown(f"the context {names[0]}")
        for name in names:
            # What is not there is empty, as on GitHub.
            value = value.get(name, "") if isinstance(value, dict) else ""
        return value


def as_text(value):
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def pairs(texts, what):
    """`NAME=VALUE` of options."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            refuse(f"{what} {text!r} is not NAME=VALUE")
        found[name] = value
    return found


def put(tree, path, value):
    *above, last = path.split(".")
    for name in above:
        tree = tree.setdefault(name, {})
    tree[last] = value


def read_commands(file):
    """What a step wrote into a file such as GITHUB_OUTPUT: `name=value`, or `name<<END`, lines, `END`."""
    found, lines = {}, file.read_text(encoding="utf-8").splitlines()
    while lines:
        line = lines.pop(0)
        if not line:
            continue
        several = re.fullmatch(r"([^=<]+)<<(.+)", line)
        if not several:
            name, sign, value = line.partition("=")
            if not sign:
                raise Unknown(f"the line {line!r} in {file.name}")
            found[name] = value
            continue
        name, end = several.groups()
        value = []
        while lines and lines[0] != end:
            value.append(lines.pop(0))
        if not lines:
            raise Unknown(f"a value of {name} without its end {end!r} in {file.name}")
        lines.pop(0)
        found[name] = "\n".join(value)
    return found


def run_shell(script, folder, environment, work):
    """Exit code of a script run by `sh -e`, as both runners do it."""
    file = work / "script.sh"
    file.write_text(script, encoding="utf-8")
    sys.stdout.flush()
    command = ["sh", "-e", str(file)]
    code = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=False).returncode
    # As a shell reports a signal.
    return code if code >= 0 else 128 - code


def keep(paths, folder, target):
    """Copies artifacts."""
    for path in paths:
        source = pathlib.Path(folder, path)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        else:
            print(f"warning: no files were found at {path}", file=sys.stderr)


class GitHub:
    """A composite action."""

    def __init__(self, template, options, work):
        self.template, self.options, self.work = template, options, work
        self.inputs = self.given(template.get("inputs") or {})
        github = {"event": {}, "workspace": str(options.repository)}
        for name, value in pairs(options.context, "the context").items():
            put(github, name, value)
        self.temp = work / "temp"
        self.temp.mkdir()
        self.contexts = {"inputs": self.inputs, "github": github, "runner": {"temp": str(self.temp)}, "steps": {}, "env": {}}
        self.environment = {
            **os.environ,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(options.repository),
            "RUNNER_TEMP": str(self.temp),
            **pairs(options.env, "the variable"),
        }
        self.code = 0
        self.steps = []

    def given(self, declared):
        given = pairs(self.options.input, "the input")
        if self.options.tare:
            given.setdefault("tare", str(self.options.tare))
        unknown = sorted(set(given) - set(declared))
        if unknown:
            refuse(f"the action has no input {', '.join(unknown)}; it has {', '.join(declared)}")
        missing = [n for n, i in declared.items() if i.get("required") and n not in given and i.get("default") is None]
        if missing:
            refuse(f"the action needs the input {', '.join(missing)}")
        return {n: given.get(n, as_text(i.get("default"))) for n, i in declared.items()}

    def run(self):
        runs = self.template["runs"]
        if runs.get("using") != "composite":
            raise Unknown(f"an action that uses {runs.get('using')}")
        for step in runs["steps"]:
            self.step(step)
        expressions = Expressions(self.contexts, self.code != 0)
        outputs = {n: expressions.text(o["value"]) for n, o in (self.template.get("outputs") or {}).items()}
        return {"exit_code": self.code, "allowed": False, "outputs": outputs, "steps": self.steps}

    def step(self, step):
        unknown = set(step) - {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory"}
        if unknown:
            raise Unknown(f"in a step: {', '.join(sorted(unknown))}")
        name = step.get("name") or step.get("id") or "step"
        expressions = Expressions(self.contexts, self.code != 0)
        condition = str(step.get("if", "success()"))
        inner = EXPRESSION.fullmatch(condition.strip())
        # A condition without a status function holds only after success.
        named = re.search(r"\b(always|success|failure)\(", condition)
        if not (expressions.value(inner[1] if inner else condition) and (named or self.code == 0)):
            self.steps.append({"name": name, "conclusion": "skipped"})
            return
        print(f"== {name}", flush=True)
        code = self.upload(step, expressions) if "uses" in step else self.shell(step, expressions)
        self.steps.append({"name": name, "conclusion": "failure" if code else "success"})
        self.code = self.code or code

    def shell(self, step, expressions):
        if step.get("shell") != "sh":
            raise Unknown(f"the shell {step.get('shell')} of {step.get('name')}, expected sh")
        if EXPRESSION.search(step["run"]):
            raise Unknown(f"an expression in the script of {step.get('name')}: a value could be run as code")
        files = {n: self.work / n.lower() for n in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("", encoding="utf-8")
        own = {n: expressions.text(v) for n, v in (step.get("env") or {}).items()}
        environment = {**self.environment, **own, **{n: str(f) for n, f in files.items()}}
        folder = self.options.repository / expressions.text(step.get("working-directory", "."))
        code = run_shell(step["run"], folder, environment, self.work)
        if step.get("id"):
            self.contexts["steps"][step["id"]] = {"outputs": read_commands(files["GITHUB_OUTPUT"])}
        self.environment.update(read_commands(files["GITHUB_ENV"]))
        if self.options.summary:
            with open(self.options.summary, "a", encoding="utf-8") as summary:
                summary.write(files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8"))
        return code

    def upload(self, step, expressions):
        if not re.fullmatch(r"actions/upload-artifact@v\d+", step["uses"]):
            raise Unknown(f"the action {step['uses']}")
        given = {n: expressions.text(v) for n, v in (step.get("with") or {}).items()}
        if self.options.artifacts:
            keep(given["path"].splitlines(), self.options.repository, self.options.artifacts / given["name"])
        return 0


class GitLab:
    """A job; what is given as input are the variables of the job that extends it."""

    KNOWN = {"stage", "variables", "rules", "before_script", "script", "after_script", "artifacts", "allow_failure"}

    def __init__(self, template, options, work):
        self.job, self.options, self.work = template[options.job], options, work
        unknown = set(self.job) - GitLab.KNOWN
        if unknown:
            raise Unknown(f"in the job: {', '.join(sorted(unknown))}")
        given = pairs(options.input, "the variable")
        if options.tare:
            given.setdefault("TARE", str(options.tare))
        declared = {n: as_text(v) for n, v in (self.job.get("variables") or {}).items()}
        unknown = sorted(set(given) - set(declared))
        if unknown:
            refuse(f"the job has no variable {', '.join(unknown)}; it has {', '.join(declared)}")
        predefined = {
            "CI": "true",
            "GITLAB_CI": "true",
            "CI_DEFAULT_BRANCH": "main",
            "CI_PIPELINE_SOURCE": "merge_request_event",
            "CI_PROJECT_DIR": str(options.repository),
        }
        self.environment = {**os.environ, **predefined, **pairs(options.env, "the variable"), **declared, **given}

    def run(self):
        lines = [line for key in ("before_script", "script") for line in self.lines(key)]
        code = run_shell("\n".join(lines) + "\n", self.options.repository, self.environment, self.work)
        if self.lines("after_script"):
            run_shell("\n".join(self.lines("after_script")) + "\n", self.options.repository, self.environment, self.work)
        artifacts = self.job.get("artifacts") or {}
        when = artifacts.get("when", "on_success")
        if self.options.artifacts and (when == "always" or (when == "on_failure") == (code != 0)):
            for path in artifacts.get("paths", []):
                target = self.options.artifacts / path if path.endswith("/") else self.options.artifacts
                keep([path], self.options.repository, target)
        allowed = code != 0 and self.is_allowed(code)
        conclusion = "warning" if allowed else "failure" if code else "success"
        return {"exit_code": code, "allowed": allowed, "outputs": {}, "steps": [{"name": "script", "conclusion": conclusion}]}

    def lines(self, key):
        value = self.job.get(key) or []
        return [value] if isinstance(value, str) else value

    def is_allowed(self, code):
        allowed = self.job.get("allow_failure", False)
        if not isinstance(allowed, dict):
            return bool(allowed)
        codes = allowed["exit_codes"]
        return code in (codes if isinstance(codes, list) else [codes])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("runner", choices=sorted(TEMPLATES))
    parser.add_argument("--template", type=pathlib.Path, help="the file; default: that of this repository")
    parser.add_argument("--repository", type=pathlib.Path, default=pathlib.Path.cwd(), help="where the steps run")
    parser.add_argument("--tare", type=pathlib.Path, help="the program to be used")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=VALUE", help="an input, or a variable of the job")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of the runner")
    parser.add_argument("--context", action="append", default=[], metavar="PATH=VALUE", help="of `github`: event.before=HEAD~1")
    parser.add_argument("--job", default=".tare-gate", help="the job of a GitLab template")
    parser.add_argument("--summary", type=pathlib.Path, help="file for the summary of the job")
    parser.add_argument("--artifacts", type=pathlib.Path, help="folder for what is kept")
    parser.add_argument("--result", type=pathlib.Path, help="file for outputs and conclusions, JSON")
    options = parser.parse_args()
    options.repository = options.repository.resolve()
    for name in ("tare", "summary", "artifacts", "result"):
        if getattr(options, name) is not None:
            setattr(options, name, pathlib.Path(os.path.abspath(getattr(options, name))))
    return options


def main():
    options = arguments()
    file = options.template or TEMPLATES[options.runner]
    template = yaml.safe_load(file.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        runner = {"github": GitHub, "gitlab": GitLab}[options.runner]
        try:
            result = runner(template, options, pathlib.Path(folder)).run()
        except Unknown as what:
            refuse(f"{file} has what this program does not know: {what}")
    if options.result:
        options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for step in result["steps"]:
        print(f"{step['conclusion']}: {step['name']}")
    return result["exit_code"]


if __name__ == "__main__":
    sys.exit(main())
