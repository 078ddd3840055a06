"""A pytest session with the plugin: what it measures, when, and what becomes of it."""

from __future__ import annotations

import json
import os
import shutil
import types
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

import pytest

from . import settings as options
from .channel import Message
from .engine import Conductor, Job
from .fixtures import BenchmarkFixture, TareFixture, Use, is_benchmark
from .results import Record, Title, Verdict, suite_exit, verdicts
from .settings import Settings
from .worker import Worker, tear_down_for

if TYPE_CHECKING:
    from .base import Base
    from .measuring import Side

#: Key of the reports in what xdist hands to its workers.
_REPLAY = "tare_replay"


class State:
    """What the plugin knows in one session."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        #: This is a measuring process.
        self.worker = next((plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, Worker)), None)
        #: What xdist's controller has measured, in its workers.
        self.distributed: Optional[str] = getattr(config, "workerinput", {}).get(_REPLAY)
        self.records: Dict[str, Record] = {}
        self.verdicts: Optional[List[Verdict]] = None
        self.base: Optional[Base] = None
        self.notes: List[str] = []
        self._in_worker_of_xdist = hasattr(config, "workerinput")
        if self.distributed is not None:
            self._take_replay(json.loads(self.distributed))

    # Which of the roles this session has.

    @property
    def off(self) -> bool:
        """Benchmarks are called once: nothing was asked for, or --benchmark-disable was."""
        option = options.benchmark_option
        disabled = option(self.config, "disable") and not option(self.config, "enable")
        return not self.settings.enabled or bool(disabled)

    @property
    def controls_xdist(self) -> bool:
        """The tests run in xdist's workers."""
        return bool(self.config.pluginmanager.hasplugin("dsession"))

    @property
    def measures_processes(self) -> bool:
        """This session starts measuring processes."""
        inside = self.worker is not None or self._in_worker_of_xdist
        return not (self.off or inside or self.settings.inprocess or self.config.option.collectonly)

    def conductor(self) -> Optional[Conductor]:
        """Who decides about the rounds of a benchmark that runs in this process; None: it is called once."""
        if self.off:
            return None
        if self.worker is not None:
            return self.worker.conductor
        # Other tests run at the same time in xdist's workers.
        return _InProcess(self.settings.cpu) if self.settings.inprocess and not self._in_worker_of_xdist else None

    # Measuring.

    def measure(self, wanted: Optional[List[pytest.Item]]) -> None:
        """Measure these tests; None: those that the measuring processes find. UsageError if that is impossible."""
        from .base import prepared
        from .measuring import IN_PROCESS, Measuring, MeasuringError, own_side

        if wanted is not None and not wanted:
            return
        if IN_PROCESS in os.environ:
            # Each would start others.
            raise pytest.UsageError("tare: a test that is measured runs pytest --tare itself: give that one --tare-inprocess")
        root, folder = self.config.rootpath, self.config.invocation_params.dir
        arguments = [*map(str, self.config.invocation_params.args), *self._own_arguments()]
        with ExitStack() as stack:
            if self.settings.base is not None:
                self.base = stack.enter_context(prepared(self.settings, root, self._say))
            other = self.base.root if self.base is not None else None
            sides = [own_side(arguments, folder, root, other)]
            if self.base is not None:
                sides.append(self._base_side(self.base, sides[0]))
            measuring = Measuring(sides, self.settings, self._progress)
            self.records = measuring.records
            titles = {item.nodeid: Title.of(item) for item in wanted or ()}
            try:
                measuring.run(None if wanted is None else list(titles), titles)
            except MeasuringError as e:
                raise pytest.UsageError(f"tare: {e}") from None
            finally:
                # Also of a session that is interrupted.
                self.records = {nodeid: _whole(record) for nodeid, record in measuring.records.items()}
                self._progress("")

    def _own_arguments(self) -> List[str]:
        """What makes other plugins leave a measuring process alone."""
        manager = self.config.pluginmanager
        added = []
        if manager.hasplugin("xdist"):
            added.append("-n0")
        if manager.hasplugin("pytest_cov") or manager.hasplugin("_cov"):
            added.append("--no-cov")
        seed = self.config.getoption("randomly_seed", default=None)
        if isinstance(seed, int):
            added.append(f"--randomly-seed={seed}")
        return added

    def _base_side(self, base: Base, head: Side) -> Side:
        from .base import base_arguments
        from .measuring import Side

        inside = _counterpart(head.folder, head.root, base.root)
        # Of what pytest was told to collect; without anything, it is what the configuration says.
        positional = [argument for argument in head.args if argument in self.config.args]
        arguments = base_arguments(head.args, positional, head.root, base.root, inside)
        # Without its configuration file the base would have another root, and other node ids.
        arguments.append(f"--rootdir={base.root}")
        return Side("base", base.python, arguments, inside, base.root, head.root, head.first_path)

    def _say(self, text: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(f"tare: {text}")

    def _progress(self, text: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self.config.option.verbose < 0:
            return
        if reporter.isatty:
            reporter.rewrite(f"tare: {text}"[: shutil.get_terminal_size().columns - 1] if text else "", erase=True)
        elif text.endswith(": starting"):
            reporter.write_line(f"tare: {text[: -len(': starting')]}")

    # In this process.

    def use(self, item: pytest.Item) -> Use:
        """What the fixtures of a test measure; the same one for all of them."""
        use = item.stash.get(_USE, None)
        if use is None:
            processes = self.worker.processes if self.worker is not None else 1
            use = item.stash[_USE] = Use(item, self.conductor(), processes)
            if self.worker is not None:
                self.worker.use = use
        return use

    def keep(self, item: pytest.Item) -> None:
        """Keep what a test has measured in this process."""
        use = item.stash.get(_USE, None)
        times = use.times() if use is not None else None
        if use is not None and times is not None and self.worker is None:
            self.records[item.nodeid] = Record(use.title, use.group, use.extra_info, use.marker, head=[times])

    def call_whole(self, function: pytest.Function) -> Optional[bool]:
        """Measure a test as a whole; None if pytest is to call it."""
        use = self.use(function)
        if use.conductor is None:
            return None
        use.begin("the test as a whole")
        names = function._fixtureinfo.argnames
        arguments = {name: function.funcargs[name] for name in names}
        use.automatic(Job(function.obj, (), arguments, use.limits.disable_gc))
        self.keep(function)
        return True

    # Reports of tests that ran elsewhere.

    def replay(self, item: pytest.Item, following: Optional[pytest.Item]) -> bool:
        """Report a test as the process did that measured it; False if none did."""
        record = self.records.get(item.nodeid)
        if record is None or not (record.reports or record.failed):
            return False
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = [self.config.hook.pytest_report_from_serializable(config=self.config, data=data) for data in record.reports]
        if not any(report.failed for report in reports) and record.failed is not None:
            reports.append(_failure(item, record))
        for report in reports:
            # JSON has no tuples; pytest expects one of a skipped test.
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)
            report.location = tuple(report.location)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if following is not None:
            # pytest does this after a test that runs here.
            tear_down_for(following)
        return True

    def for_xdist(self) -> str:
        """The reports, for xdist's workers."""
        return json.dumps({nodeid: [r.reports, r.failed, r.log] for nodeid, r in self.records.items()})

    def _take_replay(self, messages: Dict[str, List[Any]]) -> None:
        for nodeid, (reports, failed, log) in messages.items():
            title = Title(nodeid, nodeid.rsplit("::", 1)[-1], None, None)
            self.records[nodeid] = Record(title, reports=reports, failed=failed, log=log)

    # The result.

    def finish(self, session: pytest.Session) -> None:
        """Judge, write the files, and set the exit code of a session whose tests passed."""
        from . import outputs

        if self.off or self.worker is not None or self._in_worker_of_xdist or self.config.option.collectonly:
            return
        records = list(self.records.values())
        if self.settings.base is not None:
            # A test that was skipped has nothing to compare.
            records = [record for record in records if record.head or record.failed is not None]
            self.records = {record.title.nodeid: record for record in records}
            self.verdicts = verdicts(records, self.settings)
            code, _ = suite_exit(self.verdicts, self.settings)
            if session.exitstatus == 0 and code != 0:
                session.exitstatus = code
        self._note(records)
        try:
            outputs.write_all(self.config, records, self.verdicts, self.settings, self._base_message())
        except OSError as e:
            self.notes.append(f"could not write {e.filename}: {e.strerror}")
            if session.exitstatus in (0, 5, 6):
                session.exitstatus = 4

    def _base_message(self) -> Optional[Message]:
        if self.base is None:
            return None
        return {"name": self.base.name, "commit": self.base.commit, "folder": str(self.base.root), "python": self.base.python}

    def _note(self, records: List[Record]) -> None:
        ignored = options.ignored_benchmark_options(self.config)
        if ignored:
            self.notes.append(f"without effect under tare: {', '.join(ignored)}")
        if self.settings.inprocess and self.controls_xdist:
            self.notes.append("not measured: xdist runs other tests at the same time; leave out -n, or --tare-inprocess")
        timers = [record.title.name for record in records if "timer" in record.marker]
        if timers:
            self.notes.append(f"timer=… of {', '.join(timers[:3])} is not used: tare takes elapsed time and CPU time")
        unused = [r.title.name for r in records if not r.head and r.failed is None and _passed(r.reports)]
        if unused:
            self.notes.append(f"measured nothing: {', '.join(unused[:5])}{' …' if len(unused) > 5 else ''}")

    def show(self, reporter: pytest.TerminalReporter) -> None:
        """Print the result."""
        if self.off or self.worker is not None or self._in_worker_of_xdist or self.config.option.collectonly:
            return
        from . import display

        display.summary(reporter, list(self.records.values()), self.verdicts, self.settings, self.notes)


class _InProcess(Conductor):
    """As a process proposes, on the CPU that was asked for."""

    def __init__(self, cpu: Optional[int]) -> None:
        self.cpu = cpu

    def agree(self, proposal: Any) -> Any:
        return super().agree(proposal)._replace(cpu=self.cpu)


STATE = pytest.StashKey[State]()
_USE = pytest.StashKey[Use]()


def _whole(record: Record) -> Record:
    """Without the half of a block that an interruption has left."""
    if record.base:
        both = min(len(record.head), len(record.base))
        del record.head[both:], record.base[both:]
    return record


def _counterpart(folder: Path, root: Path, base: Path) -> Path:
    """The folder of the base that this one of the head corresponds to; its root for one outside, or that it has not."""
    try:
        inside = base / folder.resolve().relative_to(root.resolve())
    except ValueError:
        return base
    return inside if inside.is_dir() else base


def _passed(reports: List[Message]) -> bool:
    return bool(reports) and all(report["outcome"] == "passed" for report in reports)


def _failure(item: pytest.Item, record: Record) -> pytest.TestReport:
    """Of a test whose process ended."""
    text = record.failed or ""
    if record.log:
        text += f"; the last lines that it printed:\n{record.log}"
    return pytest.TestReport(
        nodeid=item.nodeid, location=item.location, keywords={}, outcome="failed", longrepr=f"tare: {text}", when="call"
    )


class TareFixtures:
    """The fixture that is always there."""

    @pytest.fixture(name="tare")
    def tare(self, request: pytest.FixtureRequest) -> Iterator[TareFixture]:
        """Measures a function: `tare(function, *args, **kwargs)`, `tare.with_input(make_input, function)`."""
        state = request.config.stash[STATE]
        yield TareFixture(state.use(request.node))
        state.keep(request.node)


class BenchmarkFixtures:
    """The fixtures of pytest-benchmark and pytest-codspeed, which are taken over when tare measures."""

    @pytest.fixture(name="benchmark")
    def benchmark(self, request: pytest.FixtureRequest) -> Iterator[BenchmarkFixture]:
        """Measures a function, as pytest-benchmark's: `benchmark(function, *args, **kwargs)`, `benchmark.pedantic(…)`."""
        state = request.config.stash[STATE]
        yield BenchmarkFixture(state.use(request.node))
        state.keep(request.node)

    @pytest.fixture(name="codspeed_benchmark")
    def codspeed_benchmark(self, benchmark: BenchmarkFixture) -> BenchmarkFixture:
        """The same under pytest-codspeed's name."""
        return benchmark


def others_provide_benchmark(manager: pytest.PytestPluginManager) -> bool:
    """Another plugin has a fixture `benchmark`."""
    modules = (plugin for plugin in manager.get_plugins() if isinstance(plugin, types.ModuleType))
    return any(hasattr(module, "benchmark") for module in modules if not (module.__file__ or "").endswith("conftest.py"))


def benchmarks_of(session: pytest.Session) -> List[pytest.Item]:
    """The tests that are measured."""
    return [item for item in session.items if is_benchmark(item)]
