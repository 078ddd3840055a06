"""Parts of the plugin that need no session: messages, options, results, files, the base's command line."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from tarebench._pytest import display, outputs
from tarebench._pytest.base import base_arguments
from tarebench._pytest.channel import Channel, plain
from tarebench._pytest.results import Record, Times, Title, Verdict, compared_measure, figures, suite_exit, verdicts
from tarebench._pytest.settings import Settings, fraction
from tarebench._pytest.worker import foreign_files


def settings(**changes):
    given = dict(
        enabled=True, inprocess=False, processes=10, base="x", base_python=None, base_install=None, threshold=0.02,
        inconclusive_fails=False, measure="auto", seed=1, cpu=None, json=None, pyperf=None,
    )  # fmt: skip
    return Settings(**{**given, **changes})


def record(head, base=(), name="test_a", **marker):
    """Processes with two rounds each of about these times, ns."""

    def processes(values):
        return [Times(10, [value * 0.99, value * 1.01], [value * 0.99, value * 1.01]) for value in values]

    return Record(Title(f"t.py::{name}", name, None, None), marker=marker, head=processes(head), base=processes(base))


def test_messages_cross_the_pipes():
    a_read, b_write = os.pipe()
    b_read, a_write = os.pipe()
    a, b = Channel(a_read, a_write), Channel(b_read, b_write)
    message = {"text": "ä\n" * 1000, "numbers": [1, 2.5, None]}
    assert a.send(message) and a.send({})
    assert b.receive() == message
    assert b.receive() == {}
    b.close()
    assert a.receive() is None
    assert not a.send({})
    a.close()


def test_a_forked_child_sends_nothing():
    read, write = os.pipe()
    other_read, other_write = os.pipe()
    channel = Channel(read, other_write)
    child = os.fork()
    if child == 0:
        os._exit(1 if channel.send({}) else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    channel.close()
    os.close(write)
    os.close(other_read)


def test_a_process_that_ends_is_noticed_though_its_pipe_stays_open():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os._exit(0)
    pidfd = os.pidfd_open(child)
    channel = Channel(read, write)
    # This process itself holds the other end.
    assert channel.receive(pidfd) is None
    os.waitpid(child, 0)
    os.close(pidfd)
    channel.close()


def test_whatever_a_test_keeps_becomes_json():
    value = {1: (1, 2.5), "n": math.nan, "o": object, None: {"x": b"y"}}
    text = json.dumps(plain(value), allow_nan=False)
    assert json.loads(text)["1"] == [1, 2.5]
    assert json.loads(text)["n"] == "nan"


@pytest.mark.parametrize("text, share", [("2%", 0.02), ("0.02", 0.02), ("0", 0.0), ("50%", 0.5)])
def test_shares(text, share):
    assert fraction(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "x", "-1%", "nan", "inf", "2000%"])
def test_what_is_no_share(text):
    with pytest.raises(ValueError):
        fraction(text)


def test_processes_are_the_unit():
    found = figures(record([100, 110, 90, 100, 105, 95]).head, "elapsed")
    assert found["count"] == 6 and found["mean"] == pytest.approx(100)
    low, high = found["interval"]
    assert low < 100 < high


def test_one_process_has_no_interval():
    found = figures(record([100]).head, "elapsed")
    assert found["count"] == 2 and found["interval"] is None
    assert figures([], "elapsed") is None


def test_what_computes_is_compared_by_cpu_time():
    computing = record([100] * 6, [100] * 6)
    assert compared_measure(computing, settings()) == "cpu"
    for times in computing.base:
        times.cpu = [1.0, 1.0]
    assert compared_measure(computing, settings()) == "elapsed"
    computing.marker["measure"] = "cpu"
    assert compared_measure(computing, settings()) == "cpu"


def test_verdicts_and_exit_codes():
    # The result is the same from 11 blocks on.
    even = [100, 101, 99, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.3, 99.7, 100.4]
    slow = [value * 1.2 for value in even]
    records = [record(even, even[::-1], "same"), record(slow, even, "slow"), record(even, slow, "fast"), record(even[:3], even[:3], "few")]
    found = verdicts(records, settings())
    assert [verdict.verdict for verdict in found] == ["same", "slower", "faster", "inconclusive"]
    assert found[1].comparison["ratio"] == pytest.approx(1.2)
    assert "3 blocks" in found[3].reason
    assert suite_exit(found, settings())[0] == 5
    assert suite_exit([found[0], found[2]], settings())[0] == 0
    assert suite_exit([found[0], found[3]], settings())[0] == 0
    assert suite_exit([found[0], found[3]], settings(inconclusive_fails=True))[0] == 6
    assert suite_exit([found[1], Verdict("failed", 0.02)], settings())[0] == 1


def test_a_threshold_of_its_own():
    even = [100, 101, 99, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.3, 99.7, 100.4]
    slow = [value * 1.2 for value in even]
    assert verdicts([record(slow, even, threshold=0.5)], settings())[0].verdict == "same"


def test_what_is_new_has_no_verdict():
    new = record([100] * 6)
    new.no_base = "the base has no such benchmark"
    found = verdicts([new], settings())
    assert found[0].verdict == "no base" and suite_exit(found, settings())[0] == 0


def test_a_time_of_zero_has_no_ratio():
    zero = record([0] * 6, [100] * 6, measure="cpu")
    assert verdicts([zero], settings())[0].verdict == "inconclusive"


def test_pyperf_runs_are_processes():
    written = outputs.pyperf_json([record([1000, 2000]), record([0], name="test_zero")], "head")
    assert written["version"] == "1.0"
    (benchmark,) = written["benchmarks"]
    assert benchmark["metadata"]["name"] == "t.py::test_a"
    assert [run["values"] for run in benchmark["runs"]] == [[9.9e-7, 1.01e-6], [1.98e-6, 2.02e-6]]
    assert benchmark["runs"][0]["metadata"]["loops"] == 10
    assert all(value and "\n" not in value for value in written["metadata"].values() if isinstance(value, str))


def test_pytest_benchmark_statistics():
    # Eight values whose figures are known: mean 5, sum of squares 32, median 4.5, quartiles 4 and 6.
    found = outputs._stats([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert found["mean"] == pytest.approx(5) and found["stddev"] == pytest.approx((32 / 7) ** 0.5)
    assert (found["median"], found["q1"], found["q3"], found["iqr"]) == (4.5, 4.0, 6.0, 2.0)
    # Beyond 5 ± 2.138: 2 and 9. Beyond [1, 9]: none.
    assert found["outliers"] == "2;0" and (found["ld15iqr"], found["hd15iqr"]) == (2.0, 9.0)
    assert found["ops"] == pytest.approx(0.2) and found["total"] == 40 and found["rounds"] == 8


def test_what_one_round_does_not_show_is_null():
    found = outputs._stats([2.0])
    assert found["mean"] == 2.0
    assert all(found[name] is None for name in ("stddev", "q1", "q3", "iqr", "outliers", "ld15iqr"))


def test_times_are_shown_with_their_unit():
    assert [display.duration(ns) for ns in (0.5, 12.34, 1234.5, 12_345_678, 3e9)] == [
        "0.500 ns", "12.34 ns", "1.234 µs", "12.35 ms", "3.000 s",
    ]  # fmt: skip
    assert display.change(1.041) == "+4.1 %" and display.change(0.93) == "−7.0 %"


def test_the_base_gets_its_own_paths(tmp_path: Path):
    head, base = tmp_path / "head", tmp_path / "base"
    for name in ("head/tests/old.py", "head/tests/new.py", "base/tests/old.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    positional = [f"{head}/tests/old.py::test_a", "tests/new.py"]
    given = ["-k", "a or b", f"--rootdir={head}", f"--confcutdir={head}/tests", *positional, f"{head}2"]
    assert base_arguments(given, positional, head, base, base) == [
        "-k", "a or b", f"--rootdir={base}", f"--confcutdir={base}/tests", f"{base}/tests/old.py", f"{head}2",
    ]  # fmt: skip


def test_modules_of_the_other_side_are_found(tmp_path: Path, monkeypatch):
    (tmp_path / "head" / "venv" / "site-packages").mkdir(parents=True)
    (tmp_path / "head" / "of_the_head.py").write_text("")
    (tmp_path / "head" / "venv" / "site-packages" / "of_nobody.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "head"))
    monkeypatch.syspath_prepend(str(tmp_path / "head" / "venv" / "site-packages"))
    __import__("of_the_head"), __import__("of_nobody")
    head, base = str(tmp_path / "head"), str(tmp_path / "base")
    assert foreign_files(base, head) == [str((tmp_path / "head" / "of_the_head.py").resolve())]
    assert foreign_files(head, base) == []
    # A base that lies within the head, as a work tree may, and the reverse.
    assert foreign_files(head, str(tmp_path)) == []
    assert len(foreign_files(str(tmp_path / "head" / "old"), head)) == 1
