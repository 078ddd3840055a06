"""Measuring in fresh processes: one after the other, or one of each side at the same time, which take turns."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from tarebench._signals import signal_name

from .channel import PROTOCOL, Channel, Message
from .results import Record, Times, Title
from .settings import Settings

Progress = Callable[[str], None]

#: Environment variable of measuring processes and what they start.
IN_PROCESS = "TARE_MEASURING_PROCESS"
#: A process that is told to end is given so long for its fixtures, s; one that is stopped, so long.
GRACE = 60.0
PATIENCE = 5.0


#: So many bytes of the environment at most are there to move the stack: a page.
MOST_PADDING = 4096


class MeasuringError(Exception):
    """Nothing can be measured; a sentence."""


@dataclass(frozen=True)
class Side:
    """What one side's processes are started with."""

    name: str
    python: str
    #: pytest's arguments.
    args: List[str]
    #: Folder in which its session starts.
    folder: Path
    #: Root folder of its tests.
    root: Path
    other_root: Optional[Path]
    #: The session's folder is on Python's path, as with `python -m pytest`.
    first_path: bool


class Process:
    """A measuring process, and what is known of it."""

    def __init__(self, side: Side, processes: int, hash_seed: int, padding: int) -> None:
        self.side = side
        self.hash_seed = hash_seed
        #: Bytes more in its environment.
        self.padding = padding
        self.began = time.time()
        self.alive = True
        self._log = tempfile.TemporaryFile()
        orders_read, orders_write = os.pipe()
        answers_read, answers_write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [side.python, str(Path(__file__).with_name("bootstrap.py")), str(orders_read), str(answers_write)],
                cwd=side.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=(orders_read, answers_write),
                # Ctrl-C reaches this process alone, which then ends that one.
                start_new_session=True,
            )
        except OSError as e:
            raise MeasuringError(f"{side.python} could not be started: {e.strerror}") from e
        finally:
            os.close(orders_read)
            os.close(answers_write)
        self._channel = Channel(answers_read, orders_write)
        self._pidfd = os.pidfd_open(self._process.pid)
        try:
            self.benchmarks = self._begin(processes)
        except BaseException:
            self.close(graceful=False)
            raise

    def _environment(self) -> Dict[str, str]:
        variables = {**os.environ, "PYTHONHASHSEED": str(self.hash_seed), IN_PROCESS: "1"}
        # Where the stack begins changes times, and the two sides' environments differ: without this, always by the same.
        variables["TARE_PADDING"] = "x" * self.padding
        if self.side.name == "base":
            # Commands that the base's environment has installed come before the head's.
            variables["PATH"] = os.path.dirname(self.side.python) + os.pathsep + variables.get("PATH", "")
        return variables

    def _begin(self, processes: int) -> List[str]:
        """Start its session; the node ids of the benchmarks that it found."""
        hello = self.receive()
        if hello is None or hello.get("protocol") != PROTOCOL:
            raise self._failure("did not start")
        side = self.side
        self.send(
            {
                "do": "start",
                "args": side.args,
                "first_path": side.first_path,
                "own_root": str(side.root),
                "other_root": None if side.other_root is None else str(side.other_root),
                "processes": processes,
            }
        )
        collected = self.receive()
        if collected is None or collected["event"] != "collected":
            raise self._failure("could not collect the tests")
        self._check_foreign(collected)
        # A test file of the base that cannot be imported leaves its benchmarks without a base; of the head, pytest itself has
        # reported it.
        self.errors: List[str] = collected["errors"]
        benchmarks: List[str] = collected["benchmarks"]
        return benchmarks

    def send(self, message: Message) -> None:
        """Send; a process that has ended is noticed when it should answer."""
        self._channel.send(message)

    def receive(self) -> Optional[Message]:
        """Its next message; None if it has ended."""
        message = self._channel.receive(self._pidfd)
        if message is None or message["event"] in ("ended", "error"):
            self.alive = False
            return None
        if message["event"] == "finished":
            self._check_foreign(message)
        return message

    def _check_foreign(self, message: Message) -> None:
        if message["foreign"]:
            other = "head" if self.side.name == "base" else "base"
            raise MeasuringError(
                f"the {self.side.name} loads code of the {other}, so that a comparison would say nothing: "
                f"{', '.join(message['foreign'])}. Install each in an environment of its own "
                "(--tare-base-python, --tare-base-install)"
            )

    def _failure(self, what: str) -> MeasuringError:
        log = self.log()
        return MeasuringError(f"the measuring process of the {self.side.name} {what}" + (f":\n{log}" if log else ""))

    def log(self) -> str:
        """The last lines of what it printed."""
        self._log.seek(0)
        return "\n".join(self._log.read().decode(errors="replace").splitlines()[-30:])

    def ended(self) -> str:
        """How it ended, for a message."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "stopped answering"
        return f"was ended by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"

    def close(self, graceful: bool) -> None:
        """End it, and whatever it has started."""
        if graceful and self.alive:
            self.send({"do": "end"})
        else:
            self._kill(signal.SIGTERM)
        try:
            self._process.wait(GRACE if graceful else PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also children that outlive it: the next process is to be measured alone.
            self._kill(signal.SIGKILL)
            self._process.wait()
            self._channel.close()
            os.close(self._pidfd)
            self._log.close()

    def _kill(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


class Measuring:
    """Measures benchmarks; what is measured so far is always in :attr:`records`."""

    def __init__(self, sides: List[Side], settings: Settings, progress: Progress) -> None:
        self.sides = sides
        self.settings = settings
        self.progress = progress
        self.records: Dict[str, Record] = {}
        self._wanted: Optional[List[str]] = None
        self._plans: Dict[str, List[Any]] = {}
        self._random = random.Random(settings.seed)
        self._processes: List[Process] = []

    def run(self, wanted: Optional[List[str]], titles: Dict[str, Title]) -> None:
        """Measure the benchmarks with these node ids; None: all that the first process finds.

        MeasuringError if the processes cannot be started, or do not measure what they should.
        """
        self._wanted = wanted
        self.records = {nodeid: Record(title) for nodeid, title in titles.items()}
        for number in range(self.settings.processes):
            hash_seed = self._random.randrange(1, 2**32)
            if self._wanted is not None and not self._open():
                return
            graceful = False
            try:
                self._run_block(number, hash_seed)
                graceful = True
            finally:
                self._close(graceful)

    def _open(self) -> List[str]:
        """The benchmarks that go on."""
        wanted = self._wanted or []
        return [nodeid for nodeid in wanted if nodeid not in self.records or self.records[nodeid].failed is None]

    def _close(self, graceful: bool) -> None:
        for process in self._processes:
            process.close(graceful)
        self._processes = []

    def _start(self, hash_seed: int) -> None:
        self._close(graceful=True)
        for side in self.sides:
            self._processes.append(Process(side, self.settings.processes, hash_seed, self._random.randrange(MOST_PADDING)))

    def _run_block(self, number: int, hash_seed: int) -> None:
        unit = "block" if len(self.sides) > 1 else "process"
        place = f"{unit} {number + 1} of {self.settings.processes}"
        self.progress(f"{place}: starting")
        self._start(hash_seed)
        if self._wanted is None:
            self._wanted = self._processes[0].benchmarks
            self.records.update({nodeid: Record(Title(nodeid, nodeid.rsplit("::", 1)[-1], None, None)) for nodeid in self._wanted})
        todo = self._open()
        for index, nodeid in enumerate(todo):
            if not all(process.alive for process in self._processes):
                # What comes after a benchmark that ended its process is measured in another one.
                self._start(hash_seed)
            self.progress(f"{place}: {nodeid}")
            following = todo[index + 1] if index + 1 < len(todo) else None
            self._measure(nodeid, following, number)

    def _measure(self, nodeid: str, following: Optional[str], number: int) -> None:
        """One benchmark, in the processes that run."""
        record = self.records[nodeid]
        running = [p for p in self._processes if p.side.name == "head" or self._has_base(p, nodeid, record)]
        order = {"do": "run", "nodeid": nodeid, "next": following, "known": self._plans.get(nodeid)}
        # Each is set up and finds its number of calls while the other one waits.
        proposals: Dict[str, Message] = {}
        finished: Dict[str, Optional[Message]] = {}
        for process in running:
            process.send(order)
            self._sort(process, process.receive(), proposals, finished)
        if len(proposals) == len(running):
            self._plan(nodeid, running, proposals, turns=len(running) > 1)
            if len(running) > 1:
                self._take_turns(running, proposals, finished, number)
        else:
            # One side measures nothing: the other one's test ends as it will.
            self._plan(nodeid, [p for p in running if p.side.name in proposals], proposals, turns=False)
        for process in running:
            if process.side.name not in finished:
                finished[process.side.name] = process.receive()
        self._take_in(record, running, finished)

    @staticmethod
    def _has_base(process: Process, nodeid: str, record: Record) -> bool:
        if record.no_base is not None:
            return False
        if nodeid not in process.benchmarks:
            error = next((e for e in process.errors if e.split(": ", 1)[0] == nodeid.split("::", 1)[0]), None)
            record.no_base = "the base has no such benchmark" if error is None else f"the base's tests could not be collected: {error}"
            return False
        return True

    @staticmethod
    def _sort(
        process: Process, message: Optional[Message], proposals: Dict[str, Message], finished: Dict[str, Optional[Message]]
    ) -> None:
        if message is not None and message["event"] == "proposal":
            proposals[process.side.name] = message
        else:
            finished[process.side.name] = message

    def _plan(self, nodeid: str, running: List[Process], proposals: Dict[str, Message], turns: bool) -> None:
        if not running:
            return
        first = proposals[running[0].side.name]
        single = all(message["single"] for message in proposals.values())
        cpu = self.settings.cpu
        if cpu is None and turns and single:
            # Both on the same one: what its sibling and the hypervisor do, and its speed, are then the same for both.
            cpu = max(os.sched_getaffinity(0))
        for process in running:
            own = proposals[process.side.name]
            # A benchmark that chose its numbers itself keeps them; of others both sides make as many calls.
            chosen = own if own["fixed"] else first
            process.send(
                {"do": "plan", "iterations": chosen["iterations"], "rounds": chosen["rounds"], "cpu": cpu, "turns": turns}
            )
            own.update(iterations=chosen["iterations"], rounds=chosen["rounds"])
        if running[0].side.name == "head":
            self._plans.setdefault(nodeid, [first["iterations"], first["rounds"], None])

    def _take_turns(
        self, running: List[Process], proposals: Dict[str, Message], finished: Dict[str, Optional[Message]], number: int
    ) -> None:
        """Rounds A B, B A, A B, …: a drift of the machine is the same for both. Which is first changes from block to block."""
        flip = number % 2
        for turn in range(max(message["rounds"] for message in proposals.values())):
            for process in running if (turn + flip) % 2 == 0 else running[::-1]:
                name = process.side.name
                if name in finished or turn >= proposals[name]["rounds"]:
                    continue
                process.send({"do": "go"})
                answer = process.receive()
                if answer is None or answer["event"] != "round":
                    finished[name] = answer
        for process in running:
            if process.side.name not in finished:
                process.send({"do": "go"})
                finished[process.side.name] = process.receive()

    def _take_in(self, record: Record, running: List[Process], finished: Dict[str, Optional[Message]]) -> None:
        """Add what the processes have measured. Times of a side count only with those of the other side's process."""
        times: Dict[str, Times] = {}
        for process in running:
            name, message = process.side.name, finished[process.side.name]
            why, measured = _outcome(process, message)
            if measured is not None:
                measured.hash_seed, measured.began = process.hash_seed, process.began
                times[name] = measured
            if name == "base":
                if measured is None and record.no_base is None:
                    record.no_base = "the base's test measures nothing" if why is None else f"the base's {why}"
            elif message is not None:
                self._take_in_head(record, message, why)
            else:
                record.failed, record.log = why, process.log()
        if "head" in times and (len(running) == 1 or "base" in times):
            record.head.append(times["head"])
            if "base" in times:
                record.base.append(times["base"])
        elif "head" in times:
            # Of its base nothing more will be measured: from now on it is alone.
            record.head.append(times["head"])
            record.base.clear()

    @staticmethod
    def _take_in_head(record: Record, message: Message, why: Optional[str]) -> None:
        if not record.reports or why is not None:
            record.reports = message.get("reports", [])
        described = message.get("record")
        if described is not None:
            record.title = Title(**described["title"])
            record.group, record.marker = described["group"], described["marker"]
            record.extra_info = described["extra_info"]
        if why is not None:
            record.failed = why


def _outcome(process: Process, message: Optional[Message]) -> Any:
    """(why a benchmark failed in a process, its times); either may be None."""
    if message is None:
        return f"process {process.ended()}", None
    if message["event"] == "missing":
        return "process does not find the test", None
    if message["event"] != "finished":
        return f"process answered out of turn ({message['event']})", None
    bad = next((report for report in message["reports"] if report["outcome"] == "failed"), None)
    if bad is not None:
        return f"test failed in its {bad['when']} phase", None
    record = message["record"]
    heads = record["head"] if record is not None else []
    return None, Times.from_message(heads[0]) if heads else None


def own_side(args: List[str], folder: Path, root: Path, other_root: Optional[Path]) -> Side:
    """The side of this session."""
    first_path = str(folder) in (os.path.abspath(entry) for entry in sys.path)
    return Side("head", sys.executable, args, folder, root, other_root, first_path)
