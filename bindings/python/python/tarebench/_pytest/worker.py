"""A measuring process: a pytest session that runs the benchmarks which it is told to, one at a time.

It collects the same tests as the session that started it, in the same order, and reports what it found and measured over a
:class:`Channel`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from typing import Any, Dict, List, Optional, Set, Tuple
from urllib.parse import unquote, urlsplit

import pytest

from .channel import PROTOCOL, Channel, Message
from .engine import Conductor, Plan, Proposal
from .fixtures import Use, is_benchmark
from .results import Record

#: Options of pytest that only the session which reports may follow.
_NOT_HERE = {
    "xmlpath": None,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "cacheclear": False,
    "usepdb": False,
    "trace": False,
    "maxfail": 0,
    "durations": None,
}
#: Plugins of pytest that write what the next session reads.
_WRITERS = ("lfplugin", "nfplugin", "stepwiseplugin")


class Stopped(BaseException):
    """The session that this process measures for is gone."""


class RemoteConductor(Conductor):
    """Asks the session that started this process."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.known = None
        self._turns = False

    def start(self, known: Optional[List[Any]]) -> None:
        """A new benchmark begins."""
        self.known = None if known is None else Plan(*known)
        self._turns = False

    def agree(self, proposal: Proposal) -> Plan:
        """The plan for a proposal."""
        self.channel.send({"event": "proposal", **proposal._asdict()})
        answer = self._receive()
        self._turns = answer["turns"]
        return Plan(answer["iterations"], answer["rounds"], answer["cpu"])

    def before_round(self) -> None:
        """Wait for this process's turn."""
        if self._turns:
            self._receive()

    def after_round(self) -> None:
        """Pass the turn on."""
        if self._turns:
            self.channel.send({"event": "round"})

    def after_rounds(self) -> None:
        """Wait until the other side has measured, too."""
        if self._turns:
            self._receive()

    def _receive(self) -> Message:
        message = self.channel.receive()
        if message is None:
            raise Stopped("the session that measures has ended")
        return message


class Worker:
    """The plugin that runs the session."""

    def __init__(self, channel: Channel, start: Message) -> None:
        self.channel = channel
        self.conductor = RemoteConductor(channel)
        self.processes: int = start["processes"]
        #: Root folder of the other side's tests; None without a base.
        self.other_root: Optional[str] = start["other_root"]
        self.own_root: str = start["own_root"]
        self.use: Optional[Use] = None
        self._reports: List[Message] = []
        self._errors: List[str] = []
        self._config: Optional[pytest.Config] = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Leave to the other session what is its own."""
        self._config = config
        for name, value in _NOT_HERE.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        for name in _WRITERS:
            config.pluginmanager.set_blocked(name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the errors."""
        if report.failed:
            self._errors.append(f"{report.nodeid}: {report.longreprtext}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what is asked for, until nothing more is."""
        items = {item.nodeid: item for item in session.items}
        benchmarks = [item.nodeid for item in session.items if is_benchmark(item)]
        self.channel.send({"event": "collected", "benchmarks": benchmarks, "errors": self._errors, "foreign": self._foreign()})
        while True:
            message = self.channel.receive()
            if message is None or message["do"] == "end":
                return True
            item = items.get(message["nodeid"])
            if item is None:
                self.channel.send({"event": "missing"})
            else:
                self._run(item, items.get(message["next"]), message["known"])

    def _run(self, item: pytest.Item, following: Optional[pytest.Item], known: Optional[List[Any]]) -> None:
        self.use, self._reports = None, []
        self.conductor.start(known)
        # The test before may have been told of another one to follow.
        tear_down_for(item)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        answer: Message = {"event": "finished", "reports": self._reports, "record": None, "foreign": self._foreign()}
        if self.use is not None:
            use: Use = self.use
            times = use.times()
            record = Record(use.title, use.group, use.extra_info, use.marker, head=[] if times is None else [times])
            answer["record"] = record.message()
        self.channel.send(answer)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the reports of the test that runs."""
        assert self._config is not None
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        # What plugins add may be nothing that JSON holds.
        self._reports.append(json.loads(json.dumps(data, default=repr)))

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Report it: nobody sees this session's terminal."""
        self.channel.send({"event": "error", "text": str(excrepr)})

    def _foreign(self) -> List[str]:
        if self.other_root is None:
            return []
        return foreign_files(self.own_root, self.other_root)


def tear_down_for(item: pytest.Item) -> None:
    """End the fixtures of modules and classes that were set up and are not of `item`.

    pytest does this at the end of a test, of which it knows the next one. A test that does not run here makes that wrong.
    """
    item.session._setupstate.teardown_exact(item)


def foreign_files(own_root: str, other_root: str) -> List[str]:
    """Files of loaded modules that are the other side's: what is measured would not be this side's code.

    These are files below the other side's root folder, and of a distribution that was installed from there (PEP 610). Virtual
    environments below a root folder belong to neither.
    """
    own, other = os.path.join(os.path.realpath(own_root), ""), os.path.join(os.path.realpath(other_root), "")
    named = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    loaded = {os.path.realpath(name) for name in named if isinstance(name, str)}
    # Both sides are measured by the same tarebench, wherever it is.
    measuring = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "")
    loaded = {name for name in loaded if not name.startswith(measuring)}

    def belongs(name: str) -> bool:
        # One root may lie within the other: the inner one decides.
        inner = own.startswith(other) and name.startswith(own)
        below = name[len(other) :].split(os.sep) if name.startswith(other) else []
        return bool(below) and not inner and not {"site-packages", "dist-packages"} & set(below)

    found = {name for name in loaded if belongs(name)}
    return sorted(found | (loaded & _installed_files(other)))[:3]


