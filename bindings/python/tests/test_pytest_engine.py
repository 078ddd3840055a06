"""How functions are timed in one process: numbers of calls, rounds, results."""

from __future__ import annotations

import gc
import os
import sys
import threading

import pytest

from tarebench._pytest import engine
from tarebench._pytest.engine import Conductor, InputJob, Job, Limits, Pedantic, Plan, Proposal, automatic, pedantic

SHORT = Limits(max_time=0.01, min_rounds=2)


class Fixed(Conductor):
    """Plans what it is told to, and notes what happens."""

    def __init__(self, plan, known=None):
        self.plan, self.known, self.log = plan, known, []

    def agree(self, proposal):
        self.log.append(proposal)
        return self.plan

    def before_round(self):
        self.log.append("before")

    def after_round(self):
        self.log.append("after")

    def after_rounds(self):
        self.log.append("end")


def call(target, args=(), kwargs=None, setup=None, teardown=None, rounds=1, warmup_rounds=0, iterations=1):
    return Pedantic(target, args, kwargs or {}, setup, teardown, rounds, warmup_rounds, iterations)


def test_a_round_takes_as_long_as_it_must():
    rounds, result = automatic(Job(sum, (range(10),), {}, False), SHORT, Conductor())
    assert result == 45
    # A call takes far less than a microsecond's thousandfold, so that a round has many; each is stored for one call.
    assert rounds.iterations > 100
    assert len(rounds.elapsed) == len(rounds.cpu) >= 2
    assert all(elapsed > 0 for elapsed in rounds.elapsed)


def test_the_conductor_decides():
    conductor = Fixed(Plan(3, 2), known=Plan(3, 2))
    calls = []
    rounds, _ = automatic(Job(calls.append, (1,), {}, False), SHORT, conductor)
    proposal, *rest = conductor.log
    assert proposal == Proposal(3, 2, proposal.single, False)
    assert rest == ["before", "after"] * 2 + ["end"]
    # One round that does not count, two that do, and a call for the result.
    assert len(calls) == 3 * 3 + 1
    assert rounds.iterations == 3


def test_a_single_call_gives_the_result_without_another():
    calls = []

    def work():
        calls.append(None)
        return len(calls)

    _, result = automatic(Job(work, (), {}, False), SHORT, Fixed(Plan(1, 2), known=Plan(1, 2)))
    assert result == len(calls) == 3


def test_every_call_has_its_own_input():
    made, seen = [], []

    def make():
        made.append([3, 1, 2])
        return made[-1]

    def work(values):
        seen.append(values)
        values.sort()
        return values

    rounds, result = automatic(InputJob(make, work, False), SHORT, Fixed(Plan(10, 2), known=Plan(10, 2)))
    assert rounds.iterations == 10 and result == [1, 2, 3]
    assert len(made) == len(seen) == 31
    assert all(a is b for a, b in zip(made, seen))
    assert len({id(values) for values in made}) == 31


@pytest.mark.parametrize("processes, rounds", [(1, 100), (10, 10), (1000, 1)])
def test_processes_share_the_time(processes, rounds):
    assert Limits(max_time=0.1, min_rounds=5, processes=processes).rounds(1_000_000) == rounds


def test_limits_of_rounds():
    assert Limits(max_time=0.001, min_rounds=5).rounds(10_000_000) == 5
    assert Limits(max_time=0.001, min_rounds=5, processes=2).rounds(10_000_000) == 3
    assert Limits(max_time=10.0, max_rounds=4).rounds(1_000_000) == 4
    assert Limits(max_time=1e6).rounds(1) == engine.MOST_ROUNDS


@pytest.mark.parametrize(
    "rounds, warmup, iterations, calls",
    [(1, 0, 1, 1), (4, 0, 1, 4), (1, 0, 5, 6), (3, 0, 5, 16), (3, 2, 1, 5), (3, 2, 4, 21)],
)
def test_pedantic_calls_exactly_so_often(rounds, warmup, iterations, calls):
    seen = []
    times, _ = pedantic(call(seen.append, [1], rounds=rounds, warmup_rounds=warmup, iterations=iterations), False, Conductor())
    assert seen == [1] * calls
    assert len(times.elapsed) == rounds and times.iterations == iterations


def test_setup_and_teardown_frame_each_round():
    order = []

    def setup():
        order.append("setup")
        return (1,), {"b": 2}

    def work(a, b):
        order.append((a, b))
        return a + b

    def teardown(a, b):
        order.append(("teardown", a, b))

    _, result = pedantic(call(work, setup=setup, teardown=teardown, rounds=2, warmup_rounds=1), False, Conductor())
    assert order == ["setup", (1, 2), ("teardown", 1, 2)] * 3
    assert result == 3


@pytest.mark.parametrize("numbers", [{"rounds": 0}, {"rounds": "x"}, {"iterations": 0}, {"warmup_rounds": -1}])
def test_numbers_that_cannot_be(numbers):
    with pytest.raises(ValueError, match=next(iter(numbers))):
        call(len, **numbers).check()


def test_setup_with_several_iterations_names_the_way_out():
    with pytest.raises(ValueError, match="with_input"):
        call(len, setup=lambda: None, iterations=2).check()


def test_arguments_come_from_one_place():
    with pytest.raises(TypeError, match="setup"):
        pedantic(call(len, ["a"], setup=lambda: (("b",), {})), False, Conductor())
    # A setup that returns nothing leaves them as they are.
    assert pedantic(call(len, ["a"], setup=lambda: None), False, Conductor())[1] == 1


def test_exceptions_pass_and_restore_everything():
    def fail():
        raise KeyError("x")

    tracer = lambda *_: None  # noqa: E731
    before = os.sched_getaffinity(0)
    sys.setprofile(tracer)
    try:
        with pytest.raises(KeyError):
            automatic(Job(fail, (), {}, True), SHORT, Fixed(Plan(1, 1, min(before))))
        assert sys.getprofile() is tracer
    finally:
        sys.setprofile(None)
    assert gc.isenabled()
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("disable", [False, True])
def test_garbage_collection(disable):
    seen = []
    automatic(Job(lambda: seen.append(gc.isenabled()), (), {}, disable), SHORT, Fixed(Plan(2, 2), known=Plan(2, 2)))
    # The last one is the call for the result, which is not timed.
    assert set(seen[:-1]) == {not disable}
    assert gc.isenabled()


def test_rounds_are_kept_on_a_cpu():
    cpu = min(os.sched_getaffinity(0))
    before, seen = os.sched_getaffinity(0), []
    rounds, _ = pedantic(call(lambda: seen.append(os.sched_getaffinity(0)), rounds=2), False, Fixed(Plan(1, 2, cpu)))
    assert seen == [{cpu}] * 2 and rounds.pinned == cpu
    assert os.sched_getaffinity(0) == before


def test_other_threads_are_noticed():
    def alone():
        sum(range(20_000))

    def with_help():
        helper = threading.Thread(target=lambda: sum(range(2_000_000)))
        helper.start()
        helper.join()

    rounds, _ = automatic(Job(alone, (), {}, False), SHORT, Conductor())
    assert rounds.single
    rounds, _ = automatic(Job(with_help, (), {}, False), SHORT, Conductor())
    assert not rounds.single
