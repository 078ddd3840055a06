#!/usr/bin/env python3
"""Runs a lab while agents, connections and the server fail, and checks that nothing is lost or counted twice.

    lab-faults.py --tare PATH [--seed N] [--minutes M] [--agents N] [--short] [--engine agents|slurm] [--keep FOLDER]

Agents: a PostgreSQL server, a proxy in front of it, and 20 agents, each in a mount name space with a lock, a machine id and a store of
its own, so that each is a machine of its own. Campaigns of short programs are submitted while agents get SIGKILL at random (200), the
server is stopped as by a crash (10 times) and connections are cut at random bytes (100). Slurm: a cluster of two nodes; its controller
is killed and restarted, and so are nodes in the middle of tasks.

At the end, when all tasks have ended and the agents were asked to end:
  - each task is done, and has exactly one run, which is finished;
  - each sample and duet of that run is in the central store once, and equal to the one in the store of the machine that took it;
  - the runs of attempts that were given up differ from the local ones in nothing but what they lack;
  - no task is leased, no machine holds a task, and no process of tare is left.
Exit code 1, and the first difference, if anything of this does not hold; 2 for wrong arguments. `--short` is for continuous integration:
4 agents, 8 kills, 1 stop, 6 cuts, in less than a minute. What happens follows from the seed, as far as the machine's speed allows.
"""
import argparse
import collections
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import lab_parts
from lab_parts import Failed, Postgres, Proxy, Slurm, end, marked, output, until

# Marks all processes of this test: what is left of them is found by it.
MARK = "LAB_FAULTS_RUN"
AGENT = "lab_agent"
LEASE = 5
# Exit codes of an agent that was asked to end: success, or that of a signal.
ENDED = {0, 130, 143}
PROGRAMS = {
    "true": "true",
    "count": "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done",
    "sleep": "sleep 0.05",
    "output": "seq 1 20000 | sort -rn | tail -n 1",
}


