"""Runs: measuring them, and what they say. Every figure here was computed by the Rust library; this only gives it a name."""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

from tarebench import _native
from tarebench._samples import Samples
from tarebench._signals import signal_name

if TYPE_CHECKING:
    from tarebench._gate import Gate
    from tarebench._notebook import Figure


class Interrupted(KeyboardInterrupt):
    """A signal has ended a measurement; ``result`` is the run or the gate with what was measured before."""

    def __init__(self, result: Run | Gate) -> None:
        super().__init__(f"interrupted by {signal_name(result.signal)}")
        self.result = result


class Interval(NamedTuple):
    """An interval of confidence."""

    low: float
    high: float
    #: Confidence, e.g. 0.95.
    level: float


def _interval(found: Mapping[str, Any]) -> Interval | None:
    """Of a result as the report has it: with the interval, or with the reason why there is none."""
    known = found.get("Ok")
    return None if known is None else Interval(known["low"], known["high"], known["level"])


@dataclass(frozen=True)
class Measure:
    """Statistics of one time of a program over the retained samples, ns."""

    #: Counted samples that have a value, discarded ones included.
    samples: int
    #: Retained samples.
    retained: int
    discarded_by_cutoff: int
    discarded_by_sigma: int
    mean: float
    median: float
    #: None for a single sample.
    std_dev: float | None
    #: Standard deviation divided by mean.
    relative_error: float | None
    min: float
    max: float
    #: 95% interval of the mean; None with too few samples.
    interval: Interval | None
    #: 95% interval of the median.
    median_interval: Interval | None
    #: At least half of the samples were retained.
    trustworthy: bool

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> Measure:
        return cls(
            samples=found["samples"],
            retained=found["retained"],
            discarded_by_cutoff=found["discarded_by_cutoff"],
            discarded_by_sigma=found["discarded_by_sigma"],
            mean=found["mean"],
            median=found["median"],
            std_dev=found["std_dev"],
            relative_error=found["relative_error"],
            min=found["min"],
            max=found["max"],
            interval=_interval(found["mean_interval"]),
            median_interval=_interval(found["median_interval"]),
            trustworthy=found["trustworthy"],
        )


