"""Timing a function in this process: how many calls make a round, how many rounds, and the rounds themselves.

A *round* is a number of calls (*iterations*) that are timed together. The clock is read by the native library, whose loop calls the
function without a Python frame of its own.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

#: A round lasts at least this long, ns: much longer than reading the clocks.
SHORTEST_ROUND = 1_000_000
#: Most calls of a round.
MOST_ITERATIONS = 100_000_000
#: Most inputs that are made ahead for a round: they are all in memory at the same time.
MOST_INPUTS = 1_000
#: Most rounds of a process.
MOST_ROUNDS = 10_000
#: CPU time of the whole process above this share of the thread's own: other threads work for the function.
SEVERAL_THREADS = 1.1

Setup = Callable[[], Any]


class FixtureAlreadyUsed(Exception):
    """A test measures one thing: its fixture was used before."""


@dataclass(frozen=True)
class Limits:
    """How long to measure; times in seconds, for all processes together."""

    min_time: float = 0.000005
    max_time: float = 1.0
    min_rounds: int = 5
    max_rounds: Optional[int] = None
    warmup_iterations: int = 0
    disable_gc: bool = False
    #: Processes that share `max_time` and `min_rounds`.
    processes: int = 1

    def shortest_round(self) -> int:
        """ns."""
        return max(SHORTEST_ROUND, round(self.min_time * 1e9))

    def rounds(self, round_ns: int) -> int:
        """Rounds of one process, if each takes about so long."""
        fitting = int(self.max_time * 1e9 / self.processes / max(round_ns, 1))
        least = max(1, math.ceil(self.min_rounds / self.processes))
        most = MOST_ROUNDS if self.max_rounds is None else max(1, self.max_rounds)
        return min(max(fitting, least), most)


class Proposal(NamedTuple):
    """What a process would measure."""

    iterations: int
    rounds: int
    #: Only the thread that calls the function uses a CPU, as far as was seen.
    single: bool
    #: The test chose the numbers itself.
    fixed: bool


class Plan(NamedTuple):
    """What it measures."""

    iterations: int
    rounds: int
    #: CPU that the calling thread is kept on in a round; None: wherever the scheduler puts it.
    cpu: Optional[int] = None


class Conductor:
    """Decides what is measured, and when. This one lets a process measure alone, as it proposes."""

    #: What an earlier process measured.
    known: Optional[Plan] = None

    def agree(self, proposal: Proposal) -> Plan:
        """The plan for a proposal."""
        return Plan(proposal.iterations, proposal.rounds)

    def before_round(self) -> None:
        """Wait for this process's turn."""

    def after_round(self) -> None:
        """Pass the turn on."""

    def after_rounds(self) -> None:
        """Wait until the code after the rounds disturbs nobody."""


@dataclass
class Rounds:
    """The rounds of one process: times of one call, ns, in the order of the rounds."""

    iterations: int
    elapsed: List[float] = field(default_factory=list)
    #: CPU time of the calling thread.
    cpu: List[float] = field(default_factory=list)
    #: Only the calling thread used a CPU, as far as was seen before the rounds.
    single: bool = True
    #: CPU that the rounds were kept on.
    pinned: Optional[int] = None

    def add(self, times: Tuple[int, int]) -> None:
        """A round's elapsed and CPU time, ns."""
        self.elapsed.append(times[0] / self.iterations)
        self.cpu.append(times[1] / self.iterations)


class Job:
    """Calls of a function with the same arguments."""

    most_iterations = MOST_ITERATIONS

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any], disable_gc: bool) -> None:
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        self.disable_gc = disable_gc
        self._kept: List[Any] = []

    def trial(self, iterations: int) -> Tuple[int, int]:
        """Elapsed time and CPU time of so many calls, ns."""
        if iterations > 1:
            return timed(self.function, self.args, self.kwargs, iterations, self.disable_gc)
        function, kept = self.function, self._kept

        # A single call is also the one whose result the test gets. This costs it a Python frame.
        def keep(*args: Any, **kwargs: Any) -> None:
            kept[:] = [function(*args, **kwargs)]

        return timed(keep, self.args, self.kwargs, 1, self.disable_gc)

    def result(self, iterations: int) -> Any:
        """What the function returns: by one more call where a round has several."""
        if iterations == 1 and self._kept:
            return self._kept.pop()
        return self.function(*self.args, **self.kwargs)