def _installed_files(root: str) -> Set[str]:
    """Real paths of the files of distributions that were installed from below this folder (with a final `/`)."""
    files: Set[str] = set()
    for distribution in first_distributions().values():
        source = installed_from(distribution)
        if source is not None and os.path.join(os.path.realpath(source[0]), "") == root and not source[1]:
            files.update(os.path.realpath(str(distribution.locate_file(file))) for file in distribution.files or ())
    return files


def first_distributions() -> Dict[str, importlib.metadata.Distribution]:
    """The distributions that imports find, by their names."""
    found: Dict[str, importlib.metadata.Distribution] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(name.lower().replace("_", "-"), distribution)
    return found


def installed_from(distribution: importlib.metadata.Distribution) -> Optional[Tuple[str, bool]]:
    """(folder, editable) of a distribution that was installed from a folder (PEP 610); None for others."""
    text = distribution.read_text("direct_url.json")
    if not text:
        return None
    try:
        source = json.loads(text)
        url, editable = source["url"], bool(source.get("dir_info", {}).get("editable"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if not isinstance(url, str) or not url.startswith("file://") or "dir_info" not in source:
        return None
    return unquote(urlsplit(url).path), editable


def _plugin_arguments() -> List[str]:
    """What loads the plugin, where its entry point does not."""
    if not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        found = first_distributions().values()
        if any(point.group == "pytest11" and point.name == "tare" for one in found for point in one.entry_points):
            return []
    return ["-p", "tarebench.pytest_plugin"]


def main(read_fd: int, write_fd: int) -> int:
    """Run a session; its exit code."""
    channel = Channel(read_fd, write_fd)
    channel.send({"event": "hello", "protocol": PROTOCOL, "python": sys.version, "pytest": pytest.__version__})
    start = channel.receive()
    if start is None:
        return 0
    if start["first_path"]:
        sys.path.insert(0, os.getcwd())
    worker = Worker(channel, start)
    args = list(start["args"])
    if "tarebench.pytest_plugin" not in args and "-ptarebench.pytest_plugin" not in args:
        args = _plugin_arguments() + args
    try:
        code = pytest.main(args, plugins=[worker])
    except Stopped:
        return 0
    channel.send({"event": "ended", "code": int(code)})
    return int(code)
