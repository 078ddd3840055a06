"""Options of the plugin, and those of pytest-benchmark that it understands where that is not installed."""

from __future__ import annotations

import importlib.util
import os
import random
from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

import pytest

#: Processes of each benchmark; with a base, blocks of one process of each side.
PROCESSES = 10
BLOCKS = 24
#: What a benchmark may be slower by.
THRESHOLD = 0.02
#: Fewest blocks that have an interval.
FEWEST_BLOCKS = 6

# pytest-benchmark's options. A suite's configuration may have any of them; only those of `_HONOURED` do something here.
_WITH_VALUE = (
    "min-time", "max-time", "min-rounds", "timer", "calibration-precision", "warmup-iterations", "save", "json", "cprofile",
    "cprofile-loops", "cprofile-top", "storage", "sort", "group-by", "columns", "name", "time-unit", "project-name",
)  # fmt: skip
_WITH_OPTIONAL_VALUE = ("warmup", "compare", "cprofile-dump", "netrc", "histogram")
_FLAGS = ("disable-gc", "skip", "disable", "enable", "only", "autosave", "save-data", "verbose", "quiet")
_HONOURED = (
    "min-time", "max-time", "min-rounds", "warmup-iterations", "json", "warmup", "disable-gc", "skip", "disable", "enable", "only",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What was asked for on the command line."""

    enabled: bool
    inprocess: bool
    processes: int
    base: Optional[str]
    base_python: Optional[str]
    base_install: Optional[str]
    threshold: float
    inconclusive_fails: bool
    measure: str
    seed: int
    cpu: Optional[int]
    json: Optional[str]
    pyperf: Optional[str]

    @property
    def unit(self) -> str:
        """What the number of processes counts."""
        return "blocks" if self.base is not None else "processes"


def fraction(text: str) -> float:
    """`2%` or `0.02` as 0.02; ValueError for what is no share of at least 0."""
    value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if not 0 <= value < 10:
        raise ValueError(text)
    return value


def add_options(parser: pytest.Parser, manager: pytest.PytestPluginManager) -> None:
    """Add all options."""
    group = parser.getgroup("tare", "benchmarks measured by tare")
    add = group.addoption
    add("--tare", action="store_true", help="Measure benchmarks (fixtures `tare` and `benchmark`), each in several fresh processes")
    add("--tare-inprocess", action="store_true", help="Measure in this process alone: a quick look, without intervals")
    add("--tare-processes", metavar="N", type=int, help=f"Processes of each benchmark ({PROCESSES}); with --tare-base, blocks ({BLOCKS})")
    add("--tare-base", metavar="DIR|REV", help="Compare with another checkout, or with git's merge base of REV and HEAD, in blocks")
    add("--tare-base-python", metavar="FILE", help="Python of the base (DIR/.venv/bin/python, else a virtual environment made for it)")
    add("--tare-base-install", metavar="COMMAND", help="Installs the base into that environment, in its folder, by the shell")
    add("--tare-threshold", metavar="SHARE", default=str(THRESHOLD), help="What a benchmark may be slower by (2%%)")
    add("--tare-inconclusive", choices=("pass", "fail"), default="pass", help="What an undecided comparison counts as (pass)")
    measures = ("auto", "cpu", "elapsed")
    add("--tare-measure", choices=measures, default="auto", help="What is compared: CPU time of the calling thread, or elapsed time")
    # Drawn here, so that the workers of pytest-xdist have that of the process that started them.
    seed = random.SystemRandom().randrange(2**32)
    add("--tare-seed", metavar="N", type=int, default=seed, help="Seed of the hash seeds and of the order in blocks (another one each time)")
    add("--tare-cpu", metavar="N", type=int, help="Keep the calling thread on this CPU while it is timed")
    add("--tare-json", metavar="FILE", help="Write all times and results as JSON")
    add("--tare-pyperf", metavar="FILE", help="Write pyperf's JSON; with --tare-base, the base's to FILE with .base before its ending")
    if not from_pytest_benchmark(manager):
        _add_benchmark_options(parser)


def from_pytest_benchmark(manager: pytest.PytestPluginManager) -> bool:
    """pytest-benchmark adds its options itself, before or after this plugin."""
    if manager.is_blocked("benchmark"):
        return False
    registered = any(getattr(plugin, "__name__", "") == "pytest_benchmark.plugin" for plugin in manager.get_plugins())
    autoload = not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    return registered or (autoload and importlib.util.find_spec("pytest_benchmark") is not None)


def _add_benchmark_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("tare-benchmark", "pytest-benchmark's options, with --tare; those without a description are accepted only")
    described = {
        "json": "Write results in pytest-benchmark's format",
        "min-time": "Shortest round, s (a millisecond, if that is longer)",
        "max-time": "Time for each benchmark, all processes together, s (1)",
        "min-rounds": "Fewest rounds, all processes together (5)",
        "disable": "Call benchmarked functions once and measure nothing",
        "enable": "Cancel --benchmark-disable",
        "skip": "Skip benchmarks",
        "only": "Run benchmarks only",
    }
    for name in _WITH_VALUE:
        kind: Any = int if name in ("min-rounds", "warmup-iterations") else float if name in ("min-time", "max-time") else str
        group.addoption(f"--benchmark-{name}", metavar="VALUE", type=kind, help=described.get(name))
    for name in _WITH_OPTIONAL_VALUE:
        group.addoption(f"--benchmark-{name}", metavar="VALUE", nargs="?", const="on")
    group.addoption("--benchmark-compare-fail", metavar="EXPR", nargs="+")
    for name in _FLAGS:
        group.addoption(f"--benchmark-{name}", action="store_true", help=described.get(name))


def benchmark_option(config: pytest.Config, name: str) -> Any:
    """The value of `--benchmark-NAME`, whoever defined it; None where it was not given."""
    value = config.getoption("benchmark_" + name.replace("-", "_"), default=None)
    # `--benchmark-warmup` of pytest-benchmark is a bool already, or the text.
    return None if value is False or value == "" else value


def ignored_benchmark_options(config: pytest.Config) -> List[str]:
    """pytest-benchmark's options on this command line that do nothing under tare."""
    names: List[str] = []
    for name in _WITH_VALUE + _WITH_OPTIONAL_VALUE + _FLAGS + ("compare-fail",):
        option = f"--benchmark-{name}"
        given = any(arg == option or arg.startswith(option + "=") for arg in config.invocation_params.args)
        if given and name not in _HONOURED:
            names.append(option)
    return names


def read(config: pytest.Config) -> Settings:
    """The settings of this session; pytest.UsageError if they contradict each other."""
    _check_words(config)
    option = config.getoption
    base, inprocess = option("tare_base"), option("tare_inprocess")
    count = option("tare_processes")
    if base is not None and inprocess:
        raise pytest.UsageError("--tare-base compares fresh processes: leave out --tare-inprocess")
    least = FEWEST_BLOCKS if base is not None else 1
    if count is not None and count < least:
        why = "a comparison needs that many blocks for an interval" if base is not None else "a benchmark needs a process"
        raise pytest.UsageError(f"--tare-processes {count}: at least {least}, as {why}")
    for name in ("tare_base_python", "tare_base_install"):
        if option(name) is not None and base is None:
            raise pytest.UsageError(f"--{name.replace('_', '-')} says something of the base: give --tare-base, too")
    try:
        threshold = fraction(option("tare_threshold"))
    except ValueError:
        raise pytest.UsageError(f"--tare-threshold {option('tare_threshold')}: not a share such as 2% or 0.02") from None
    if option("tare_cpu") is not None and option("tare_cpu") not in os.sched_getaffinity(0):
        raise pytest.UsageError(f"--tare-cpu {option('tare_cpu')}: this process may not run on that CPU")
    return Settings(
        enabled=bool(option("tare") or inprocess or base is not None),
        inprocess=bool(inprocess),
        processes=count if count is not None else BLOCKS if base is not None else PROCESSES,
        base=base,
        base_python=option("tare_base_python"),
        base_install=option("tare_base_install"),
        threshold=threshold,
        inconclusive_fails=option("tare_inconclusive") == "fail",
        measure=option("tare_measure"),
        seed=option("tare_seed"),
        cpu=option("tare_cpu"),
        json=option("tare_json"),
        pyperf=option("tare_pyperf"),
    )


def _check_words(config: pytest.Config) -> None:
    """Refuse `--tare-base ../old` as two words.

    pytest finds its root folder before it knows the options of plugins, and takes such a path for one of its tests: the root would
    be the base's.
    """
    words = [str(word) for word in config.invocation_params.args]
    here = config.invocation_params.dir
    for option, value in zip(words, words[1:]):
        if option not in ("--tare-base", "--tare-base-python", "--tare-json", "--tare-pyperf"):
            continue
        path = here / value
        if path.exists() and (path if path.is_dir() else path.parent).resolve() != here.resolve():
            raise pytest.UsageError(f"write {option}={value} with an equals sign: pytest takes a separate word for a folder of tests")


def needs_tare(config: pytest.Config, settings: Settings) -> Optional[str]:
    """An option that asks for a result though nothing is measured."""
    asked: Tuple[Tuple[str, Any], ...] = (("--tare-json", settings.json), ("--tare-pyperf", settings.pyperf))
    if not from_pytest_benchmark(config.pluginmanager):
        asked += (("--benchmark-json", benchmark_option(config, "json")),)
    return next((name for name, value in asked if value is not None), None)