def arguments():
    parser = argparse.ArgumentParser(description="Runs a lab while its parts fail, and checks that nothing is lost or counted twice.")
    parser.add_argument("--tare", required=True, help="the command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="time for all faults (10; 0.3 with --short)")
    parser.add_argument("--agents", type=int, help="agents (20; 4 with --short)")
    parser.add_argument("--short", action="store_true", help="few faults, for continuous integration")
    parser.add_argument("--engine", choices=["agents", "slurm"], default="agents")
    parser.add_argument("--keep", metavar="FOLDER", help="write everything to this folder, which must not exist, and keep it")
    options = parser.parse_args()
    options.tare = pathlib.Path(options.tare).resolve()
    if not os.access(options.tare, os.X_OK):
        parser.error(f"there is no program {options.tare}")
    if os.geteuid() != 0:
        parser.error("expected root: agents are kept apart by mount name spaces")
    options.minutes = options.minutes or (0.3 if options.short else 10)
    options.agents = options.agents or (4 if options.short else 20)
    return options


class Tare:
    """The command, on the central store unless another place is given."""

    def __init__(self, program, folder, mark):
        self.program = program
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARE_", "XDG_", "PG", "SLURM_", "SBATCH_"))}
        self.environment = kept | {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1", MARK: mark}
        self.db = None

    def __call__(self, *words, place=None, **more):
        environment = self.environment | {"TARE_DB": str(place or self.db)}
        return output(self.program, *words, env=environment, stdin=subprocess.DEVNULL, **more)

    def json(self, *words, place=None):
        return json.loads(self(*words, "--json", place=place))

    def runs(self, place):
        """The runs of a store, by their uuids."""
        return {run["uuid"]: run for run in self.json("list", "--limit", "10000000", place=place) if "programs" in run}

    def archive(self, run, place):
        return json.loads(self("export", run, place=place))


def find(value, keys):
    """The objects within a JSON value that have all of these keys."""
    if isinstance(value, dict):
        if keys <= value.keys():
            return [value]
        value = list(value.values())
    if isinstance(value, list):
        return [found for part in value for found in find(part, keys)]
    return []


CAMPAIGN = {"uuid", "name", "state", "tasks", "done", "waiting"}
TASK = {"ordinal", "attempts", "state", "runs"}


class Agent:
    """An agent on a machine of its own."""

    # A lock, a machine id and a host name of its own; what was mounted ends with the process.
    SCRIPT = (
        'mount -t tmpfs tmpfs /run/lock && mount --bind "$1" /etc/machine-id && hostname "$2" || exit 9\n'
        "shift 2\n"
        'exec "$@"'
    )

    def __init__(self, number, lab):
        self.name, self.lab = f"a{number}", lab
        self.folder = lab.folder / self.name
        self.folder.mkdir()
        self.local = self.folder / "local.db"
        (self.folder / "machine-id").write_text(f"{hashlib.sha256(self.name.encode()).hexdigest()[:32]}\n")
        self.process, self.kills, self.again = None, 0, None
        self.start()

    def start(self):
        self.again = None
        environment = self.lab.tare.environment | {
            "HOME": str(self.folder),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "TARE_STATE": str(self.folder / "state"),
        }
        command = [self.lab.tare.program, "lab", "agent", "--db", self.lab.agents_url(), "--local", self.local, "--name", self.name,
                   "--lease", f"{LEASE}s", "--poll", "0.2s", "--tag", f"parity={int(self.name[1:]) % 2}"]
        apart = ["unshare", "--mount", "--uts", "sh", "-c", self.SCRIPT, "sh", self.folder / "machine-id", self.name]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([str(word) for word in apart + command], env=environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, chance):
        """By SIGKILL, alone or with what it measures; it starts again at once, or after its lease has ended."""
        if chance.random() < 0.5:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()
        self.kills += 1
        self.again = time.monotonic() + (chance.uniform(0, 1) if chance.random() < 0.7 else chance.uniform(LEASE, 2 * LEASE))


class Faults:
    """How often what is to happen in which time, and what has happened."""

    def __init__(self, options):
        full = {"agents": (200, 10, 100), "slurm": (10, 4, 0)}
        short = {"agents": (8, 1, 6), "slurm": (1, 1, 0)}
        self.kills, self.stops, self.cuts = (short if options.short else full)[options.engine]
        self.seconds, self.chance = options.minutes * 60, random.Random(options.seed)
        self.seen = collections.Counter()

    def times(self):
        """When to do what, in seconds from the start, in their order."""
        # The server's stops far enough apart that something happens between them.
        stops = [("stop", self.seconds * (number + self.chance.uniform(0.2, 0.8)) / self.stops) for number in range(self.stops)]
        kills = [("kill", self.chance.uniform(0, self.seconds)) for _ in range(self.kills)]
        return sorted(stops + kills, key=lambda event: event[1])


class Lab:
    """The server, its agents, and the campaigns that were submitted."""

    def __init__(self, options, folder):
        self.options, self.folder, self.mark = options, folder, uuid.uuid4().hex
        self.tare = Tare(options.tare, folder, self.mark)
        self.faults = Faults(options)
        self.agents, self.proxy, self.slurm, self.names = [], None, None, []
        self.server = Postgres(folder / "server", trusted=(AGENT,))
        self.server.start()
        self.server.sql(f"CREATE DATABASE {lab_parts.DATABASE}", database="postgres")
        self.tare.db = self.server.url()
        self.tare("lab", "init", self.server.url())
        self.server.sql(f"CREATE ROLE {AGENT} LOGIN IN ROLE tare_agent")

    def agents_url(self):
        return self.server.tcp(AGENT, self.proxy.port if self.proxy else None)

    # Campaigns

    def campaign(self, kind):
        """A campaign's file, of one of several kinds."""
        name = f"faults-{len(self.names) + 1}-{kind}"
        pair = self.faults.chance.sample(sorted(PROGRAMS), 2)
        lines = [f'name = "{name}"', "samples = 8", 'order = "rounds"', "retries = 1000", 'options = ["--warmup", "1"]', f'tags = {{ kind = "{kind}" }}']
        for program in pair:
            lines += ["[[program]]", f'label = "{program}"', f"command = '{PROGRAMS[program]}'"]
        few = self.options.short
        lines += {
            "any": ["[machines]", "count = 1", "[repeat]", f"times = {4 if few else 20}"],
            "all": ["[machines]", "all = true", "[repeat]", f"times = {1 if few else 2}"],
            "tags": ["[machines]", 'tags = { parity = "1" }', "count = 2", "[repeat]", f"times = {2 if few else 5}"],
            "slurm": ["[machines]", "count = 1", "[repeat]", f"times = {6 if few else 20}"],
        }[kind]
        file = self.folder / f"{name}.toml"
        file.write_text("\n".join(lines) + "\n")
        self.names.append(name)
        return file

    def submit(self, kind, *words):
        file = self.campaign(kind)
        self.tare("lab", "submit", file, "--db", self.server.url(), *words)
        self.faults.seen["campaigns submitted"] += 1

    def campaigns(self):
        return find(self.tare.json("lab", "status"), CAMPAIGN)

    def tasks(self):
        """All tasks of the lab, by their uuid or number."""
        found = []
        for campaign in self.campaigns():
            of_it = find(self.tare.json("lab", "status", campaign["uuid"]), TASK)
            if len(of_it) != campaign["tasks"]:
                raise Failed(f"campaign {campaign['name']} has {campaign['tasks']} tasks, but its status shows {len(of_it)}")
            found += [(campaign, task) for task in of_it]
        return found

    def open_tasks(self):
        return sum(campaign["waiting"] + campaign["leased"] for campaign in self.campaigns())

    # Faults

    def crash(self):
        """The server loses everything that it had only in memory."""
        self.server.stop("immediate")
        time.sleep(self.faults.chance.uniform(0.2, 2))
        self.server.start()
        self.faults.seen["stops of the server"] += 1

    def restart_due(self):
        for agent in self.agents:
            if agent.again is not None and time.monotonic() > agent.again:
                agent.start()
            elif agent.again is None and not agent.alive():
                raise Failed(f"agent {agent.name} ended by itself, with exit code {agent.process.returncode}:\n{tail(agent.folder / 'log')}")

    def kill_one(self):
        living = [agent for agent in self.agents if agent.alive()]
        if living:
            # Rather one that has a task; by the local stores that would cost more than it is worth.
            self.faults.chance.choice(living).kill(self.faults.chance)
            self.faults.seen["agents killed"] += 1
        return bool(living)

    def feed(self):
        """Work for all agents, until the last fault."""
        if self.open_tasks() < 2 * len(self.agents):
            self.submit(self.faults.chance.choice(("any", "all", "tags")))

    def run_agents(self):
        self.proxy = Proxy(self.server.port, self.options.seed)
        self.agents = [Agent(number, self) for number in range(self.options.agents)]
        machines = {"name", "heartbeat", "draining"}
        until(lambda: len(find(self.tare.json("lab", "machines"), machines)) == len(self.agents), 60, "all agents are known")
        for kind in ("any", "all", "tags"):
            self.submit(kind)
        began, due = time.monotonic(), self.faults.times()
        self.proxy.arm(self.faults.cuts, self.faults.seconds / (self.faults.cuts + 1) / 2)
        fed = 0.0
        while due or len(self.proxy.cuts) < self.faults.cuts:
            now = time.monotonic() - began
            if now > 3 * self.faults.seconds + 60:
                raise Failed(f"{len(due)} faults are left after {now:.0f} s, and {len(self.proxy.cuts)} connections were cut")
            self.restart_due()
            if due and due[0][1] <= now:
                what = due[0][0]
                # A killed agent may be the last one: later.
                if what == "stop":
                    self.crash()
                    due.pop(0)
                elif self.kill_one():
                    due.pop(0)
            if now > fed + 1:
                self.feed()
                fed = now
            time.sleep(0.02)
        self.finish()

    def finish(self):
        """Waits for the tasks, and ends the agents."""
        def ended():
            self.restart_due()
            time.sleep(0.2)
            return self.open_tasks() == 0

        until(ended, 60 + 2 * self.faults.seconds, "all tasks end")
        for agent in self.agents:
            if agent.again is not None:
                agent.start()
        # One that has just been started would end before it can say that it was asked to.
        time.sleep(2)
        for agent in self.agents:
            agent.process.terminate()
        codes = collections.Counter(end(agent.process, 30, asked=True) for agent in self.agents)
        if set(codes) - ENDED:
            raise Failed(f"agents that were asked to end: exit codes {dict(codes)} (None: killed after 30 s), expected {sorted(ENDED)}")
        self.faults.seen["connections cut"] = len(self.proxy.cuts)
        self.faults.seen["connections in all"] = self.proxy.accepted
        self.faults.seen["connections while the server was down"] = self.proxy.refused

    # Slurm

    def run_slurm(self):
        self.slurm = Slurm(self.folder / "slurm", 2)
        self.tare.environment |= {"SLURM_CONF": self.slurm.environment["SLURM_CONF"], "TMPDIR": str(self.folder / "tmp")}
        for name in ("tmp", "kept"):
            (self.folder / name).mkdir()
        threading.Thread(target=keep_stores, args=(self.folder / "tmp", self.folder / "kept"), daemon=True).start()
        for number in (1, 2):
            shared = self.folder / f"campaign-{number}"
            shared.mkdir()
            self.submit("slurm", "--engine", "slurm", "--folder", shared)
            self.slurm_faults()
        until(lambda: not self.slurm.jobs(), 120 + 4 * self.faults.seconds, "all jobs of Slurm end")
        for name in self.names:
            self.tare("lab", "collect", name, "--db", self.server.url())
        until(lambda: self.open_tasks() == 0, 30, "all tasks end")

    def slurm_faults(self):
        chance, node = self.faults.chance, 1
        for what, _ in self.faults.times():
            # When jobs run; a cluster of short tasks is idle now and then.
            until(lambda: "RUNNING" in self.slurm.jobs() or not self.slurm.jobs(), 60, "a job of Slurm runs")
            time.sleep(chance.uniform(0, 1))
            if what == "stop":
                self.slurm.restart_controller(kill=chance.random() < 0.5)
                self.faults.seen["restarts of slurmctld"] += 1
                continue
            self.slurm.kill_node(node)
            self.faults.seen["nodes killed"] += 1
            time.sleep(chance.uniform(0, 2))
            self.slurm.start_node(node)
            node = 3 - node

    def stop(self):
        """Ends everything, whatever happened before."""
        for agent in self.agents:
            if agent.alive():
                os.killpg(agent.process.pid, signal.SIGKILL)
                agent.process.wait()
        if self.slurm:
            self.slurm.stop()
        if self.proxy:
            self.proxy.stop()
        if self.server.running():
            self.server.stop()


def keep_stores(folder, kept):
    """Links each node's store, which its task removes when it has delivered its run. What a task that was killed leaves is in the log
    beside the store, so that a link is of use only when the store itself is gone: `local_stores`."""
    while True:
        # A folder may be gone before it is looked into.
        with contextlib.suppress(FileNotFoundError):
            for store in folder.glob("*/*.db"):
                with contextlib.suppress(FileNotFoundError, FileExistsError):
                    (kept / f"{store.stat().st_ino}.db").hardlink_to(store)
        time.sleep(0.02)


def local_stores(folder):
    """Of agents or tasks: those that are there, and links to those that are not."""
    there = [path for path in folder.glob("**/*.db") if path.parent.name != "kept"]
    inodes = {path.stat().st_ino for path in there}
    return sorted(there) + [path for path in sorted(folder.glob("kept/*.db")) if path.stat().st_ino not in inodes]


def tail(file, lines=15):
    return "\n".join(file.read_text(errors="replace").splitlines()[-lines:])


class Checks:
    """What must hold at the end. Each check raises Failed with the first difference."""

    def __init__(self, lab):
        self.lab, self.tare, self.found = lab, lab.tare, collections.Counter()
        self.local, self.local_counted = {}, {}
        for store in local_stores(lab.folder):
            for run, head in self.tare.runs(store).items():
                # An interrupted task of Slurm goes on in another store, with what it had.
                if run in self.local and not lab.slurm:
                    raise Failed(f"run {run} is in two local stores: {self.local[run]} and {store}")
                if run not in self.local or head["counted"] > self.local_counted[run]:
                    self.local[run], self.local_counted[run] = store, head["counted"]
        self.central = self.tare.runs(None)

    def all(self):
        finished = self.tasks()
        for run in sorted(self.central):
            self.run(run, run in finished)
        self.leases()
        self.processes()
        return self.found

    def tasks(self):
        """Each is done, with one run; returns these."""
        runs = {}
        for campaign, task in self.lab.tasks():
            where = f"task {task['ordinal']} of campaign {campaign['name']}"
            if task["state"] != "done":
                raise Failed(f"{where} is {task['state']}, expected done: {task.get('message')}")
            if len(task["runs"]) != 1:
                raise Failed(f"{where} has {len(task['runs'])} runs, expected 1: {task['runs']}")
            [run] = task["runs"]
            if run in runs:
                raise Failed(f"{where} has the run {run}, as {runs[run]}")
            if run not in self.central:
                raise Failed(f"{where} has the run {run}, which the central store does not have")
            if self.central[run]["status"] != "finished":
                raise Failed(f"{where} is done, but its run {run} is {self.central[run]['status']} in the central store")
            if self.central[run]["tags"].get("lab.campaign") != campaign["name"]:
                raise Failed(f"{where} has the run {run} of another campaign: {self.central[run]['tags']}")
            runs[run] = where
            self.found["tasks done"] += 1
            self.found["tasks started more than once"] += task["attempts"] > 1
        return runs

    def run(self, run, finished):
        """The samples and duets in the central store are those of the local one: all, or of an attempt that was given up, the first."""
        if run not in self.local:
            raise Failed(f"run {run} is in the central store, but in no local one")
        theirs, ours = self.tare.archive(run, None), self.tare.archive(run, self.local[run])
        for part in ("samples", "duets"):
            central, local = theirs.get(part, []), ours.get(part, [])
            places = [sample["seq"] for sample in central]
            if len(set(places)) != len(places):
                raise Failed(f"run {run}: the central store has {part} twice, by seq: {places}")
            lines = {sample["seq"]: canonical(sample) for sample in local}
            for sample in central:
                if lines.get(sample["seq"]) != canonical(sample):
                    raise Failed(f"run {run}: the {part} with seq {sample['seq']} differ: central {canonical(sample)[:300]}, "
                                 f"local {lines.get(sample['seq'], 'nothing')[:300]}")
            if finished and digest(central) != digest(local):
                raise Failed(f"run {run}: {len(central)} {part} in the central store, {len(local)} in the local one")
            self.found[f"{part} compared"] += len(central)
        if finished:
            self.head(run, theirs["run"], ours["run"])
            self.counted(run, theirs)
        self.found["runs compared" if finished else "runs of attempts that were given up"] += 1

    def head(self, run, central, local):
        for key in sorted((central.keys() | local.keys()) - {"id"}):
            if central.get(key) != local.get(key):
                raise Failed(f"run {run}: `{key}` differs: central {canonical(central.get(key))[:300]}, local {canonical(local.get(key))[:300]}")

    def counted(self, run, archive):
        """Each program has the counted samples that were asked for, once each, also after it was resumed. (In rounds: otherwise short
        programs are executed several times for each.)"""
        wanted = archive["run"]["plan"]["runs"]["fixed"]
        for series in range(len(archive["run"]["plan"]["programs"])):
            indices = sorted(sample["index"] for sample in archive["samples"]
                             if sample["series"] == series and sample["phase"] == "counted")
            if indices != list(range(wanted)):
                raise Failed(f"run {run}: program {series} has the counted samples {indices}, expected each from 0 to {wanted - 1}")

    def leases(self):
        for campaign, task in self.lab.tasks():
            if task["state"] == "leased" or (task["lease_ends"] is not None and task["state"] != "done"):
                raise Failed(f"task {task['ordinal']} of campaign {campaign['name']} is still leased: {task}")
        for machine in find(self.tare.json("lab", "machines"), {"name", "heartbeat", "task"}):
            if machine["task"] is not None:
                raise Failed(f"machine {machine['name']} still holds task {machine['task']}")

    def processes(self):
        try:
            # What an agent was killed over may run for a moment longer.
            until(lambda: not marked(MARK, self.lab.mark), 10, "processes end")
        except Failed:
            left = marked(MARK, self.lab.mark)
            raise Failed(f"{len(left)} processes are left: {left}") from None


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(samples):
    """Of the samples in the order of their `seq`."""
    ordered = sorted(samples, key=lambda sample: sample["seq"])
    return hashlib.sha256("\n".join(canonical(sample) for sample in ordered).encode()).hexdigest()


def table(title, counts):
    print(f"\n{title}")
    for what, number in counts.items():
        print(f"  {number:>8}  {what}")


def main():
    options = arguments()
    began = time.monotonic()
    if options.keep:
        folder = pathlib.Path(options.keep).resolve()
        folder.mkdir()
    else:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="lab-faults-"))
    # The server runs as another user.
    folder.chmod(0o755)
    lab, problem, found = None, None, {}
    try:
        lab = Lab(options, folder)
        if options.engine == "slurm":
            lab.run_slurm()
        else:
            lab.run_agents()
        found = Checks(lab).all()
    except (Failed, subprocess.TimeoutExpired) as failure:
        problem = failure
    finally:
        if lab:
            lab.stop()
    if lab:
        table(f"seed {options.seed}, {options.engine}, {time.monotonic() - began:.0f} s: what was done", lab.faults.seen)
        table("what was found", found)
    if problem:
        print(f"\nlab-faults.py: {problem}", file=sys.stderr)
        print(f"everything is kept in {folder}", file=sys.stderr)
        return 1
    if not options.keep:
        shutil.rmtree(folder)
    print("\nnothing was lost, nothing was counted twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
