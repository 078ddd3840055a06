"""Gates: whether a change makes programs slower. Every figure here was computed by the Rust library; this only gives it a name."""

from __future__ import annotations

import json
import os
import warnings
from functools import cached_property
from typing import Any, Mapping, Sequence

from tarebench import _native
from tarebench._result import Interrupted, Interval, _interval, _warn_of_children, _word


class GateBenchmark:
    """The result of one benchmark of a gate."""

    def __init__(self, report: dict[str, Any], measured: dict[str, Any]) -> None:
        #: All that the gate says of it, as ``tare gate --json`` has it in ``report``.
        self.report = report
        #: What was measured of it, as ``tare gate --json`` has it in ``gate``.
        self.measured = measured

    def __repr__(self) -> str:
        return f"<tarebench.GateBenchmark: {self.name}, {self.verdict}>"

    @property
    def name(self) -> str:
        """Its name in the suite, or the command."""
        return str(self.report["name"])

    @property
    def verdict(self) -> str:
        """``"pass"``, ``"regression"``, ``"improvement"``, ``"inconclusive"``, or ``"failed"``."""
        return str(self.report["verdict"])

    @property
    def ratio(self) -> float | None:
        """Ratio head / base of the times, above 1 if the head is slower; None without blocks."""
        found = self.report["ratio"]
        return None if found is None else float(found)

    @property
    def interval(self) -> Interval | None:
        """95% interval of the ratio, which holds at all looks together; None with too few blocks."""
        return _interval(self.report["interval"])

    @property
    def blocks(self) -> int:
        """Blocks, each with one ratio."""
        return int(self.report["blocks"])

    @property
    def failed(self) -> str | None:
        """Why it could not be measured; None if it could."""
        found = self.measured["failed"]
        return None if found is None else str(found)


class Gate:
    """A gate: two builds of the same benchmarks, the base and the head, against each other."""

    def __init__(self, native: _native.Gate) -> None:
        self._native = native

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole result, as ``tare gate --json`` has it: ``head``, ``answer``, ``report`` and ``gate``."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    @property
    def report(self) -> dict[str, Any]:
        """The verdicts and what they rest on, as ``tare gate --json`` has them."""
        report: dict[str, Any] = self.document["report"]
        return report

    @property
    def id(self) -> str | None:
        """Its name in the store, e.g. ``"g1"``; None if it is not stored."""
        return str(self.document["id"]) if self._native.number else None

    @property
    def verdict(self) -> str:
        """The worst of its benchmarks: ``"failed"``, ``"regression"``, ``"inconclusive"``, else ``"pass"``."""
        return str(self.report["verdict"])

    @cached_property
    def benchmarks(self) -> list[GateBenchmark]:
        """The benchmarks, in their order."""
        return [GateBenchmark(*both) for both in zip(self.report["benchmarks"], self.document["gate"]["measured"])]

    @property
    def interrupted(self) -> bool:
        """A signal has ended the measurement; what was measured before is here."""
        return self.signal is not None

    @property
    def signal(self) -> int | None:
        """Number of that signal."""
        return self._native.interrupted

    def text(self, width: int = 100) -> str:
        """The result as the command prints it."""
        return self._native.text(width)

    def markdown(self) -> str:
        """The summary of ``tare gate --summary``."""
        return self._native.markdown()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<tarebench.Gate {self.id or 'not stored'}: {self.verdict}>"


def gate(
    commands: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    suite: str | os.PathLike[str] | None = None,
    base: str | None = None,
    base_dir: str | os.PathLike[str] | None = None,
    head: str | os.PathLike[str] = ".",
    names: Sequence[str] = (),
    build: str | None = None,
    setup: str | None = None,
    prepare: str | None = None,
    conclude: str | None = None,
    cleanup: str | None = None,
    threshold: float | str | None = None,
    budget: float | str | None = None,
    max_blocks: int | None = None,
    control: bool | None = None,
    measure: str | None = None,
    timeout: float | str | None = None,
    cpus: int | str | None = None,
    env: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    db: str | os.PathLike[str] | None = None,
    on_interrupt: str = "return",
) -> Gate:
    """Decide whether a change makes programs slower, as the command ``tare gate`` does, and store what was measured.

    The head is what is in the folder ``head``. It is compared with the commit at which the revision ``base`` and HEAD have gone different
    ways, in a work tree of its own, or with the folder ``base_dir``. The shell command ``build`` runs in both folders; its output goes
    to standard error. Then both builds are measured together, block by block, until every benchmark is decided.

    The benchmarks are ``commands``, each a program with its arguments in one string, or those of the file ``suite``; ``names`` are the
    names of the first commands. ``setup`` and ``cleanup`` run before the first and after the last execution of each build, ``prepare``
    and ``conclude`` before and after each execution. What the suite says of a benchmark itself goes before what is given here.

    ``threshold`` is the largest slowdown that passes, a share or ``"2%"`` (the default). ``budget``, for measuring, and ``timeout``, of an
    execution, are seconds or ``"10min"``. ``max_blocks`` is 100 and ``control`` True by default. ``measure`` is ``"cpu"`` or
    ``"elapsed"``, by default what suits the programs. ``db="none"`` stores nothing.

    The first Ctrl-C while it measures ends the measurement, and what was measured is returned with ``interrupted`` set; with
    ``on_interrupt="raise"``, :class:`Interrupted` (a KeyboardInterrupt) is raised, whose ``result`` it is.

    Raises TareError with the command's sentence for what prevents the measurement, a failing build too; a program that fails is in the
    result. Raises ValueError for a value that makes no sense, TypeError for arguments that exclude each other.
    """
    if on_interrupt not in ("return", "raise"):
        raise ValueError(f"on_interrupt is {on_interrupt!r}, expected 'return' or 'raise'")
    if isinstance(commands, (str, os.PathLike)):
        commands = [commands]
    if suite is not None and (commands or names):
        raise TypeError("give commands and names, or a suite, which has both")
    if base is not None and base_dir is not None:
        raise TypeError("give base or base_dir, not both")
    _warn_of_children()
    native = _native.gate(
        [os.fspath(command) for command in commands],
        suite,
        base,
        base_dir,
        head,
        db,
        names=list(names),
        build=build,
        setup=setup,
        prepare=prepare,
        conclude=conclude,
        cleanup=cleanup,
        threshold=_written("threshold", threshold),
        budget=_written("budget", budget),
        max_blocks=max_blocks,
        control=control,
        measure=measure,
        timeout=_written("timeout", timeout),
        cpus=_written("cpus", cpus),
        env=None if env is None else dict(env),
        tags=None if tags is None else dict(tags),
    )
    for trouble in native.warnings:
        warnings.warn(trouble, RuntimeWarning, stacklevel=2)
    result = Gate(native)
    if result.interrupted and on_interrupt == "raise":
        raise Interrupted(result)
    return result


def _written(name: str, value: object) -> str | None:
    return None if value is None else _word(name, value)
