#!/usr/bin/env python3
"""The checks of systemd.py, as a unit of the machine that it boots. Runs as root at each boot, and ends by powering off, or by a crash
after which the next boot continues. Each check is a line on the second serial port.
"""
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time

MACHINE = pathlib.Path("/machine")
WORK = MACHINE / "work"
KEPT = pathlib.Path("/root/before-the-crash.json")
UNITS = ["cron.service", "cups.socket", "cups.service", "cups.path", "avahi-daemon.socket", "avahi-daemon.service", "thermald.service",
         "packagekit.service"]
VITAL = ["dbus.service", "dbus.socket", "systemd-journald.service", "systemd-udevd.service", "systemd-logind.service", "user@1000.service",
         "postgresql@15-main.service"]
SETTINGS = ["kernel/watchdog", "kernel/soft_watchdog", "kernel/nmi_watchdog", "kernel/timer_migration", "kernel/randomize_va_space",
            "kernel/perf_event_max_sample_rate", "kernel/sched_rt_runtime_us", "vm/swappiness", "vm/compaction_proactiveness"]
LAB = "postgresql://root@/lab?host=/run/postgresql"
AGENT = "tare-lab-agent.service"


class Wrong(Exception):
    """What does not hold."""


def say(line):
    with open("/dev/ttyS1", "w", encoding="utf-8") as port:
        port.write(line + "\n")


def check(feature, who, tried):
    """Tries something: it returns a text about what works, or raises."""
    try:
        state, text = "works", tried()
    except (Wrong, AssertionError, OSError, subprocess.SubprocessError, KeyError, ValueError, IndexError, TypeError) as error:
        state, text = "fails", f"{type(error).__name__}: {error}" if not isinstance(error, Wrong) else str(error)
    print(f"{time.monotonic():.0f} s: {feature}, {who}: {state}", flush=True)
    say("\t".join(["CHECK", feature, who, state, " ".join(str(text).split())]))


