"""Runs and the store, against the command itself and known work."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import tarebench as tare
from tarebench import _native
from tarebench._result import _options, _programs

#: Computes for some ms, more with a larger argument.
WORK = f"{sys.executable} -S -E -c 'sum(range(%d))'"


@pytest.fixture(autouse=True)
def _own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_DB", str(tmp_path / "tare.db"))


@pytest.fixture
def two():
    return tare.run([WORK % 10, WORK % 3_000_000], runs=6, warmup=0, sigma="none", order="rounds", command_name=["short", "long"])


def child(code, **env):
    """A Python process of its own, as a measurement that was interrupted is the last of its process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, env={**os.environ, **env}
    )


def test_a_run_has_the_commands_figures(two):
    found = subprocess.run(
        [sys.executable, "-m", "tarebench", "show", str(two.id), "--json"], capture_output=True, text=True, check=True
    )
    shown = json.loads(found.stdout)
    assert two.report["series"] == shown["report"]["series"] and two.report["comparisons"] == shown["report"]["comparisons"]
    assert two.series[1].et.mean == shown["report"]["series"][1]["et"]["value"]["mean"]
    assert [len(shown["samples"]), two.series[0].counted, len(two.samples())] == [12, 6, 12]


def test_longer_work_is_slower(two):
    comparison = two.compare("long", "short")
    assert comparison.ratio > 1 and (comparison.series, comparison.reference) == (1, 0)
    low, high, level = comparison.interval
    assert low <= comparison.ratio <= high and level >= 0.95
    assert comparison.verdict == "slower"
    assert two.comparisons[0].report == comparison.report


def test_the_other_way_round_is_the_reverse(two):
    there, back = two.compare(1, 0), two.compare(0, 1)
    assert math.isclose(there.ratio * back.ratio, 1, rel_tol=1e-9)
    assert back.verdict == "faster"


def test_programs_that_are_not_there(two):
    with pytest.raises(LookupError, match="expected 0 to 1"):
        two.compare(2, 0)
    with pytest.raises(LookupError, match="called 'x'"):
        two.compare("x", 0)
    with pytest.raises(ValueError, match="no ratio"):
        two.compare(1, 1)


def test_absent_is_none():
    run = tare.run(WORK % 10, runs=1, warmup=0, no_account=True, db="none")
    series = run.series[0]
    assert run.id is None and series.et.std_dev is None and series.et.interval is None
    assert series.net is None and series.reasons["net"]
    samples = run.samples()
    assert samples.column("net_ns") == [None] and samples.column("et_ns")[0] > 0
    assert not run.comparisons


def test_samples_in_columns(two):
    samples = two.samples()
    assert sorted(samples.column("command")) == ["long"] * 6 + ["short"] * 6
    assert set(samples.column("phase")) == {"counted"} and set(samples.column("outcome")) == {"ok"}
    spans = zip(samples.column("start_monotonic_ns"), samples.column("end_monotonic_ns"))
    assert samples.column("et_ns") == [end - start for start, end in spans]
    with pytest.raises(KeyError):
        samples.column("no such")


def test_samples_for_numpy(two):
    numpy = pytest.importorskip("numpy")
    samples = two.samples()
    columns = samples.to_numpy()
    assert set(columns) == set(samples.names)
    assert columns["et_ns"].dtype == numpy.int64 and columns["et_ns"].tolist() == samples.column("et_ns")
    for name in samples.names:
        assert columns[name].tolist() == samples.column(name), name


def test_samples_for_pandas(two):
    pytest.importorskip("pandas")
    frame = two.samples().to_pandas()
    assert frame["et_ns"].tolist() == two.samples().column("et_ns")
    assert frame["command"].tolist() == two.samples().column("command")
    assert frame["pt_discarded"].isna().tolist() == [why is None for why in two.samples().column("pt_discarded")]


def test_samples_for_polars(two):
    pytest.importorskip("polars")
    frame = two.samples().to_polars()
    assert frame["et_ns"].to_list() == two.samples().column("et_ns")


def test_samples_for_arrow(two):
    pyarrow = pytest.importorskip("pyarrow")
    samples = two.samples()
    table = samples.to_arrow()
    assert table.column_names == samples.names
    for name in samples.names:
        assert table.column(name).to_pylist() == samples.column(name), name
    one = pyarrow.array(samples)
    assert len(one) == len(samples) and one.type.num_fields == len(samples.names)


def test_capsules_that_nobody_takes_are_released(two):
    samples = two.samples()
    for _ in range(1000):
        samples.__arrow_c_stream__()
        samples.__arrow_c_array__()
        samples.__arrow_c_schema__()


def test_a_program_that_fails_is_in_the_result():
    run = tare.run("false", runs=2, warmup=0)
    assert run.series[0].failures and run.series[0].pt is None


def test_errors_are_the_commands_sentences():
    with pytest.raises(tare.TareError) as caught:
        tare.run("/no/such/program", runs=2)
    assert caught.value.exit_code == 2 and "/no/such/program" in caught.value.message
    assert str(caught.value).startswith(caught.value.message)
    with pytest.raises(tare.TareError, match="--no-such") as caught:
        tare.run("true", no_such=1)
    assert caught.value.exit_code == 2 and "Usage" not in str(caught.value)
    with pytest.raises(tare.TareError, match="--help"):
        tare.run("true", help=True)
    with pytest.raises(tare.TareError, match="export"):
        tare.run("true", export_csv="x.csv")


