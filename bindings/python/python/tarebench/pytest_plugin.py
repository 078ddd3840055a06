"""Measures the benchmarks of a pytest suite: `pytest --tare`.

Each benchmark runs in several fresh processes, one at a time; with `--tare-base`, in blocks of one process of this checkout and one of
another, which take turns. The fixtures are `tare`, and `benchmark`, which is compatible with pytest-benchmark's. Without one of the
options nothing is measured, and the fixtures of other plugins stay as they are.
"""

from __future__ import annotations

from typing import Any, List, Optional

import pytest

from tarebench._pytest import settings as options

# Everything else is imported when a session begins: this module is loaded by each pytest for which the package is installed.


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options."""
    options.add_options(parser, pluginmanager)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Know pytest-benchmark's hooks, so that a conftest.py may implement them without it."""
    if not options.from_pytest_benchmark(pluginmanager):
        from tarebench._pytest import hookspec

        pluginmanager.add_hookspecs(hookspec)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and take over from other plugins if tare measures."""
    from tarebench._pytest import session

    config.addinivalue_line(
        "markers", "tare(threshold, measure, group, min_time, max_time, min_rounds, max_rounds, disable_gc): how tare measures a test"
    )
    config.addinivalue_line("markers", "benchmark: settings of a benchmark")
    config.addinivalue_line("markers", "codspeed_benchmark: a test that is measured as a whole")
    settings = options.read(config)
    manager = config.pluginmanager
    if settings.enabled:
        _take_over(manager)
    else:
        asked = options.needs_tare(config, settings)
        if asked is not None:
            raise pytest.UsageError(f"{asked} needs something that is measured: give --tare, too")
    manager.register(_FixturesLast(), "tare-fixtures-last")
    config.stash[session.STATE] = session.State(config, settings)


def _take_over(manager: pytest.PytestPluginManager) -> None:
    """Remove pytest-benchmark: it refuses fixtures `benchmark` of others. Its options stay."""
    for plugin in list(manager.get_plugins()):
        if getattr(plugin, "__name__", None) == "pytest_benchmark.plugin":
            manager.unregister(plugin)
    # Its part that the removed plugin would register, whose turn in this hook still comes.
    manager.set_blocked("pytest-benchmark")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before xdist starts its workers: measure while no other test runs."""
    from tarebench._pytest import session as state_of

    state = session.config.stash[state_of.STATE]
    if state.measures_processes and state.controls_xdist:
        state.measure(None)


class _FixturesLast:
    """Registers the fixtures after those of all other plugins, so that they are found first."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        from tarebench._pytest import session as state_of

        manager = session.config.pluginmanager
        manager.register(state_of.TareFixtures(), "tare-fixture")
        enabled = session.config.stash[state_of.STATE].settings.enabled
        if enabled or not state_of.others_provide_benchmark(manager):
            manager.register(state_of.BenchmarkFixtures(), "tare-benchmark-fixture")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the reports to a worker of xdist."""
    from tarebench._pytest import session

    state = node.config.stash[session.STATE]
    if not state.off:
        node.workerinput["tare_replay"] = state.for_xdist()


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    """Do what --benchmark-skip and --benchmark-only say, where pytest-benchmark is not there to."""
    from tarebench._pytest import fixtures, session

    if not config.stash[session.STATE].settings.enabled:
        return
    only, skip = options.benchmark_option(config, "only"), options.benchmark_option(config, "skip")
    for item in items:
        benchmark = fixtures.is_benchmark(item)
        if only and not benchmark:
            item.add_marker(pytest.mark.skip(reason="--benchmark-only: not a benchmark"))
        elif skip and benchmark and not only:
            item.add_marker(pytest.mark.skip(reason="--benchmark-skip"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Measure, before any test runs in this process."""
    from tarebench._pytest import session as state_of

    state = session.config.stash[state_of.STATE]
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    if state.measures_processes and not state.controls_xdist and not failed:
        state.measure(state_of.benchmarks_of(session))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: Optional[pytest.Item]) -> Optional[bool]:
    """Report a benchmark that another process has run."""
    from tarebench._pytest import session

    state = item.config.stash[session.STATE]
    if state.worker is not None or state.settings.inprocess or not state.settings.enabled:
        return None
    return state.replay(item, nextitem) or None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Optional[bool]:
    """Measure a test that is marked as a benchmark and uses no fixture for it."""
    from tarebench._pytest import fixtures, session

    state = pyfuncitem.config.stash[session.STATE]
    if not state.settings.enabled or not fixtures.marked_whole(pyfuncitem):
        return None
    measured: Optional[bool] = state.call_whole(pyfuncitem)
    return measured


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Judge, and write the files."""
    from tarebench._pytest import session as state_of

    session.config.stash[state_of.STATE].finish(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the result."""
    from tarebench._pytest import session

    terminalreporter.config.stash[session.STATE].show(terminalreporter)
