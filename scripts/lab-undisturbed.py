#!/usr/bin/env python3
"""Checks that an agent of a lab does nothing while a program is measured: no packet, no connection, no wake-up.

    lab-undisturbed.py --tare PATH [--samples N]

Starts a PostgreSQL server, and twice an agent with a campaign of `sleep 2`, with a lease that is so short that it is extended between
any two samples:
  1. Without a tracer: from 0.3 s after the start of each `sleep` to 0.3 s before its end, no thread of the agent is switched to
     (/proc/PID/task/*/status), and none of its sockets is of TCP (/proc/net/tcp).
  2. Under strace: between the start and the end of each sample, as they are stored, the agent enters no system call of the network,
     and none at all but for the first 0.1 s, in which the program is started. Between samples it does connect to the server.
Exit code 1 if anything of this does not hold.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from lab_parts import DATABASE, Failed, Postgres, end, output

AGENT = "lab_agent"
SECONDS = 2
# It is extended after a quarter of it: between any two samples.
LEASE = 6
MARGIN = 0.3
# strace stops each process at its start, so that the launch takes longer.
LAUNCH = 0.1
NETWORK = {
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recv", "recvfrom", "recvmmsg",
    "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socket", "socketpair",
}
# `PID SECONDS NAME(…`; a call that another one interrupted in the output is finished on a line of its own: `PID SECONDS <... NAME resumed>…`.
CALL = re.compile(r"(\d+) +(\d+\.\d+) (\w+)\((.*)")
RESUMED = re.compile(r"(\d+) +(\d+\.\d+) <\.\.\. (\w+) resumed>(.*)")
STARTS = {"clone", "clone3", "fork", "vfork"}


def lab(options, folder):
    server = Postgres(folder / "server", trusted=(AGENT,))
    server.start()
    server.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TARE_", "XDG_", "PG"))}
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"}
    output(options.tare, "lab", "init", server.url(), env=environment)
    server.sql(f"CREATE ROLE {AGENT} LOGIN IN ROLE tare_agent")
    return server, environment


def submit(options, server, environment, folder, name):
    file = folder / f"{name}.toml"
    file.write_text(f'name = "{name}"\nsamples = {options.samples}\noptions = ["--warmup", "0"]\n[[program]]\ncommand = "sleep {SECONDS}"\n')
    output(options.tare, "lab", "submit", file, "--db", server.url(), env=environment)


def agent(options, server, folder, name):
    """The command line of an agent that does one task."""
    return [str(word) for word in (options.tare, "lab", "agent", "--db", server.tcp(AGENT), "--local", folder / f"{name}.db", "--name", name,
                                   "--lease", f"{LEASE}s", "--poll", "0.2s", "--once")]


def samples(options, environment, folder, name):
    """Start and end of each sample of the agent's local store, in seconds since 1970."""
    run = json.loads(output(options.tare, "export", "last", "--db", folder / f"{name}.db", env=environment))
    found = []
    for sample in run["samples"]:
        start = sample["wall_clock"] / 1e9
        found.append((start, start + (sample["end"]["monotonic"] - sample["start"]["monotonic"]) / 1e9))
    if len(found) != options.samples:
        raise Failed(f"the agent {name} took {len(found)} samples, expected {options.samples}")
    return found


# Without a tracer


