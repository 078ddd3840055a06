"""`pytest --tare-base`: this checkout in blocks with another one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

# One benchmark: nine blocks are the fewest that can show a regression at 1%, and eleven the fewest that are the same.
BLOCKS = 12
# Where no verdict is expected: the fewest for an interval.
FEWEST = 6

TEST = """
import pytest
from work import work

@pytest.mark.tare(max_time=0.05, threshold="20%")
def test_work(tare):
    tare(work)
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "TARE_MEASURING_PROCESS"):
        monkeypatch.delenv(name, raising=False)


def write(folder, amount, test=TEST):
    folder.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_a.py").write_text(test)
    (folder / "work.py").write_text(f"def work():\n    return sum(range({amount}))\n")


def run(folder, *options):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--tare-processes={BLOCKS}", *options],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip


def against(tmp_path, *options):
    return run(tmp_path / "head", "--tare-base=../base", f"--tare-base-python={sys.executable}", "--tare-json=out.json", *options)


def result(tmp_path):
    written = json.loads((tmp_path / "head" / "out.json").read_text())
    return written["benchmarks"]


@pytest.mark.slow
@pytest.mark.parametrize("head, base, verdict, code", [(3000, 1500, "slower", 5), (1500, 3000, "faster", 0), (2000, 2000, "same", 0)])
def test_a_known_amount_of_work(tmp_path, head, base, verdict, code):
    write(tmp_path / "head", head)
    write(tmp_path / "base", base)
    done = against(tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    (found,) = result(tmp_path)
    assert found["verdict"] == verdict
    # The loop of `sum` is nearly all of it.
    assert found["comparison"]["ratio"] == pytest.approx(head / base, rel=0.15)
    for old, new in zip(found["base"]["processes"], found["head"]["processes"]):
        # A block is one process of each, alike in everything but the code.
        assert old["hash_seed"] == new["hash_seed"] and old["pinned"] == new["pinned"] is not None
        assert old["iterations"] == new["iterations"] and len(old["elapsed"]) == len(new["elapsed"])
    assert len(found["head"]["processes"]) == len(found["base"]["processes"]) == BLOCKS


def test_rounds_of_both_take_turns(tmp_path):
    """Each round appends its side to one file: no side has two more than the other at any time."""
    log = tmp_path / "log"
    for side in ("head", "base"):
        test = f"""
def note():
    with open({str(log)!r}, "a") as file:
        file.write({side[0]!r})

def test_note(benchmark):
    benchmark.pedantic(note, rounds=10, warmup_rounds=1)
"""
        write(tmp_path / side, 1, test)
    # Which side is faster is not what this is about.
    done = against(tmp_path, "--tare-threshold=900%", f"--tare-processes={FEWEST}")
    assert done.returncode == 0, done.stdout + done.stderr
    written = log.read_text()
    block = len(written) // FEWEST
    assert block == 22 and written.count("h") == written.count("b")
    for number in range(FEWEST):
        # After the warm-ups.
        turns = written[number * block + 2 : (number + 1) * block]
        assert all(set(turns[i : i + 2]) == {"h", "b"} for i in range(0, len(turns), 2)), turns
        assert turns[:4] == ("hbbh" if number % 2 == 0 else "bhhb")


def test_what_only_one_side_has(tmp_path):
    write(tmp_path / "head", 10, TEST + "\ndef test_new(tare):\n    tare(work)\n")
    write(tmp_path / "base", 10, TEST + "\ndef test_old(tare):\n    tare(work)\n")
    done = against(tmp_path, f"--tare-processes={FEWEST}")
    assert done.returncode == 0, done.stdout
    found = {each["name"]: each for each in result(tmp_path)}
    assert set(found) == {"test_work", "test_new"}
    assert found["test_new"]["verdict"] == "no base" and found["test_new"]["base"] is None
    assert found["test_new"]["head"] is not None


def test_a_base_that_fails(tmp_path):
    write(tmp_path / "head", 10)
    write(tmp_path / "base", 10, TEST.replace("tare(work)", "assert False"))
    done = against(tmp_path, f"--tare-processes={FEWEST}")
    assert done.returncode == 0 and "the base's test failed" in done.stdout


def test_code_of_the_other_side_is_refused(tmp_path, monkeypatch):
    write(tmp_path / "head", 10)
    write(tmp_path / "base", 10)
    (tmp_path / "base" / "work.py").unlink()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "head"))
    done = against(tmp_path)
    assert done.returncode == 4
    assert "loads code of the head" in done.stderr and "work.py" in done.stderr


def test_a_separate_word_is_refused(tmp_path):
    write(tmp_path / "head", 10)
    write(tmp_path / "base", 10)
    done = run(tmp_path / "head", "--tare-base", "../base")
    assert done.returncode == 4 and "--tare-base=../base" in done.stderr


def test_the_head_itself_is_no_base(tmp_path):
    write(tmp_path / "head", 10)
    done = run(tmp_path / "head", "--tare-base=.")
    assert done.returncode == 4 and "head itself" in done.stderr


def git(folder, *arguments):
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_revision_is_its_merge_base(tmp_path):
    head = tmp_path / "head"
    write(head, 1500)
    git(head, "init", "--initial-branch=main")
    git(head, "add", ".")
    git(head, "commit", "--message=one")
    git(head, "checkout", "-b", "topic")
    # What main got meanwhile is not what the topic is compared with.
    git(head, "checkout", "main")
    write(head, 30_000)
    git(head, "commit", "--all", "--message=two")
    git(head, "checkout", "topic")
    write(head, 3000)
    done = run(head, "--tare-base=main", "--tare-json=out.json")
    assert done.returncode == 5 and "checking out" in done.stdout, done.stdout + done.stderr
    written = json.loads((head / "out.json").read_text())
    assert written["base"]["name"] == "main" and len(written["base"]["commit"]) == 40
    assert written["benchmarks"][0]["comparison"]["ratio"] == pytest.approx(2, rel=0.15)
    # The second time the checkout and its environment are there already; so few blocks can show no regression.
    done = run(head, "--tare-base=main", "--tare-json=out.json", f"--tare-processes={FEWEST}")
    assert done.returncode == 0 and "checking out" not in done.stdout, done.stdout + done.stderr
    assert json.loads((head / "out.json").read_text())["base"] == written["base"]
    status = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=head, capture_output=True, text=True)
    # Only the change that was made above: nothing that is checked out was touched.
    assert status.stdout.split() == ["M", "work.py"]


def test_an_installation_that_fails(tmp_path):
    write(tmp_path / "head", 10)
    write(tmp_path / "base", 10)
    done = run(tmp_path / "head", "--tare-base=../base", "--tare-base-install=echo no compiler; exit 3")
    assert done.returncode == 4
    assert "exit code 3" in done.stderr and "no compiler" in done.stderr