class Series:
    """The result of one program."""

    def __init__(self, report: dict[str, Any]) -> None:
        #: All that the report says of the program, as ``tare show --json`` has it.
        self.report = report

    def __repr__(self) -> str:
        return f"<tarebench.Series: {self.name}, {self.counted} samples>"

    @property
    def name(self) -> str:
        """What tables call the program."""
        return str(self.report["program"]["label"])

    @property
    def parameters(self) -> dict[str, str]:
        """Values of the program's parameters."""
        return dict(self.report["program"]["parameters"])

    @property
    def counted(self) -> int:
        """Counted samples, whatever their outcome."""
        return int(self.report["counted"])

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Executions that failed."""
        return list(self.report["failures"])

    @property
    def pt(self) -> Measure | None:
        """Process time: CPU time of the program with all its descendants; None if no sample has one."""
        return self._measure("pt")

    @property
    def et(self) -> Measure | None:
        """Elapsed time."""
        return self._measure("et")

    @property
    def net(self) -> Measure | None:
        """Net time: process time minus the interrupt, softirq and steal time that was charged to the program."""
        return self._measure("net")

    def _measure(self, name: str) -> Measure | None:
        found = self.report[name].get("value")
        return None if found is None else Measure._of(found)

    @property
    def reasons(self) -> dict[str, str]:
        """Why ``pt``, ``et`` or ``net`` is None, by name."""
        absent = {name: self.report[name].get("absent") for name in ("pt", "et", "net")}
        return {name: str(why["detail"]) for name, why in absent.items() if why is not None}


class Comparison:
    """One program against another: the ratio of their times, program / reference; above 1 if the program is slower."""

    def __init__(self, report: dict[str, Any]) -> None:
        #: All that the report says of the two, as ``tare show --json`` has it.
        self.report = report

    def __repr__(self) -> str:
        return f"<tarebench.Comparison: {self.ratio:.4g}, {self.verdict}>"

    @property
    def series(self) -> int:
        """Index of the program."""
        return int(self.report["series"])

    @property
    def reference(self) -> int:
        """Index of the reference."""
        return int(self.report["reference"])

    @property
    def ratio(self) -> float:
        """Ratio of the times."""
        return float(self.report["ratio"])

    @property
    def interval(self) -> Interval | None:
        """95% interval of the ratio; None with too few pairs."""
        return _interval(self.report["interval"])

    @property
    def verdict(self) -> str:
        """``"faster"``, ``"slower"``, ``"same"`` (within the margin), or ``"undecided"``."""
        return str(self.report["verdict"])

    @property
    def measure(self) -> str:
        """What was compared: ``"pt"``, ``"et"`` or ``"net"``."""
        return str(self.report["measure"])

    @property
    def basis(self) -> str:
        """``"duets"`` (both ran at once) or ``"alone"``."""
        return str(self.report["basis"])

    @property
    def pairs(self) -> int:
        """Pairs of samples, or duets, used."""
        return int(self.report["pairs"])


class Run:
    """A run of programs."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native

    @cached_property
    def report(self) -> dict[str, Any]:
        """The whole report without samples, as ``tare show --json`` has it."""
        report: dict[str, Any] = json.loads(self._native.report_json())["report"]
        return report

    @property
    def id(self) -> int | None:
        """Number in the store; None if the run is not stored."""
        return self._native.id or None

    @property
    def uuid(self) -> str:
        """Identity across stores, 32 hex digits."""
        return str(self.report["run"]["uuid"])

    @property
    def interrupted(self) -> bool:
        """A signal has ended the measurement; what was measured before is here."""
        return self.signal is not None

    @property
    def signal(self) -> int | None:
        """Number of that signal."""
        return self._native.interrupted

    @property
    def stopped(self) -> str | None:
        """Why the measurement ended early, other than by a signal."""
        return self._native.stopped

    @property
    def failed_cleanups(self) -> list[str]:
        """The cleanup commands that failed, and how."""
        return self._native.failed_cleanups

    @cached_property
    def series(self) -> list[Series]:
        """The programs, in their order."""
        return [Series(found) for found in self.report["series"]]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Each program against the reference, where they have a ratio."""
        return [Comparison(found) for found in self.report["comparisons"]]

    @property
    def remarks(self) -> list[str]:
        """What the reader should know of this run."""
        return [str(remark["text"]) for remark in self.report["remarks"]]

    def compare(self, program: int | str, reference: int | str) -> Comparison:
        """A program against another, each by its index or its name.

        Duets were measured with the run's reference only: other pairs are compared by executions alone. Raises LookupError if there
        is no such program, ValueError if the two have no ratio.
        """
        one, other = self._index(program), self._index(reference)
        found = None if one == other else self._native.compare_json(one, other)
        if found is None:
            raise ValueError(f"programs {one} and {other} have no ratio: they must differ, and both need samples of the same rounds")
        return Comparison(json.loads(found))

    def _index(self, program: int | str) -> int:
        names = [series.name for series in self.series]
        if isinstance(program, str):
            if names.count(program) != 1:
                raise LookupError(f"{names.count(program)} programs are called {program!r}, expected one of {names}")
            return names.index(program)
        if not 0 <= program < len(names):
            raise LookupError(f"there is no program {program}: expected 0 to {len(names) - 1}")
        return program

    def samples(self) -> Samples:
        """All samples, in columns."""
        return Samples(self._native.samples())

    def text(self, width: int = 100, full: bool = False) -> str:
        """The result as the command prints it; with ``full`` everything."""
        return self._native.text(width, full)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        which = "not stored" if self.id is None else str(self.id)
        return f"<tarebench.Run {which}: {', '.join(series.name for series in self.series)}>"

    def html(self) -> str:
        """The page of ``tare report``: one HTML document that loads nothing."""
        return self._native.page()

    def figures(self) -> dict[str, str]:
        """The figures of ``tare report --svg``: SVG by file name."""
        return dict(self._native.figures())

    def plot(self, kind: str = "sequence", series: int | str = 0, ax: Any = None) -> Any:
        """Draw the samples of a program: ``kind`` is ``"sequence"`` (by number) or ``"histogram"``.

        With matplotlib, draws into ``ax`` (default: new axes) and returns these axes. Without it, returns a
        :class:`~tarebench._notebook.Figure` with the SVG, which notebooks show. Also kinds ``"account"`` and ``"scatter"``, always as
        SVG. Raises ValueError for another kind, or if the program has nothing to draw, LookupError if there is no such program.
        """
        from tarebench import _notebook

        return _notebook.plot(self, kind, self._index(series), ax)

    def figure(self, kind: str = "sequence", series: int | str = 0) -> Figure:
        """As :meth:`plot`, always as SVG."""
        from tarebench import _notebook

        return _notebook.figure(self, kind, self._index(series))

    def _repr_html_(self) -> str:
        from tarebench import _notebook

        return _notebook.html(self)


def run(
    commands: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    argv: Sequence[str | os.PathLike[str]] | None = None,
    progress: bool | None = None,
    on_interrupt: str = "return",
    **options: Any,
) -> Run:
    """Measure programs as the command ``tare run`` does, and store the samples.

    ``commands`` is a program with its arguments as one string, or a sequence of such strings; ``argv`` instead is one program and its
    arguments, unchanged. ``options`` are the command's, with underscores: ``runs=20, order="duet", cpus="1"``. True gives an option
    without a value; None and False leave it out; a list gives it once for each value; a dictionary of ``env``, ``metric`` or ``tag``
    gives KEY=VALUE; ``parameter_list={"level": [1, 9]}`` and ``parameter_scan=("n", 1, 8)`` give the parameters. ``db="none"``
    stores nothing.

    ``progress`` draws the progress on standard error (default: if that is a terminal). Other Python threads run on meanwhile; only one
    thread of a process can measure at a time.

    The first Ctrl-C ends the measurement after the current sample is stored, and what was measured is returned with ``interrupted``
    set; with ``on_interrupt="raise"``, :class:`Interrupted` (a KeyboardInterrupt) is raised, whose ``result`` it is. Python's signal
    handlers are back afterwards.

    Raises TareError with the command's sentence for what prevents the first sample; a program that fails is in the result.
    """
    if on_interrupt not in ("return", "raise"):
        raise ValueError(f"on_interrupt is {on_interrupt!r}, expected 'return' or 'raise'")
    words = [*_options(options), *_programs(commands, argv)]
    if progress is None:
        # The native part writes to the process's standard error, whatever sys.stderr is.
        progress = sys.__stderr__ is not None and sys.__stderr__.isatty()
    _warn_of_children()
    native = _native.run(words, progress)
    for trouble in (native.stopped, native.not_restored, *native.failed_cleanups):
        if trouble is not None:
            warnings.warn(trouble, RuntimeWarning, stacklevel=2)
    result = Run(native)
    if result.interrupted and on_interrupt == "raise":
        raise Interrupted(result)
    return result


def _warn_of_children() -> None:
    """To be called by what the user calls."""
    if _native.children():
        text = "this process has children: those that end while tare measures are reaped by it, and their exit status is lost"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _programs(
    commands: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    argv: Sequence[str | os.PathLike[str]] | None,
) -> list[str]:
    """The words that name the programs."""
    if isinstance(commands, (str, os.PathLike)):
        commands = [commands]
    if argv is None:
        return [os.fspath(command) for command in commands]
    if commands:
        raise TypeError("give commands or argv, not both")
    if isinstance(argv, (str, os.PathLike)):
        raise TypeError("argv is one string: expected the program and its arguments, one by one")
    return ["--", *(os.fspath(word) for word in argv)]


def _options(options: Mapping[str, Any]) -> list[str]:
    """The words of the command's options."""
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif name == "parameter_list":
            words += _parameter_lists(option, value)
        elif name == "parameter_scan":
            words += [option, *(_word(name, part) for part in value)]
        elif name == "ignore_failure" and isinstance(value, (list, tuple)):
            words.append(f"{option}={','.join(_word(name, code) for code in value)}")
        elif isinstance(value, Mapping):
            words += [f"{option}={_word(name, key)}={_word(name, one)}" for key, one in value.items()]
        elif isinstance(value, (list, tuple)):
            words += [f"{option}={_word(name, one)}" for one in value]
        else:
            words.append(f"{option}={_word(name, value)}")
    return words


def _parameter_lists(option: str, lists: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for variable, values in lists.items():
        texts = [_word(variable, value) for value in values]
        if any("," in text for text in texts):
            raise ValueError(f"a value of the parameter {variable} contains a comma, which separates values")
        words += [option, variable, ",".join(texts)]
    return words


def _word(name: str, value: object) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{name}: {value!r} is a {type(value).__name__}, expected a string, a number or a path")