class InputJob(Job):
    """Calls of a function each of which gets an input of its own, made before the round."""

    most_iterations = MOST_INPUTS

    def __init__(self, make_input: Setup, function: Callable[[Any], Any], disable_gc: bool) -> None:
        super().__init__(function, (), {}, disable_gc)
        self.make_input = make_input

    def trial(self, iterations: int) -> Tuple[int, int]:
        """As :meth:`Job.trial`; making the inputs and freeing them is not timed."""
        inputs = [self.make_input() for _ in range(iterations)]
        # Each call of `__next__` calls the function with the next input, without a Python frame between.
        return timed(map(self.function, inputs).__next__, (), {}, iterations, self.disable_gc)

    def result(self, iterations: int) -> Any:
        """By one more call."""
        return self.function(self.make_input())


def timed(
    function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], iterations: int, disable_gc: bool
) -> Tuple[int, int]:
    """Elapsed time and the thread's CPU time of so many calls, ns; without tracers, profilers and, if asked, garbage collection."""
    from tarebench import _native

    collecting = gc.isenabled()
    if disable_gc:
        gc.disable()
    try:
        with _no_instrumentation():
            elapsed, cpu = _native.time_calls(function, args, kwargs, iterations)
    finally:
        if disable_gc and collecting:
            gc.enable()
    return elapsed, cpu


@contextmanager
def _no_instrumentation() -> Iterator[None]:
    tracer, profiler = sys.gettrace(), sys.getprofile()
    if tracer is not None:
        sys.settrace(None)
    if profiler is not None:
        sys.setprofile(None)
    try:
        yield
    finally:
        if tracer is not None:
            sys.settrace(tracer)
        if profiler is not None:
            sys.setprofile(profiler)


def automatic(job: Job, limits: Limits, conductor: Conductor) -> Tuple[Rounds, Any]:
    """Measure with as many calls and rounds as fit the limits; the rounds, and what the function returned."""
    watch = _ThreadWatch()
    proposal = _propose(job, limits, conductor.known, watch)
    plan = conductor.agree(proposal)
    rounds = Rounds(plan.iterations, single=proposal.single)
    with _kept_on(plan.cpu) as rounds.pinned:
        for _ in range(plan.rounds):
            conductor.before_round()
            rounds.add(job.trial(plan.iterations))
            conductor.after_round()
    conductor.after_rounds()
    return rounds, job.result(plan.iterations)


def _propose(job: Job, limits: Limits, known: Optional[Plan], watch: _ThreadWatch) -> Proposal:
    shortest = limits.shortest_round()
    iterations = min(known.iterations if known else 1, job.most_iterations)
    # The first calls of a function import, compile and fill caches: their time says nothing.
    elapsed, cpu = job.trial(iterations)
    watch.add(cpu)
    while known is None:
        elapsed, cpu = job.trial(iterations)
        watch.add(cpu)
        if elapsed >= shortest or iterations >= job.most_iterations:
            break
        # A short trial says little about a long one: at most tenfold at once.
        wanted = math.ceil(1.2 * iterations * shortest / max(elapsed, 1))
        iterations = min(max(wanted, iterations + 1), iterations * 10, job.most_iterations)
    warm = 0
    while warm < limits.warmup_iterations:
        watch.add(job.trial(iterations)[1])
        warm += iterations
    rounds = known.rounds if known else limits.rounds(elapsed)
    return Proposal(iterations, rounds, watch.single(), fixed=False)


