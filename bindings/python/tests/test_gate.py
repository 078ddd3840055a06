"""Gates: two builds against each other, without the command."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tarebench as tare

#: Builds a program for each benchmark from a file of C and a number.
BUILD = "for f in slower same; do cc -O1 -DWORK=$(cat $f) -o prog-$f prog.c; done"
SUITE = f"""
name = "suite"
build = "{BUILD}"
control = false
max-blocks = 16
[[benchmark]]
name = "slower"
command = "./prog-slower"
[[benchmark]]
name = "same"
command = "./prog-same"
"""
#: Rounds of a loop: some tens of milliseconds.
WORK = 30_000_000


def git(repo, *words):
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(repo), *settings, *words], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """A repository of two commits, the second of which makes one program slower by a quarter."""
    monkeypatch.setenv("TARE_DB", str(tmp_path / "tare.db"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet")
    (repo / ".gitignore").write_text("prog-*\n")
    (repo / "prog.c").write_text("int main(void) { for (volatile long i = 0; i < WORK; i++); }\n")
    (repo / "tare.toml").write_text(SUITE)
    for number, slower in enumerate([WORK, WORK * 5 // 4]):
        (repo / "slower").write_text(str(slower))
        (repo / "same").write_text(str(WORK))
        git(repo, "add", ".")
        git(repo, "commit", "--quiet", "-m", f"number {number}")
    return repo


def test_a_slower_program_is_a_regression(repo):
    # The bound is far from both: other tests may run beside this one.
    gate = tare.gate(suite=repo / "tare.toml", base="HEAD~1", head=repo, threshold="10%", tags={"pull": "7"})
    assert [(b.name, b.verdict) for b in gate.benchmarks] == [("slower", "regression"), ("same", "pass")], str(gate)
    assert (gate.verdict, gate.id, gate.interrupted) == ("regression", "g1", False)
    slower = gate.benchmarks[0]
    low, high, level = slower.interval
    assert low <= slower.ratio <= high and level >= 0.95 and slower.ratio > 1.1
    assert slower.blocks >= 6 and slower.failed is None
    assert gate.document["gate"]["plan"]["base"]["subject"] == "number 0"
    assert "slower" in str(gate) and "slower" in gate.markdown()
    # What is stored is what was returned, also for the command.
    assert tare.open().gate("g1").document == gate.document
    words = [sys.executable, "-m", "tarebench", "show", "g1", "--json"]
    shown = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert shown["report"] == gate.report
    assert tare.open().documents("gate", tags={"pull": "7"})[0]["tags"] == {"pull": "7"}


def test_two_folders(repo, tmp_path):
    old = tmp_path / "old"
    subprocess.run(["cp", "-r", str(repo), str(old)], check=True)
    gate = tare.gate(
        ["./prog-same", "./prog-slower"],
        names=["same"],
        base_dir=old,
        head=repo,
        build=BUILD,
        max_blocks=6,
        control=False,
        db="none",
    )
    assert [b.name for b in gate.benchmarks] == ["same", "./prog-slower"]
    assert (gate.id, gate.benchmarks[0].blocks) == (None, 6)
    assert repr(gate).startswith("<tarebench.Gate not stored: ")


def test_a_program_that_fails_is_in_the_result(repo):
    gate = tare.gate("false", base="HEAD~1", head=repo, db="none")
    assert gate.verdict == "failed" and "`false (base)` failed" in gate.benchmarks[0].failed


def test_nothing_changed_is_a_warning(repo):
    with pytest.warns(RuntimeWarning, match="nothing has changed"):
        gate = tare.gate("true", base="HEAD", head=repo, budget="1us", db="none")
    assert gate.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({}, tare.TareError, "there is no base"),
        ({"base": "nowhere"}, tare.TareError, "there is no revision `nowhere`"),
        ({"base": "HEAD~1", "head": "/nowhere"}, tare.TareError, "the head /nowhere: No such file"),
        ({"base": "HEAD~1", "build": "exit 3"}, tare.TareError, "the head could not be built"),
        ({"base": "HEAD~1", "commands": "./prog-sane"}, tare.TareError, "cannot be started"),
        ({"base": "HEAD~1", "commands": ()}, tare.TareError, "no benchmark"),
        ({"base": "HEAD~1", "names": ["a", "b"]}, tare.TareError, "2 names"),
        ({"base": "HEAD~1", "cpus": 4000}, tare.TareError, "CPU 4000 is not among"),
        ({"base": "HEAD~1", "max_blocks": 2000}, tare.TareError, "from 1 to 1000"),
        ({"base": "HEAD~1", "threshold": 2}, ValueError, "expected a share"),
        ({"base": "HEAD~1", "timeout": "soon"}, ValueError, "expected a time"),
        ({"base": "HEAD~1", "measure": "net"}, ValueError, "expected cpu or elapsed"),
        ({"base": "HEAD~1", "base_dir": "/"}, TypeError, "not both"),
        ({"base": "HEAD~1", "suite": "tare.toml"}, TypeError, "or a suite"),
        ({"base": "HEAD~1", "on_interrupt": "stop"}, ValueError, "expected 'return' or 'raise'"),
    ],
)
def test_what_cannot_be_is_refused(repo, given, error, said):
    with pytest.raises(error, match=said):
        tare.gate(**{"commands": "true", "head": repo, **given})
    assert tare.open().documents() == []


def test_an_interrupt_keeps_what_is_measured(repo):
    code = f"""
import os, signal, threading, time
import tarebench as tare
threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    tare.gate("sleep 0.05", base="HEAD~1", head={str(repo)!r}, on_interrupt="raise")
except tare.Interrupted as e:
    print(e.result.id, e.result.interrupted, e.result.benchmarks[0].verdict)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert found.stdout.split() == ["g1", "True", "inconclusive"], found
    assert tare.open().documents("gate")[0]["status"] == "interrupted"
