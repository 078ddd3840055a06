"""Blocks, calls and statistics, against known work and independent calculations."""

from __future__ import annotations

import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time

import pytest
import tarebench as tare
from tarebench import _native


def compute(seconds):
    """Use so much CPU time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_block_that_computes_and_one_that_waits():
    with tare.measure() as computing:
        compute(0.05)
    with tare.measure() as waiting:
        time.sleep(0.05)
    assert computing.pt >= 0.05e9 and computing.et >= 0.9 * computing.pt
    assert waiting.et >= 0.05e9 and waiting.pt < computing.pt
    assert waiting.voluntary_switches >= 1
    assert repr(waiting) == f"Measurement(et={waiting.et}, pt={waiting.pt})"
    assert repr(tare.measure()) == "Measurement(not ended)"


def test_other_threads_belong_to_the_process():
    with tare.measure("process") as process, tare.measure() as thread:
        other = threading.Thread(target=compute, args=(0.05,))
        other.start()
        other.join()
    assert process.pt >= 0.05e9 > thread.pt
    assert process.waiting is None and "thread" in process.reasons["waiting"]


def test_what_is_not_known_has_a_reason():
    with tare.measure() as block:
        pass
    assert block.net is None and block.daemons is None
    assert set(block.reasons) >= {"net", "daemons"} and "pt" not in block.reasons


def test_page_faults_are_counted():
    with tare.measure() as block:
        memory = bytearray(64 << 20)
        memory[::4096] = b"x" * len(memory[::4096])
    assert block.minor_faults > 10


def test_an_exception_and_an_exit_pass_through():
    for kind in (ValueError, KeyboardInterrupt, SystemExit):
        block = tare.measure()
        with pytest.raises(kind):
            with block:
                compute(0.01)
                raise kind
        assert block.pt >= 0.01e9


def test_a_fork_within_a_block():
    with tare.measure() as block:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    assert block.et > 0 and block.pt is not None
    reader, writer = os.pipe()
    pid = 0
    with tare.measure() as block:
        pid = os.fork()
    if pid == 0:
        os.write(writer, f"{block.pt} {block.reasons['pt']}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 1000).startswith(b"None the block ended in another process")


def test_a_block_that_ends_on_another_thread():
    block = tare.measure()
    block.__enter__()
    thread = threading.Thread(target=block.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert block.et > 0 and block.pt is None and "another thread" in block.reasons["pt"]


def test_wrong_use_of_a_block():
    with pytest.raises(ValueError, match="'thread' or 'process'"):
        tare.measure("machine")
    block = tare.measure()
    with pytest.raises(RuntimeError, match="not ended"):
        _ = block.et
    with block:
        with pytest.raises(RuntimeError, match="begun already"):
            block.__enter__()


def test_time_calls_calls_so_often():
    calls = []

    def once(value, *, key):
        calls.append((value, key))

    elapsed, cpu = _native.time_calls(once, (1,), {"key": 2}, 70_000)
    assert calls == [(1, 2)] * 70_000 and elapsed > 0 and cpu > 0
    assert _native.time_calls(once, (1,), {"key": 2}, 0)[0] >= 0 and len(calls) == 70_000


def test_time_calls_measures_known_work():
    elapsed, cpu = _native.time_calls(compute, (0.01,), {}, 5)
    assert cpu >= 0.05e9 and elapsed >= 0.9 * cpu


def test_exceptions_of_timed_calls_pass_through():
    for kind in (ValueError, KeyboardInterrupt, SystemExit):

        def fail(kind=kind):
            raise kind

        with pytest.raises(kind):
            _native.time_calls(fail, (), {}, 3)
        with pytest.raises(kind):
            tare.kbest(fail)


def test_kbest_of_known_work():
    found = tare.kbest(compute, 0.002, clock="thread_cpu", max_trials=5)
    assert found.fastest_ns >= 0.002e9 and found.repetitions == 1 and found.clock == "thread_cpu"
    assert found.trials == len(found.times_ns) <= 5 and found.best_ns == sorted(found.best_ns)
    assert found.fastest_ns == min(found.times_ns) == found.best_ns[0]


def test_kbest_repeats_what_is_short():
    found = tare.kbest(len, ())
    assert found.repetitions > 1 and found.fastest_ns > 0


def test_kbest_passes_arguments():
    seen = set()
    tare.kbest(lambda *args, **kwargs: seen.add((args, tuple(kwargs.items()))), 1, kwargs={"k": 2}, max_trials=3)
    assert seen == {((1,), (("k", 2),))}


def test_kbest_ends_at_the_first_exception():
    calls = 0

    def fails_later():
        nonlocal calls
        calls += 1
        if calls == 10:
            raise ValueError("the tenth")

    with pytest.raises(ValueError, match="the tenth"):
        tare.kbest(fails_later, max_trials=1000, apart=10_000_000)
    assert calls == 10


def test_kbest_refuses_what_makes_no_sense():
    for wrong in ({"k": 0}, {"epsilon": -1.0}, {"max_trials": 1}, {"clock": "sundial"}, {"clock": "rdpmc"}):
        with pytest.raises(ValueError):
            tare.kbest(len, (), **wrong)
    with pytest.raises(TypeError, match="no_such"):
        _native.kbest(len, ((),), {}, no_such=1)


def test_a_million_calls_leave_no_memory():
    def nothing(value):
        return [value]

    _native.time_calls(nothing, (1,), {}, 1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _native.time_calls(nothing, (1,), {}, 1_000_000)
    # KiB; one lost object of 56 bytes for each call would be 55 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000


def test_summaries_agree_with_pythons():
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    found = _native.summarise(values)
    assert found["count"] == 8 and found["minimum"] == 1 and found["maximum"] == 9
    assert math.isclose(found["mean"], statistics.mean(values))
    assert math.isclose(found["stddev"], statistics.stdev(values))
    # Of 1 1 2 3 and of 4 5 6 9.
    assert (found["median"], found["q1"], found["q3"]) == (3.5, 1.5, 5.5)
    low, high = found["interval"]
    assert low <= found["mean"] <= high and found["level"] == 0.95


def test_what_a_summary_does_not_define():
    assert _native.summarise([])["mean"] is None and _native.summarise([])["count"] == 0
    one = _native.summarise([2.0])
    assert one["mean"] == 2 and (one["stddev"], one["q1"], one["interval"], one["level"]) == (None, None, None, None)
    assert _native.summarise([1.0, 2.0])["stddev"] is not None
    with pytest.raises(ValueError, match="finite"):
        _native.summarise([1.0, math.nan])


def spread(ratio, blocks=24):
    """So many blocks around a ratio."""
    base = [100.0 + i % 5 for i in range(blocks)]
    return [ratio * b * (1 + 0.0005 * (i % 7 - 3)) for i, b in enumerate(base)], base


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "same"), (1.2, "slower"), (0.8, "faster")])
def test_blocks_have_the_gates_verdict(ratio, verdict):
    found = _native.compare_blocks(*spread(ratio), 0.02)
    low, high = found["interval"]
    assert found["verdict"] == verdict and low <= found["ratio"] <= high
    assert abs(found["ratio"] - ratio) < 0.01 and found["smallest_detectable"] > 0 and found["blocks"] == 24
    assert _native.compare_blocks(*spread(ratio), 0.02, detect=False)["smallest_detectable"] is None


def test_too_few_blocks_decide_nothing():
    found = _native.compare_blocks([1.0, 2.0], [1.0, 1.0], 0.02)
    assert (found["verdict"], found["interval"], found["smallest_detectable"]) == ("inconclusive", None, None)
    for new, base, budget in (([1.0], [], 0.1), ([0.0], [1.0], 0.1), ([1.0], [1.0], -1.0), ([1.0], [1.0], math.nan)):
        with pytest.raises(ValueError):
            _native.compare_blocks(new, base, budget)


def test_a_suite_is_decided_together():
    all_found = [_native.compare_blocks(*spread(ratio), 0.02) for ratio in (1.0, 1.2, 0.8)]
    assert _native.gate_verdicts(all_found) == ["same", "slower", "faster"]
    assert _native.gate_verdicts([]) == []
    # With 7 blocks, a difference has p = 1/128 at best: enough for none of a suite, at its error of 1%, divided by its size.
    few = [_native.compare_blocks(*spread(1.5, 7), 0.02) for _ in range(5)]
    assert set(_native.gate_verdicts(few)) == {"inconclusive"}
    with pytest.raises(ValueError, match="logs"):
        _native.gate_verdicts([{"budget": 0.1}])


def test_an_interrupt_ends_timed_builtins():
    code = """
import os
from tarebench import _native
print("ready", flush=True)
try:
    _native.time_calls(len, ((),), {}, 10**12)
except KeyboardInterrupt:
    os._exit(7)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(30) == 7
        finally:
            process.kill()