def sleeping(pid):
    """The process of the measured program: a `sleep` below the agent."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text() == "sleep\n" and pid in ancestors(int(entry.name)):
                    return int(entry.name)
            except OSError:
                continue
    return None


def ancestors(pid):
    found = []
    while pid > 1:
        pid = int(re.search(r"^PPid:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])
        found.append(pid)
    return found


def switches(pid):
    """Voluntary and other switches of each thread."""
    found = {}
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (thread / "status").read_text()
        found[thread.name] = [int(n) for n in re.findall(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)", text, re.M)]
    return found


def connections(pid):
    """The sockets of TCP that a process has open, as lines of /proc/net/tcp."""
    own = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            own |= set(re.findall(r"^socket:\[(\d+)\]", os.readlink(descriptor)))
        except OSError:
            continue
    lines = [line for table in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return [line for line in lines if line.split()[9] in own]


def watched(options, server, environment, folder):
    name = "watched"
    submit(options, server, environment, folder, name)
    seen = set()
    with open(folder / f"{name}.log", "wb") as log:
        process = subprocess.Popen(agent(options, server, folder, name), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        while process.poll() is None:
            program = sleeping(process.pid)
            if program is None or program in seen:
                time.sleep(0.05)
                continue
            seen.add(program)
            time.sleep(MARGIN)
            before, open_ = switches(process.pid), connections(process.pid)
            time.sleep(SECONDS - 3 * MARGIN)
            after, still = switches(process.pid), connections(process.pid)
            if sleeping(process.pid) != program:
                raise Failed("the program ended while it was watched: this machine is too busy")
            if before != after:
                raise Failed(f"the agent was switched to during a sample (voluntary, other): {before}, then {after}")
            if open_ or still:
                raise Failed(f"the agent has a connection open during a sample: {(open_ + still)[0]}")
    finally:
        code = end(process)
    if code != 0:
        raise Failed(f"the agent ended with exit code {code}:\n{(folder / f'{name}.log').read_text()}")
    if len(seen) != options.samples:
        raise Failed(f"{len(seen)} executions of the program were seen, expected {options.samples}")
    print(f"  {len(seen):>6}  samples in which no thread of the agent ran and no connection was open")


# Under strace


def calls(trace):
    """The system calls of the agent's own threads and helpers: of processes that execute no other program. (Name, time of entry)."""
    entered, children, others, first = [], {}, set(), None
    for line in trace.read_text(errors="replace").splitlines():
        found = CALL.match(line) or RESUMED.match(line)
        if not found:
            continue
        pid, at, name, rest = found[1], float(found[2]), found[3], found[4]
        first = first or pid
        started = re.search(r"\) += (\d+)$", rest)
        if name in STARTS and started:
            children[started[1]] = pid
        # The first process executes the agent itself.
        if name == "execve" and pid != first and rest.rstrip().endswith("= 0"):
            others.add(pid)
        if CALL.match(line):
            entered.append((pid, at, name))

    def own(pid):
        while pid is not None:
            if pid in others:
                return False
            pid = children.get(pid)
        return True

    ours = {pid for pid, _, _ in entered if own(pid)}
    return [(name, at) for pid, at, name in entered if pid in ours]


def traced(options, server, environment, folder):
    name, trace = "traced", folder / "trace"
    submit(options, server, environment, folder, name)
    output("strace", "--follow-forks", "--absolute-timestamps=format:unix,precision:us", "--string-limit=64", "--output", trace,
           *agent(options, server, folder, name), env=environment, timeout=60 + 10 * SECONDS * options.samples)
    entered = calls(trace)
    found = sorted(samples(options, environment, folder, name))
    for start, stop in found:
        during = [(call, at - start) for call, at in entered if start <= at < stop]
        network = [(call, at) for call, at in during if call in NETWORK]
        if network:
            raise Failed(f"the agent used the network during a sample: {network[0][0]} after {network[0][1]:.3f} s")
        woken = [(call, at) for call, at in during if at > LAUNCH]
        if woken:
            raise Failed(f"the agent woke up during a sample of {stop - start:.3f} s: {woken[0][0]} after {woken[0][1]:.3f} s")
    # Otherwise this would prove nothing.
    between = [sum(a[1] <= at < b[0] for call, at in entered if call == "connect") for a, b in zip(found, found[1:])]
    if len(found) > 1 and not any(between):
        raise Failed("the agent did not connect to the server between any two samples: its lease was not extended")
    print(f"  {len(found):>6}  samples in which the agent entered no system call, of {len(entered):,} that it entered in all")
    print(f"  {sum(between):>6}  connections between samples")


def main():
    parser = argparse.ArgumentParser(description="Checks that an agent of a lab does nothing while a program is measured.")
    parser.add_argument("--tare", required=True, help="the command")
    parser.add_argument("--samples", type=int, default=4, help=f"samples of {SECONDS} s, for each of both parts (4)")
    options = parser.parse_args()
    options.tare = pathlib.Path(options.tare).resolve()
    if not shutil.which("strace"):
        parser.error("strace is missing: scripts/setup.sh test")
    folder, server = pathlib.Path(tempfile.mkdtemp(prefix="lab-undisturbed-")), None
    folder.chmod(0o755)
    try:
        server, environment = lab(options, folder)
        watched(options, server, environment, folder)
        traced(options, server, environment, folder)
    except Failed as failure:
        print(f"lab-undisturbed.py: {failure}\neverything is kept in {folder}", file=sys.stderr)
        return 1
    finally:
        if server:
            server.stop()
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
