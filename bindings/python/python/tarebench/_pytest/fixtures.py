"""The fixtures `benchmark` and `tare`."""

from __future__ import annotations

import inspect
import unittest
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

import pytest

from . import settings as options
from .engine import (
    Conductor,
    FixtureAlreadyUsed,
    InputJob,
    Job,
    Limits,
    Pedantic,
    Rounds,
    Setup,
    automatic,
    pedantic,
)
from .results import Times, Title

#: Arguments of the marker `benchmark` that set something; the others of pytest-benchmark and pytest-codspeed are accepted.
_BENCHMARK_MARKER = {"group", "min_time", "max_time", "min_rounds", "max_rounds", "warmup", "warmup_iterations", "disable_gc"}
_BENCHMARK_ACCEPTED = {"timer", "calibration_precision", "cprofile"}
#: Arguments of the marker `tare`.
_TARE_MARKER = {"group", "min_time", "max_time", "min_rounds", "max_rounds", "disable_gc", "threshold", "measure"}

_WARMUP_ITERATIONS = 100_000


def has_fixture(item: pytest.Item) -> bool:
    """The test uses one of the fixtures."""
    names = getattr(item, "fixturenames", ())
    return any(name in names for name in ("benchmark", "codspeed_benchmark", "tare"))


def marked_whole(item: pytest.Item) -> bool:
    """The whole test is a benchmark, as pytest-codspeed has it: marked, without a fixture."""
    if has_fixture(item) or not isinstance(item, pytest.Function):
        return False
    # Those of unittest are called by unittest, a coroutine by the plugin that knows its event loop.
    if issubclass(item.cls or object, unittest.TestCase) or inspect.iscoroutinefunction(item.obj):
        return False
    return any(item.get_closest_marker(mark) for mark in ("benchmark", "codspeed_benchmark", "tare"))


def is_benchmark(item: pytest.Item) -> bool:
    """Something in it is measured."""
    return has_fixture(item) or marked_whole(item)


def marker_arguments(item: pytest.Item) -> Dict[str, Any]:
    """What the markers of a test say; those of `tare` come first. pytest.UsageError for what no marker can say."""
    merged: Dict[str, Any] = {}
    known = _BENCHMARK_MARKER | _BENCHMARK_ACCEPTED
    for name, allowed in (("benchmark", known), ("codspeed_benchmark", known), ("tare", _TARE_MARKER)):
        mark = item.get_closest_marker(name)
        if mark is None:
            continue
        unknown = sorted(set(mark.kwargs) - allowed)
        if mark.args or unknown:
            said = f"has no argument {unknown[0]!r}" if unknown else "has named arguments only"
            raise pytest.UsageError(f"{item.nodeid}: the marker `{name}` {said}; it has {', '.join(sorted(allowed))}")
        merged.update(mark.kwargs)
    if "threshold" in merged:
        try:
            merged["threshold"] = options.fraction(str(merged["threshold"]))
        except ValueError:
            raise pytest.UsageError(f"{item.nodeid}: threshold={merged['threshold']!r} is not a share such as '2%' or 0.02") from None
    if merged.get("measure", "auto") not in ("auto", "cpu", "elapsed"):
        raise pytest.UsageError(f"{item.nodeid}: measure={merged['measure']!r} is none of 'auto', 'cpu', 'elapsed'")
    return merged


def limits(config: pytest.Config, marker: Dict[str, Any], processes: int) -> Limits:
    """What the marker says, else the command line, else the defaults."""

    def choose(name: str, default: Any) -> Any:
        if marker.get(name) is not None:
            return marker[name]
        value = options.benchmark_option(config, name)
        return default if value is None else value

    default = Limits()
    warmup = choose("warmup", "auto")
    # pytest-benchmark warms up by itself on PyPy only; tare always has one round that is not counted.
    warm = warmup is True or warmup in ("on", "yes", "true")
    return Limits(
        min_time=float(choose("min_time", default.min_time)),
        max_time=float(choose("max_time", default.max_time)),
        min_rounds=int(choose("min_rounds", default.min_rounds)),
        max_rounds=marker.get("max_rounds"),
        warmup_iterations=int(choose("warmup_iterations", _WARMUP_ITERATIONS)) if warm else 0,
        disable_gc=bool(choose("disable_gc", False)),
        processes=processes,
    )


class Use:
    """What the fixtures of a test share: the test measures one thing."""

    def __init__(self, item: pytest.Item, conductor: Optional[Conductor], processes: int) -> None:
        self.title = Title.of(item)
        self.marker = marker_arguments(item)
        self.limits = limits(item.config, self.marker, processes)
        #: None: call once, measure nothing.
        self.conductor = conductor
        self.group: Optional[str] = self.marker.get("group")
        self.extra_info: Dict[str, Any] = {}
        self.mode: Optional[str] = None
        self.rounds: Optional[Rounds] = None
        self.failed = False

    def begin(self, mode: str) -> None:
        """FixtureAlreadyUsed, if something was measured before."""
        if self.mode is not None:
            self.failed = True
            raise FixtureAlreadyUsed(f"a test measures one thing: {self.mode} was called before {mode}")
        self.mode = mode

    def automatic(self, job: Job) -> Any:
        """Measure, and return what the function returned."""
        try:
            if self.conductor is None:
                return job.result(0)
            self.rounds, result = automatic(job, self.limits, self.conductor)
            return result
        except BaseException:
            self.failed = True
            raise

    def pedantic(self, call: Pedantic) -> Any:
        """Likewise, with the rounds that the test asks for."""
        try:
            call.check()
            if self.conductor is None:
                return call.once()
            self.rounds, result = pedantic(call, self.limits.disable_gc, self.conductor)
            return result
        except BaseException:
            self.failed = True
            raise

    def times(self) -> Optional[Times]:
        """What was measured; None if nothing was, or it failed."""
        return None if self.rounds is None or self.failed else Times.of(self.rounds)


