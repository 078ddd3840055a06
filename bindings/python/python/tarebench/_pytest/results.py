"""What was measured of a benchmark, and what the native library says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

import pytest

from .channel import Message, plain
from .engine import Rounds
from .settings import FEWEST_BLOCKS, Settings

#: Share of elapsed time that must be CPU time of the calling thread for CPU time to be compared.
COMPUTES = 0.9


@dataclass(frozen=True)
class Title:
    """How a benchmark is called."""

    nodeid: str
    name: str
    param: Optional[str]
    params: Optional[Dict[str, Any]]

    @staticmethod
    def of(item: pytest.Item) -> Title:
        """That of a test."""
        spec = getattr(item, "callspec", None)
        if spec is None:
            return Title(item.nodeid, item.name, None, None)
        return Title(item.nodeid, item.name, spec.id, dict(spec.params))


@dataclass
class Times:
    """One process: times of one call in each round, ns."""

    iterations: int
    elapsed: List[float]
    #: CPU time of the calling thread.
    cpu: List[float]
    #: CPU that the rounds were kept on.
    pinned: Optional[int] = None
    #: The process's hash seed; None for pytest's own process.
    hash_seed: Optional[int] = None
    #: When the process began, seconds since 1970.
    began: Optional[float] = None

    @staticmethod
    def of(rounds: Rounds) -> Times:
        """Those of this process."""
        return Times(rounds.iterations, rounds.elapsed, rounds.cpu, rounds.pinned)

    def message(self) -> Message:
        """As JSON."""
        return dict(vars(self))

    @staticmethod
    def from_message(message: Message) -> Times:
        """The reverse of :meth:`message`."""
        return Times(**message)


@dataclass
class Record:
    """A benchmark: one of :attr:`head` for each process, and one of :attr:`base` for each block."""

    title: Title
    group: Optional[str] = None
    extra_info: Dict[str, Any] = field(default_factory=dict)
    marker: Dict[str, Any] = field(default_factory=dict)
    head: List[Times] = field(default_factory=list)
    base: List[Times] = field(default_factory=list)
    #: Reports of the test's first process, or of the first one that failed, as pytest serialises them.
    reports: List[Message] = field(default_factory=list)
    #: Why it has no times, or not all; one line.
    failed: Optional[str] = None
    #: What its process printed last, if it ended.
    log: Optional[str] = None
    #: Why it has no times of the base.
    no_base: Optional[str] = None

    def message(self) -> Message:
        """As JSON."""
        message = dict(vars(self))
        message.update(
            title=plain(vars(self.title)),
            extra_info=plain(self.extra_info),
            marker=plain(self.marker),
            head=[times.message() for times in self.head],
            base=[times.message() for times in self.base],
        )
        return message

    @property
    def threshold(self) -> Optional[float]:
        """The marker's."""
        return self.marker.get("threshold")


def process_values(processes: List[Times], measure: str) -> List[float]:
    """The mean of each process's rounds, ns: processes are the unit, as the rounds of one share its memory layout and hash seed."""
    from tarebench import _native

    return [_native.summarise(getattr(times, measure))["mean"] for times in processes]


def figures(processes: List[Times], measure: str) -> Optional[Dict[str, Any]]:
    """`_native.summarise` of the processes, ns; None without any.

    Of a single process it is that of its rounds, without an interval: how far processes differ is not known then.
    """
    from tarebench import _native

    if not processes:
        return None
    if len(processes) > 1:
        return _native.summarise(process_values(processes, measure))
    return {**_native.summarise(getattr(processes[0], measure)), "interval": None}


def compared_measure(record: Record, settings: Settings) -> str:
    """By what a benchmark is compared: CPU time if both sides compute nearly all of the time, else elapsed time."""
    wanted: str = record.marker.get("measure", settings.measure)
    if wanted != "auto":
        return wanted
    sides = (record.head, record.base)
    computes = all(sum(map(sum, (t.cpu for t in side))) >= COMPUTES * sum(map(sum, (t.elapsed for t in side))) for side in sides)
    return "cpu" if computes else "elapsed"


@dataclass
class Verdict:
    """What the comparison of a benchmark with its base says."""

    #: slower, faster, same, inconclusive, failed, or `no base`.
    verdict: str
    threshold: float
    measure: Optional[str] = None
    #: What `_native.compare_blocks` gave.
    comparison: Optional[Dict[str, Any]] = None
    #: Why nothing was compared.
    reason: Optional[str] = None


def verdicts(records: List[Record], settings: Settings) -> List[Verdict]:
    """One for each record; those of the family of all that were compared, as the gate decides them."""
    from tarebench import _native

    found = [_alone(record, settings) for record in records]
    compared = [(verdict, verdict.comparison) for verdict in found if verdict.comparison is not None]
    for (verdict, _), together in zip(compared, _native.gate_verdicts([comparison for _, comparison in compared])):
        verdict.verdict = together
    return found


def _alone(record: Record, settings: Settings) -> Verdict:
    from tarebench import _native

    threshold = settings.threshold if record.threshold is None else record.threshold
    if record.failed is not None:
        return Verdict("failed", threshold, reason=record.failed)
    if record.no_base is not None:
        return Verdict("no base", threshold, reason=record.no_base)
    if len(record.head) != len(record.base) or len(record.head) < FEWEST_BLOCKS:
        reason = f"only {min(len(record.head), len(record.base))} blocks were measured"
        return Verdict("inconclusive", threshold, reason=reason)
    measure = compared_measure(record, settings)
    new, base = process_values(record.head, measure), process_values(record.base, measure)
    try:
        comparison = _native.compare_blocks(new, base, threshold)
    except ValueError as e:
        # A time of 0: less than the clock counts has no ratio.
        return Verdict("inconclusive", threshold, measure, reason=str(e))
    return Verdict(comparison["verdict"], threshold, measure, comparison)


def suite_exit(found: List[Verdict], settings: Settings) -> Tuple[int, Optional[str]]:
    """The gate's exit code for a session whose tests passed, and the sentence for it: docs/gate.md."""
    names = [verdict.verdict for verdict in found]
    if "failed" in names:
        return 1, "a benchmark failed"
    if "slower" in names:
        return 5, f"regression: {names.count('slower')} of {len(names)} benchmarks {'is' if names.count('slower') == 1 else 'are'} slower"
    if "inconclusive" in names and settings.inconclusive_fails:
        return 6, f"inconclusive: {names.count('inconclusive')} of {len(names)} benchmarks undecided"
    return 0, None