class Pedantic(NamedTuple):
    """What `benchmark.pedantic` is given."""

    target: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Dict[str, Any]
    setup: Optional[Setup]
    teardown: Optional[Callable[..., Any]]
    rounds: int
    warmup_rounds: int
    iterations: int

    def check(self) -> None:
        """Raise ValueError for numbers that cannot be."""
        for name, value, least in (
            ("iterations", self.iterations, 1),
            ("rounds", self.rounds, 1),
            ("warmup_rounds", self.warmup_rounds, 0),
        ):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"`{name}` is {value!r}: it must be an integer of at least {least}")
        if self.iterations > 1 and self.setup is not None:
            raise ValueError(
                "`setup` runs once before each round, so that `iterations` must be 1 with it; "
                "the fixture `tare` has `with_input`, which makes an input for each call"
            )

    def arguments(self) -> Tuple[Sequence[Any], Dict[str, Any]]:
        """The arguments of a round, from `setup` if it returns some."""
        made = self.setup() if self.setup is not None else None
        if not made:
            return self.args, self.kwargs
        if self.args or self.kwargs:
            raise TypeError("`setup` returns arguments, so that `args` and `kwargs` cannot be given, too")
        args, kwargs = made
        return args, kwargs

    def clean_up(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        """After a round."""
        if self.teardown is not None:
            self.teardown(*args, **kwargs)

    def once(self) -> Any:
        """One call, not timed."""
        args, kwargs = self.arguments()
        result = self.target(*args, **kwargs)
        self.clean_up(args, kwargs)
        return result


def pedantic(call: Pedantic, disable_gc: bool, conductor: Conductor) -> Tuple[Rounds, Any]:
    """Measure exactly the rounds that were asked for; the rounds, and what the target returned.

    The target is called `iterations` times in each round and warm-up round, and once more where `iterations` is above 1.
    """
    watch = _ThreadWatch()
    kept: List[Any] = []

    def one_round() -> Tuple[int, int]:
        args, kwargs = call.arguments()
        job = Job(call.target, args, kwargs, disable_gc)
        times = job.trial(call.iterations)
        if call.iterations == 1:
            kept[:] = [job.result(1)]
        call.clean_up(args, kwargs)
        return times

    for _ in range(call.warmup_rounds):
        watch.add(one_round()[1])
    # Without warm-up rounds nothing is known of its threads.
    single = watch.single() if call.warmup_rounds else False
    plan = conductor.agree(Proposal(call.iterations, call.rounds, single, fixed=True))
    rounds = Rounds(call.iterations, single=single)
    with _kept_on(plan.cpu) as rounds.pinned:
        for _ in range(call.rounds):
            conductor.before_round()
            rounds.add(one_round())
            conductor.after_round()
    conductor.after_rounds()
    return rounds, kept.pop() if kept else call.once()


class _ThreadWatch:
    """Whether other threads or child processes use a CPU while a function is called."""

    def __init__(self) -> None:
        self._start = self._all()
        self._own = 0

    @staticmethod
    def _all() -> Tuple[int, float]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time_ns() - time.thread_time_ns(), children.ru_utime + children.ru_stime

    def add(self, cpu: int) -> None:
        """CPU time of the calling thread in a trial, ns."""
        self._own += cpu

    def single(self) -> bool:
        """No other thread used much, and no child process."""
        others, children = self._all()
        return children == self._start[1] and others - self._start[0] <= (SEVERAL_THREADS - 1) * max(self._own, 1)


@contextmanager
def _kept_on(cpu: Optional[int]) -> Iterator[Optional[int]]:
    """Keep the calling thread on a CPU meanwhile; the CPU. None if that is refused: the thread goes where it may."""
    before: Optional[Set[int]] = None
    if cpu is not None:
        try:
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {cpu})
        except OSError:
            before = None
    try:
        yield cpu if before is not None else None
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)