def test_options_become_words():
    assert _options({"runs": 3, "show_output": True, "cpus": None, "control": False}) == ["--runs=3", "--show-output"]
    assert _options({"prepare": ["a", "b"], "env": {"X": 1}}) == ["--prepare=a", "--prepare=b", "--env=X=1"]
    assert _options({"parameter_list": {"level": [1, 9]}}) == ["--parameter-list", "level", "1,9"]
    assert _options({"parameter_scan": ("n", 1, 8)}) == ["--parameter-scan", "n", "1", "8"]
    assert _options({"ignore_failure": [1, 2]}) == ["--ignore-failure=1,2"]
    assert _programs("a b", None) == ["a b"] and _programs((), ["a", "-b"]) == ["--", "a", "-b"]
    for wrong in (lambda: _programs("a", ["b"]), lambda: _programs((), "a b"), lambda: _options({"runs": object()})):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="comma"):
        _options({"parameter_list": {"x": ["1,2"]}})


def test_parameters_make_programs():
    run = tare.run("echo {n}", parameter_list={"n": [1, 2]}, runs=1, warmup=0)
    assert [series.parameters for series in run.series] == [{"n": "1"}, {"n": "2"}]


def test_the_store(two):
    store = tare.open()
    listed = store.runs()
    assert [found["id"] for found in listed] == [two.id] and listed[0]["programs"] == ["short", "long"]
    for which in (two.id, "last", two.uuid[:8]):
        assert store.run(which).report["series"] == two.report["series"]
    assert store.runs(tags={"no": "such"}) == [] and store.documents() == []
    assert store.path == os.environ["TARE_DB"]
    for wrong in (lambda: store.run(99), lambda: store.noise("n1"), lambda: store.profile("none such")):
        with pytest.raises(tare.TareError):
            wrong()
    assert store.profile() is None


def test_a_store_that_is_not_there(tmp_path):
    assert tare.open(tmp_path / "no.db").runs() == []
    with pytest.raises(tare.TareError, match="none"):
        tare.open("none")


def test_other_threads_run_on_and_none_is_left():
    before, counted, done = threading.active_count(), 0, threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        start = counted
        tare.run("sleep 0.2", runs=2, warmup=0)
        assert counted > start + 10
    finally:
        done.set()
        thread.join()
    assert threading.active_count() == before


def test_only_one_measures_at_a_time():
    failures = []

    def measure():
        try:
            tare.run("sleep 0.3", runs=2, warmup=0, db="none")
        except tare.TareError as e:
            failures.append(str(e))

    threads = [threading.Thread(target=measure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 1 and "another thread" in failures[0]


def test_handlers_and_mask_are_back():
    # A shell's background jobs begin with SIGINT ignored, and Python leaves that so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        handler, mask = signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, [])
        tare.run("true", runs=1, warmup=0)
        assert signal.getsignal(signal.SIGINT) is handler and signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
    finally:
        signal.signal(signal.SIGINT, before)


INTERRUPTED = """
    import os, signal, sys, threading, time
    import tarebench as tare
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    %s
"""


def test_an_interrupt_keeps_what_is_measured():
    found = child(
        INTERRUPTED
        % """
    r = tare.run("sleep 0.05", runs=1000, warmup=0, no_account=True)
    assert r.interrupted and r.signal == signal.SIGINT
    assert 0 < r.series[0].counted < 1000 and len(tare.open().run(r.id).samples()) == len(r.samples())
    again = tare.run("true", runs=2)
    assert not again.interrupted and again.series[0].counted == 2
    """
    )
    assert found.returncode == 0, found.stderr


def test_an_interrupt_raises_if_asked():
    found = child(
        INTERRUPTED
        % """
    try:
        tare.run("sleep 0.05", runs=1000, warmup=0, on_interrupt="raise")
    except KeyboardInterrupt as e:
        assert isinstance(e, tare.Interrupted) and e.result.interrupted
    else:
        raise AssertionError("not raised")
    """
    )
    assert found.returncode == 0, found.stderr
    with pytest.raises(ValueError):
        tare.run("true", on_interrupt="what")


def test_children_are_warned_of():
    with subprocess.Popen(["sleep", "5"]) as process:
        with pytest.warns(RuntimeWarning, match="children"):
            tare.run("true", runs=1, warmup=0)
        process.kill()


def test_the_command(tmp_path):
    def command(*words):
        return subprocess.run([sys.executable, "-m", "tarebench", *words], capture_output=True, text=True, timeout=120)

    version = command("--version")
    assert version.returncode == 0 and version.stdout.split() == ["tare", tare.__version__]
    assert command("run", "--no-such").returncode == 2
    assert command("run", "--runs", "2", "false").returncode == 1
    refused = command("run", "--self-check=1")
    assert refused.returncode == 2 and "inside of another program" in refused.stderr


def test_the_machine():
    machine = _native.machine()
    assert machine["name"] == os.uname().nodename and machine["kernel"] == os.uname().release
    assert len(machine["fingerprint"]) == 16