def run(*command, code=0, timeout=240, **more):
    """Standard output of a command that ends with this exit code (any, if none is given)."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, timeout=timeout, **more)
    if code is not None and done.returncode != code:
        text = f"{done.stdout[-1200:]} {done.stderr[-1200:]}"
        raise Wrong(f"{' '.join(map(str, command))}: exit code {done.returncode} instead of {code}: {text}")
    return done.stdout


def until(true, seconds, what):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise Wrong(f"{what}: not within {seconds} s")
        time.sleep(0.1)


def equal(found, expected, what):
    if found != expected:
        if isinstance(found, dict):
            names = [name for name in {**found, **expected} if found.get(name) != expected.get(name)]
            found, expected = ({name: values.get(name) for name in names} for values in (found, expected))
        raise Wrong(f"{what}: {found} instead of {expected}")


def states():
    """Units with their states: those above, and all timers."""
    timers = [line.split()[0] for line in run("systemctl", "list-units", "--all", "--plain", "--no-legend", "--type=timer").splitlines()]
    names = sorted(set(UNITS + VITAL + timers))
    shown = run("systemctl", "show", "--property=ActiveState", *names).split()
    return dict(zip(names, (line.removeprefix("ActiveState=") for line in shown), strict=True))


def settings():
    files = {name: pathlib.Path("/proc/sys") / name for name in SETTINGS}
    return {name: file.read_text().strip() for name, file in files.items() if file.exists()}


def whole():
    return {**states(), **settings()}


def disturbing(units):
    """Those that tune stops."""
    return {name for name, state in units.items() if state == "active" and (name in UNITS or name.endswith(".timer"))}


def tuned(units):
    still = disturbing(states()) & disturbing(units)
    if still:
        raise Wrong(f"still active: {', '.join(sorted(still))}")


# The machine's units, by root.

def doctor():
    found = {factor["name"]: factor for factor in json.loads(run("tare", "doctor", "--json", code=None))["factors"]}
    before = states()
    listed = {name for factor in ("daemons", "timers") for name in found[factor]["value"].split(", ")}
    missing, vital = disturbing(before) - listed, set(VITAL) & listed
    if missing or vital:
        raise Wrong(f"not named: {missing or 'none'}; named, though vital: {vital or 'none'}; {found['daemons']['finding']}")
    return f"names {len(disturbing(before))} units and timers"


def tune_and_restore():
    before = whole()
    run("tare", "tune")
    tuned(before)
    run("tare", "restore")
    equal(whole(), before, "after restore")
    return f"stops and starts {len(disturbing(before))} units and timers"


def killed():
    before, times = whole(), []
    began = time.monotonic()
    run("tare", "tune")
    took = time.monotonic() - began
    run("tare", "restore")
    for seed in range(6):
        process = subprocess.Popen(["tare", "tune"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pause = took * random.Random(seed).uniform(0.2, 0.9)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        changed = sum(state != before[name] for name, state in whole().items())
        times.append(f"{changed} changed after {pause:.1f} s")
        run("tare", "restore")
        equal(whole(), before, f"after SIGKILL at {pause:.2f} s and restore")
    return f"restored each time: {', '.join(times)}"


def touched_by_others():
    before = whole()
    run("tare", "tune")
    run("systemctl", "start", "cups.service", "machine-often.timer")
    run("tare", "restore")
    equal(whole(), before, "after restore")
    return "what others started meanwhile runs"


def connected(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        try:
            client.connect(path)
        except OSError:
            return False
    return True


def by_socket():
    before = whole()
    equal(before["avahi-daemon.service"], "inactive", "before a connection")
    run("tare", "tune")
    if connected("/run/avahi.sock"):
        raise Wrong("the socket of a stopped unit accepts connections")
    run("tare", "restore")
    equal(whole(), before, "after restore")
    if not connected("/run/avahi.sock"):
        raise Wrong("the socket accepts no connection after restore")
    until(lambda: states()["avahi-daemon.service"] == "active", 20, "the service is started by its socket")
    active = whole()
    run("tare", "tune")
    tuned(active)
    run("tare", "restore")
    equal(whole(), active, "after restore, with the service that its socket had started")
    return "its socket is closed while tuned, and starts it afterwards"


def tuned_run():
    before = whole()
    run("tare", "run", "--tune", "--style", "none", "-w0", "-r2", "--", WORK, "burn-self", "20")
    equal(whole(), before, "after the run")
    return "tare run --tune leaves the units as they were"


def frozen_run():
    before = whole()
    run("tare", "run", "--tune", "--freeze", "--style", "none", "-w0", "-r2", "--", WORK, "burn-self", "20")
    frozen = [str(file.parent) for file in pathlib.Path("/sys/fs/cgroup").rglob("cgroup.freeze") if file.read_text().strip() == "1"]
    equal(frozen, [], "cgroups that stay frozen")
    equal(whole(), before, "after the run")
    return "nothing stays frozen"


def unit_that_fails():
    """It cannot start any more."""
    before = whole()
    run("tare", "tune")
    drop_in = pathlib.Path("/run/systemd/system/cups.service.d/fail.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nType=oneshot\nExecStart=\nExecStart=false\n")
    run("systemctl", "daemon-reload")
    said = run("tare", "restore", code=1)
    if "systemctl status cups.service" not in said:
        raise Wrong(f"the failed unit is not named: {said}")
    run("tare", "restore", "--forget", code=1)
    drop_in.unlink()
    run("systemctl", "daemon-reload")
    run("systemctl", "reset-failed")
    run("systemctl", "start", "cups.service", "cups.socket")
    equal(whole(), before, "after it was started by hand")
    run("tare", "restore")
    return "a unit that fails to start is named, --forget drops it"


# An ordinary user's delegated scope.

def alice(*command, **more):
    return run("runuser", "-u", "alice", "--", "env", "HOME=/home/alice", "XDG_RUNTIME_DIR=/run/user/1000",
               "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", *command, cwd="/home/alice", **more)


def in_scope(*command, **more):
    return alice("systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", *command, **more)


def process_time():
    truth = pathlib.Path("/home/alice/truth")
    truth.unlink(missing_ok=True)
    document = json.loads(in_scope("env", f"BURNER_TRUTH={truth}", "tare", "run", "--json", "-w0", "-r3", "--", WORK, "burn-self", "500"))
    true = [int(line.split()[2]) for line in truth.read_text().splitlines()]
    shares = []
    for sample, known in zip(document["samples"], true, strict=True):
        times = sample["process_times"]
        times = times.get("value", times)
        equal(times["source"], "cgroup", "the source of process time")
        cgroup, waited = (times[name]["value"]["total"] for name in ("cgroup", "wait4"))
        # What comes before and after the program's own reading takes tens of milliseconds where each instruction is translated.
        if not known <= cgroup <= known * 1.2:
            raise Wrong(f"{cgroup} ns, of which the program itself saw {known}")
        shares.append(abs(cgroup / waited - 1))
    if max(shares) > 0.01:
        raise Wrong(f"differs from wait4 by {shares}")
    return f"by cgroup v2, within {max(shares):.2%} of what wait4 sees of a single process"


def weights():
    count = int(run(WORK, "calibrate", "200"))
    in_scope("tare", "run", "--json", "--order", "duet", "-w0", "-r3", f"{WORK} loop {count}", f"{WORK} loop {count * 3 // 2}")
    archive = json.loads(alice("tare", "export", "last"))
    found = [side["weight"] for duet in archive["duets"] for side in duet["sides"]]
    kinds = {weight["kind"] for weight in found}
    equal(kinds, {"cgroup"}, f"weights of duets ({found[:2]})")
    left = [str(folder) for folder in pathlib.Path("/sys/fs/cgroup").rglob("tare*") if folder.is_dir()]
    equal(left, [], "cgroups that are left")
    return f"cpu.weight {found[0]['value']} and {found[1]['value']}"


def quota():
    """Two levels above the program's own cgroup have one: the scope's is used up."""
    texts = []
    for scope in (["systemd-run", "--scope"], None):
        options = ("--quiet", "-p", "CPUQuota=20%")
        tare = ("tare", "run", "--json", "-w0", "-r3", "--", WORK, "burn-self", "300")
        said = run(*scope, *options, *tare) if scope else in_scope("-p", "CPUQuota=20%", *tare)
        for sample in json.loads(said)["samples"]:
            cgroup, share = sample["cgroup_limits"]["value"]["throttled"][0]
            elapsed = sample["end"]["monotonic"] - sample["start"]["monotonic"]
            if ".scope" not in cgroup or not 0.5 * elapsed < share["time"] < 2 * elapsed:
                raise Wrong(f"{share} in {cgroup}, of {elapsed} ns")
            account = sample["account"].get("value")
            waited = account and account["main"]["preempted"]["time"] + account["main"]["woken"]["time"]
            if scope and not 0.5 * share["time"] < waited <= elapsed:
                raise Wrong(f"the account has waits of {waited} ns, the quota took {share['time']} ns")
        texts.append(f"{share['time'] / elapsed:.0%}")
    shown = run("tare", "show", "last", "--full")
    if "throttled by the quota of cgroup" not in shown:
        raise Wrong(f"no entry in the account: {shown}")
    return f"a scope of 20% holds a program up for {texts[0]} of its time (root), {texts[1]} (user)"


def memory():
    """The limit of the service that tare is in. Of a scope, systemd stops all that is in it when memory runs out there."""
    service = ("--quiet", "--wait", "--pipe", "-p", "MemoryMax=150M", "-p", "MemorySwapMax=0", "-p", "OOMPolicy=continue")
    tare = ("sh", "-c", "exec \"$@\" 2>&1", "sh", "tare", "run", "--db", "none", "-w0", "-r1", "-S", "sh")
    hog = "dd if=/dev/zero of=/dev/null bs=400M count=1"
    failed = run("systemd-run", *service, *tare, f"exec {hog}", code=1)
    if "as memory ran out at the limit of cgroup /" not in failed:
        raise Wrong(failed)
    survived = alice("systemd-run", "--user", "-p", "Delegate=yes", *service, *tare, f"{hog}; true")
    # Lines end at the width of the terminal.
    if "Memory ran out at the limit of cgroup /" not in " ".join(survived.split()):
        raise Wrong(survived)
    return "what the kernel killed at the service's limit is named, and warned of where the program goes on"


def doctor_in_scope():
    limited = alice("systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", "-p", "CPUQuota=50%", "tare", "doctor", "--json",
                    "--only", "cpu-quota", code=None)
    factor = json.loads(limited)["factors"][0]
    if not factor["finding"].startswith("0.5 CPUs for all of /user.slice/user-1000.slice/user@1000.service/"):
        raise Wrong(factor["finding"])
    return factor["finding"]


def plain_user():
    said = alice("tare", "tune", "--only", "daemons,timers", code=1)
    if "refused" not in said:
        raise Wrong(said)
    alice("tare", "restore")
    return "refused, with systemd's reason"


# The agent of a lab.

def sql(text):
    return run("psql", "--host=/run/postgresql", "--no-psqlrc", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--command", text,
               "lab").strip()


def lab_is_set_up():
    until(lambda: subprocess.run(["pg_isready", "-q"], check=False).returncode == 0, 90, "PostgreSQL answers")
    postgres = ("runuser", "-u", "postgres", "--")
    run(*postgres, "createuser", "--superuser", "root", cwd="/")
    run("createdb", "--host=/run/postgresql", "lab")
    run("tare", "lab", "init", LAB)
    sql("CREATE ROLE node1 LOGIN PASSWORD 'trial' IN ROLE tare_agent")
    etc = pathlib.Path("/etc/tare")
    etc.mkdir(exist_ok=True)
    (etc / "pgpass").write_text("127.0.0.1:5432:lab:node1:trial\n")
    (etc / "pgpass").chmod(0o600)
    (etc / "lab-agent.env").write_text("TARE_DB=postgresql://node1@127.0.0.1/lab?sslmode=disable\nPGPASSFILE=/etc/tare/pgpass\n"
                                       "AGENT_OPTIONS=--name machine --poll 1s --lease 20s\n")
    shipped = (MACHINE / "tare-lab-agent.service").read_text()
    pathlib.Path("/etc/systemd/system", AGENT).write_text(shipped)
    drop_in = pathlib.Path(f"/etc/systemd/system/{AGENT}.d/soon.conf")
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nRestartSec=1s\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", AGENT)
    until(lambda: "waits for tasks" in journal(), 60, "the agent waits for tasks")
    equal(run("systemctl", "is-active", AGENT).strip(), "active", "the unit")
    return "the shipped unit starts and reaches the server"


def journal():
    return run("journalctl", "--no-pager", "--output=cat", "--boot", "--unit", AGENT, code=None)


def campaign(name, disturb):
    """A campaign in whose midst something happens to its agent; it must end as if nothing had."""
    count = int(run(WORK, "calibrate", "200"))
    file = pathlib.Path(f"/root/{name}.toml")
    file.write_text(f'name = "{name}"\nsamples = 10\norder = "{"duet" if name == "killed" else "rounds"}"\noptions = ["--warmup", "0"]\n'
                    f'[[program]]\nlabel = "one"\ncommand = "{WORK} loop {count}"\n'
                    f'[[program]]\nlabel = "other"\ncommand = "{WORK} loop {count}"\n')
    said = len(journal())
    run("tare", "lab", "submit", file, "--db", LAB)
    until(lambda: f"of {name}, attempt 1: begins" in journal(), 60, "the task begins")
    # Into the samples.
    time.sleep(6)
    disturb()
    end = time.monotonic() + 240
    while (state := state_of(name)) not in ("done", "failed", "cancelled"):
        if time.monotonic() > end:
            raise Wrong(f"the task is {state} after 240 s: {journal()[said:][-1500:]}")
        # Each look takes CPU time from the measurement.
        time.sleep(10)
    news = journal()[said:]
    equal(state, "done", f"the task ({news[-1500:]})")
    if "resumes run" not in news:
        raise Wrong(f"the run was not resumed: {news[-1500:]}")
    there = json.loads(run("tare", "lab", "results", name, "--db", LAB, "--json"))
    return there, news


def state_of(name):
    status = json.loads(run("tare", "lab", "status", name, "--db", LAB, "--json"))
    return status["tasks"][0]["state"]


def samples_of(place, uuid):
    """The executions of a run in a store, by their numbers."""
    archive = json.loads(run("tare", "export", uuid, "--db", place))
    return archive.get("samples", []), archive.get("duets", [])


def survives(name, disturb):
    there, news = campaign(name, disturb)
    runs = there["documents"] if "documents" in there else there["runs"] if "runs" in there else there
    equal(len(runs), 1, "runs of the campaign")
    uuid = runs[0]["uuid"]
    central, local = samples_of(LAB, uuid), samples_of("/var/lib/tare-lab/tare.db", uuid)
    equal([len(part) for part in central], [len(part) for part in local], "samples and duets in the central and the local store")
    if central != local:
        raise Wrong("samples differ between the central and the local store")
    taken = sum(map(len, central))
    weights_of = {side["weight"]["kind"] for duet in central[1] for side in duet["sides"]}
    equal(weights_of, {"cgroup"} if central[1] else set(), "weights of duets in the unit's cgroup")
    equal(run("systemctl", "is-active", AGENT).strip(), "active", "the unit")
    attempts = news.count(": begins")
    return f"{taken} samples and duets, each once, in {attempts} attempts; the run was resumed"


def restarted():
    return survives("restarted", lambda: run("systemctl", "restart", AGENT))


def agent_killed():
    def kill():
        run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", AGENT)
    return survives("killed", kill)


# A crash while the machine is tuned.

def crash():
    run("systemctl", "start", "thermald.service")
    with open(KEPT, "w", encoding="utf-8") as file:
        json.dump(whole(), file)
        file.flush()
        os.fsync(file.fileno())
    run("tare", "tune")
    tuned(json.loads(KEPT.read_text()))
    say("NEXT")
    time.sleep(1)
    # What the journal holds was flushed by tare; the rest of the disk is as after a power cut.
    pathlib.Path("/proc/sysrq-trigger").write_text("b")
    time.sleep(60)


def rebooted():
    before = json.loads(KEPT.read_text())
    said = subprocess.run(["tare", "list"], check=False, capture_output=True, text=True, timeout=60).stderr
    if "restore" not in said:
        raise Wrong(f"no warning of a journal that is pending: {said!r}")
    said = run("tare", "restore")
    if "rebooted" not in said:
        raise Wrong(said)
    after = whole()
    equal({name: after.get(name) for name in UNITS}, {name: before[name] for name in UNITS}, "units after the reboot and restore")
    timers = {name for name, state in before.items() if name.endswith(".timer") and state == "active"}
    equal({name: after.get(name) for name in timers}, dict.fromkeys(timers, "active"), "timers after the reboot and restore")
    equal(settings(), {name: before[name] for name in settings()}, "settings after the reboot")
    said = subprocess.run(["tare", "list"], check=False, capture_output=True, text=True, timeout=60).stderr
    if "restore" in said:
        raise Wrong(f"a warning after restore: {said}")
    return "units that were started by hand run again, settings are those of the boot, and nothing is pending"


PARTS = {
    "machine": [("doctor", "root", doctor), ("tune, restore", "root", tune_and_restore), ("tune, SIGKILL, restore", "root", killed),
                ("tune, units started by others", "root", touched_by_others), ("tune, socket-activated unit", "root", by_socket),
                ("run --tune", "root", tuned_run),
                ("run --tune --freeze", "root", frozen_run), ("restore of a unit that fails", "root", unit_that_fails)],
    "user": [("process time in a delegated scope", "user", process_time), ("weights of duets in a delegated scope", "user", weights),
             ("quota of a scope", "user", quota), ("memory of a service", "user", memory),
             ("doctor in a scope with a quota", "user", doctor_in_scope), ("tune", "user", plain_user)],
    "lab": [("lab agent as a unit", "root", lab_is_set_up), ("lab agent, restart of the unit", "root", restarted),
            ("lab agent, SIGKILL", "root", agent_killed)],
}


def main():
    only = [part for part in (MACHINE / "parts").read_text().split(",") if part] or [*PARTS, "reboot"]
    run("systemctl", "is-system-running", "--wait", code=None)
    if KEPT.exists():
        check("tune, crash, reboot, restore", "root", rebooted)
    else:
        for part in (part for part in PARTS if part in only):
            for feature, who, tried in PARTS[part]:
                check(feature, who, tried)
        if "reboot" in only:
            try:
                crash()
            except Wrong as error:
                say("\t".join(["CHECK", "tune, crash, reboot, restore", "root", "fails", " ".join(str(error).split())]))
    say("END")
    run("systemctl", "poweroff")


if __name__ == "__main__":
    os.chdir("/root")
    sys.exit(main())