class Stats:
    """Figures of the rounds of this process, as pytest-benchmark's: seconds, of one call.

    They are attributes and items: `stats.mean`, `stats["mean"]`. What is not defined, as the deviation of one round, is None.
    """

    _NAMES = {"min": "minimum", "max": "maximum", "mean": "mean", "stddev": "stddev", "median": "median", "q1": "q1", "q3": "q3"}

    def __init__(self, rounds: Rounds, owner: Use) -> None:
        self._rounds = rounds
        self._owner = owner
        self._figures: Optional[Dict[str, Any]] = None

    @property
    def stats(self) -> Stats:
        """pytest-benchmark has the figures one level lower."""
        return self

    @property
    def data(self) -> List[float]:
        """Elapsed time of each round for one call, s."""
        return [ns / 1e9 for ns in self._rounds.elapsed]

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self._rounds.elapsed)

    @property
    def iterations(self) -> int:
        """Calls of a round."""
        return self._rounds.iterations

    @property
    def extra_info(self) -> Dict[str, Any]:
        """As the fixture's."""
        return self._owner.extra_info

    def __getattr__(self, name: str) -> Optional[float]:
        if name not in self._NAMES:
            raise AttributeError(name)
        if self._figures is None:
            from tarebench import _native

            self._figures = _native.summarise(self._rounds.elapsed)
        value = self._figures[self._NAMES[name]]
        return None if value is None else value / 1e9

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        """As that of a dict."""
        try:
            return self[name]
        except KeyError:
            return default


class _Fixture:
    """What both fixtures have."""

    def __init__(self, use: Use) -> None:
        self._use = use

    @property
    def name(self) -> str:
        """Name of the test, with its parameters."""
        return self._use.title.name

    @property
    def fullname(self) -> str:
        """Node id of the test."""
        return self._use.title.nodeid

    @property
    def param(self) -> Optional[str]:
        """Id of the test's parameters; None without any."""
        return self._use.title.param

    @property
    def params(self) -> Optional[Dict[str, Any]]:
        """The test's parameters; None without any."""
        return self._use.title.params

    @property
    def group(self) -> Optional[str]:
        """Tests of a group are shown together."""
        return self._use.group

    @group.setter
    def group(self, value: Optional[str]) -> None:
        self._use.group = value

    @property
    def extra_info(self) -> Dict[str, Any]:
        """Whatever the test wants to keep with its times."""
        return self._use.extra_info

    @extra_info.setter
    def extra_info(self, value: Dict[str, Any]) -> None:
        self._use.extra_info = value

    @property
    def disabled(self) -> bool:
        """Nothing is measured: the function is called once."""
        return self._use.conductor is None

    @property
    def enabled(self) -> bool:
        """The opposite of `disabled`."""
        return not self.disabled

    @property
    def stats(self) -> Optional[Stats]:
        """Figures of this process; None before something is measured."""
        return None if self._use.rounds is None else Stats(self._use.rounds, self._use)


class BenchmarkFixture(_Fixture):
    """The fixture `benchmark`: pytest-benchmark's, measured by tare.

    `benchmark(function, *args, **kwargs)` measures a function and returns what it returns; as a decorator, too.
    """

    @property
    def has_error(self) -> bool:
        """What was measured raised an exception."""
        return self._use.failed

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._use.begin("benchmark(…)")
        return self._use.automatic(Job(function_to_benchmark, args, kwargs, self._use.limits.disable_gc))

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Optional[Dict[str, Any]] = None,
        setup: Optional[Setup] = None,
        teardown: Optional[Callable[..., Any]] = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """Measure `target` with exactly so many rounds, in each process.

        `setup()` runs before each round and may return `(args, kwargs)`; `teardown(*args, **kwargs)` runs after it.
        Returns what the target returned. ValueError for numbers that cannot be, and for `setup` with several iterations.
        """
        self._use.begin("benchmark.pedantic(…)")
        return self._use.pedantic(Pedantic(target, args, kwargs or {}, setup, teardown, rounds, warmup_rounds, iterations))

    def weave(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Not provided: NotImplementedError."""
        raise NotImplementedError(
            "benchmark.weave is not provided under --tare: call the function by benchmark(…), or run this test without --tare"
        )

    patch = weave


class TareFixture(_Fixture):
    """The fixture `tare`.

    `tare(function, *args, **kwargs)` measures a function and returns what it returns; as a decorator, too.
    """

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._use.begin("tare(…)")
        return self._use.automatic(Job(function, args, kwargs, self._use.limits.disable_gc))

    def with_input(self, make_input: Setup, function: Callable[[Any], Any]) -> Any:
        """Measure `function(make_input())`, without the time of `make_input`.

        Each call has an input of its own, also where a round has many calls; their inputs are made before the round. Returns
        what the function returned.
        """
        self._use.begin("tare.with_input(…)")
        return self._use.automatic(InputJob(make_input, function, self._use.limits.disable_gc))
