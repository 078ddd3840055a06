"""Python code: a block, and the calls of a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

from tarebench import _native
from tarebench._native import Measurement


def measure(of: str = "thread") -> Measurement:
    """Measure a block of Python: ``with tarebench.measure() as m: …``.

    ``of`` is ``"thread"``, the one that runs the block, or ``"process"``, all threads of this process.

    When the block has ended, by an exception too, ``m.et`` is its elapsed time and ``m.pt`` its CPU time, in ns; beside them are
    ``user``, ``system``, ``waiting`` (for a CPU; of a thread only), ``voluntary_switches``, ``involuntary_switches``,
    ``minor_faults`` and ``major_faults``. ``m.net`` and ``m.daemons`` are None: only programs that tare starts are traced.
    ``m.reasons`` says why a figure is None. Entering and leaving the block is a part of its times.

    Raises ValueError for another ``of``, RuntimeError if a figure is asked for before the block has ended.
    """
    if of not in ("thread", "process"):
        raise ValueError(f"of is {of!r}, expected 'thread' or 'process'")
    return Measurement(of == "process")


@dataclass(frozen=True)
class KBest:
    """What a call takes by the K-best scheme; times in ns of one call."""

    #: The time of a call; None if it is known to be too long, see ``reason``.
    ns: float | None
    #: Why ``ns`` is None.
    reason: str | None
    #: "converged", "not_converged", "too_short" for the clock, or "slice_too_short": another process had the CPU in every trial.
    standing: str
    #: Whether the K fastest trials agree.
    converged: bool
    #: The fastest trial.
    fastest_ns: float | None
    #: How far the K fastest are apart, as a share of the fastest.
    spread: float | None
    #: The K fastest trials, ascending.
    best_ns: list[float] | None
    #: Number of trials.
    trials: int
    #: All trials in their order.
    times_ns: list[float]
    #: Calls in each trial.
    repetitions: int
    #: An empty trial of as many calls, as a whole.
    overhead_ns: float
    #: The clock.
    clock: str | None
    #: Its units in a second.
    clock_hz: float


def kbest(
    function: Callable[..., object],
    *args: object,
    kwargs: Mapping[str, object] | None = None,
    k: int | None = None,
    epsilon: float | None = None,
    max_trials: int | None = None,
    min_trials: int | None = None,
    clock: str | None = None,
    repetitions: int | None = None,
    apart: int | None = None,
    cold: bool = False,
    compensate: bool = False,
    less_overhead: bool = False,
) -> KBest:
    """Time ``function(*args, **kwargs)``: trials are made until the ``k`` fastest agree, and the fastest is the result.

    ``epsilon`` is the share by which they may differ (default 0.001), ``k`` is 3, ``max_trials`` 30 by default. A trial holds as many
    calls as the clock needs, or ``repetitions``. ``clock`` is one of counter, monotonic_raw, monotonic, gettimeofday, thread_cpu,
    process_cpu and times. ``apart`` is the least time between the starts of two trials, ns. ``cold`` empties the data caches before
    each trial, ``compensate`` subtracts timer interrupts, ``less_overhead`` subtracts an empty trial: so many calls of a function
    that does nothing.

    An exception of the function, KeyboardInterrupt and SystemExit too, ends the measurement and passes through. Raises ValueError for
    settings that make no sense.
    """
    settings: dict[str, Any] = {
        "k": k,
        "epsilon": epsilon,
        "max_trials": max_trials,
        "min_trials": min_trials,
        "clock": clock,
        "repetitions": repetitions,
        "apart": apart,
        "cold": cold,
        "compensate": compensate,
        "less_overhead": less_overhead,
    }
    return KBest(**_native.kbest(function, args, dict(kwargs or {}), **settings))
