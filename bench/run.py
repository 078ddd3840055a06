#!/usr/bin/env python3
"""Compares tare with a bare C loop, hyperfine and perf stat, interleaved, and prints Markdown (docs/benchmarks.md).

For one program, the elapsed time that each tool reports is compared with that of the bare loop: the closer, the less the tool
adds. The tools are interleaved, because the machine drifts; ratios are within a round, because rounds differ.

Arguments: the parts to run, of spawn, launch, fixed, images, own, computing, watch, empty, noise, model [all]. Environment: TARE (the command), RUNS (1000), ROUNDS (5),
TURNS (20, in a round).
"""
import datetime
import json
import os
import pathlib
import platform
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARE = str(pathlib.Path(os.environ.get("TARE", ROOT / "target/release/tare")).resolve())
RUNS = int(os.environ.get("RUNS", "1000"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
TURNS = int(os.environ.get("TURNS", "20"))
TRUE = shutil.which("true")
HYPERFINE = "1.20.0"
# Python has no name for it. Its resolution is the kernel's tick, 1/HZ.
CLOCK_MONOTONIC_COARSE = 6


def note(text):
    print(text, file=sys.stderr, flush=True)


def output(*command, **more):
    done = subprocess.run(command, check=False, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr}")
    return done.stdout


def hyperfine():
    """The current version, built once; the distribution's version if it cannot be built."""
    own = ROOT / "target/peers/bin/hyperfine"
    if not own.exists():
        note(f"building hyperfine {HYPERFINE}")
        subprocess.run(["cargo", "install", "--quiet", "--locked", "--root", ROOT / "target/peers",
                        "--version", HYPERFINE, "hyperfine"], check=False)
    return str(own) if own.exists() else shutil.which("hyperfine")


def tare(work, *arguments):
    """The JSON of a run. With a store, because a user's run has one."""
    return json.loads(output(TARE, "run", "--json", "--db", f"{work}/tare.db", *arguments))


def counted(document):
    return [s for s in document["samples"] if s["phase"] == "counted"]


def elapsed(sample):
    return sample["end"]["monotonic"] - sample["start"]["monotonic"]


def c_loop(work, runs=RUNS):
    return [int(line) for line in output(f"{work}/spawn_loop", str(runs), TRUE).split()]


def by_tare(work, runs, *arguments):
    return [elapsed(s) for s in counted(tare(work, "-r", str(runs), *arguments, "--", TRUE))]


def by_hyperfine(work, runs, command):
    file = f"{work}/hyperfine.json"
    output(command, "-N", "--style", "none", "--warmup", "1", "--runs", str(runs), "--export-json", file, TRUE)
    with open(file, encoding="utf-8") as f:
        return [t * 1e9 for t in json.load(f)["results"][0]["times"]]


def by_perf(_work, runs):
    """The mean: perf stat does not report single times."""
    text = subprocess.run(["perf", "stat", "-r", str(runs), TRUE], check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stderr
    return float(re.search(r"([\d.]+) \+- [\d.]+ seconds time elapsed|([\d.]+)\s+seconds time elapsed", text)[1]) * 1e9


def us(ns):
    return f"{ns / 1000:.1f}"


def in_turn(work, tool, runs=RUNS, turns=TURNS):
    """Times of a tool and of the C loop, interleaved because a machine drifts within seconds."""
    values, loop = [], []
    for turn in range(turns):
        # Loop, tool, tool, loop: a steady drift is the same for both.
        for who in (0, 1) if turn % 2 == 0 else (1, 0):
            if who == 0:
                loop += c_loop(work, runs // turns)
            else:
                values += tool(work, runs // turns)
    return values, loop


def spawn_part(work):
    peer = hyperfine()
    have_perf = shutil.which("perf") is not None
    tools = {
        "tare": by_tare,
        "tare --no-images": lambda w, n: by_tare(w, n, "--no-images"),
        "tare --no-account": lambda w, n: by_tare(w, n, "--no-account"),
    }
    if peer:
        tools["hyperfine -N"] = lambda w, n: by_hyperfine(w, n, peer)
    rounds = []
    names = list(tools)
    for number in range(ROUNDS):
        note(f"round {number + 1} of {ROUNDS}: load {os.getloadavg()[0]:.2f}")
        medians, loops = {}, {}
        # Each round begins with another tool, so that no tool always follows the same one.
        for name in names[number % len(names):] + names[:number % len(names)]:
            values, loop = in_turn(work, tools[name])
            medians[name], loops[name] = statistics.median(values), statistics.median(loop)
        perf = None
        if have_perf:
            values, loop = in_turn(work, lambda w, n: [by_perf(w, n)])
            perf, loops["perf"] = statistics.fmean(values), statistics.fmean(loop)
        rounds.append((medians, loops, perf))

    print(f"\n## Elapsed time of `true`, {RUNS} executions a round\n")
    print(f"Medians in µs of the tool and, after the slash, of the C loop, interleaved with it, {RUNS // TURNS} executions each. "
          "`perf stat` gives a mean only; beside it, the loop's mean.\n")
    print("| round | " + " | ".join(tools) + " | perf stat, mean |")
    print("| ---: |" + " ---: |" * (len(tools) + 1))
    for i, (medians, loops, perf) in enumerate(rounds):
        cells = [f"{us(medians[n])} / {us(loops[n])}" for n in tools]
        cells.append(f"{us(perf)} / {us(loops['perf'])}" if perf else "–")
        print(f"| {i + 1} | " + " | ".join(cells) + " |")
    print("\nRatios within a round:\n")
    print("| ratio | " + " | ".join(str(i + 1) for i in range(ROUNDS)) + " | median | wanted |")
    print("| --- |" + " ---: |" * (ROUNDS + 2))

    def ratios(label, values, wanted):
        print(f"| {label} | " + " | ".join(f"{v:.3f}" for v in values) + f" | **{statistics.median(values):.3f}** | {wanted} |")

    def to_loop(name):
        return [m[name] / loops[name] for m, loops, _ in rounds]

    for name in names:
        ratios(f"{name} / C loop", to_loop(name), "0.98 to 1.02" if name == "tare" else "")
    ratios("tare / tare --no-account", [a / b for a, b in zip(to_loop("tare"), to_loop("tare --no-account"))], "up to 1.01")
    if peer:
        ratios("tare / hyperfine -N", [a / b for a, b in zip(to_loop("tare"), to_loop("hyperfine -N"))], "below 1")
    if have_perf:
        ratios("perf stat / C loop (means)", [p / loops["perf"] for _, loops, p in rounds], "")
    return peer, have_perf


def launch_part(work):
    """What launching `true` takes longer by tare, by lower quartiles: on virtual machines a launch may have two speeds, and which
    one it has changes within seconds, so that medians of long blocks compare the speeds rather than the tools."""
    print("\n## Launching `true`\n")
    rounds, executions, turns = 16, 150, 5
    tools = {
        "tare": by_tare,
        "tare --no-account": lambda w, n: by_tare(w, n, "--no-account"),
        "tare --no-snapshots": lambda w, n: by_tare(w, n, "--no-snapshots"),
        "tare --no-account --no-snapshots": lambda w, n: by_tare(w, n, "--no-account", "--no-snapshots"),
    }
    lows = {name: [] for name in tools}
    everything = {name: ([], []) for name in tools}
    for number in range(rounds):
        note(f"launch: round {number + 1} of {rounds}")
        for name, tool in list(tools.items())[:: 1 if number % 2 == 0 else -1]:
            values, loop = in_turn(work, tool, executions, turns)
            lows[name].append([statistics.quantiles(v, n=4)[0] for v in (values, loop)])
            everything[name][0].extend(values)
            everything[name][1].extend(loop)
    print(f"Lower quartiles of elapsed time: {rounds} rounds of {executions} executions, the tool and the C loop interleaved, "
          f"{executions // turns} executions each.\n")
    print("| | of all, µs | C loop, µs | ratio | median of the rounds' ratios | least and most | wanted |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name in tools:
        low, loop = (statistics.quantiles(v, n=4)[0] for v in everything[name])
        ratios = [a / b for a, b in lows[name]]
        print(f"| {name} | {us(low)} | {us(loop)} | **{low / loop:.3f}** | **{statistics.median(ratios):.3f}** | "
              f"{min(ratios):.3f} to {max(ratios):.3f} | {'0.98 to 1.02' if name == 'tare' else ''} |")


def processes():
    return sum(1 for e in os.listdir("/proc") if e.isdigit())


def crowd(target):
    """Starts idle processes until the machine has `target` processes."""
    idle = []
    while processes() < target:
        idle += [subprocess.Popen(["sleep", "600"]) for _ in range(max(1, target - processes()))]
    return idle


def disperse(idle):
    for child in idle:
        child.kill()
    for child in idle:
        child.wait()


def images_part(work):
    print("\n## Snapshots: reading all processes before and after a sample\n")
    print("None of it falls inside the elapsed time. Idle processes are started to reach each number. Medians of "
          "20 samples, ms.\n")
    print("| processes | before | after | together | at most, of the 20 | wanted |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for target, wanted in ((200, 2), (2000, 10)):
        note(f"images at {target} processes")
        idle = crowd(target)
        try:
            samples = counted(tare(work, "-r", "20", "--", TRUE))
        finally:
            disperse(idle)
        images = [s["daemons"]["value"] for s in samples if "value" in s["daemons"]]
        if not images:
            print(f"| {target} | – | – | no snapshots: {samples[0]['daemons']} | | {wanted} |")
            continue
        both = [i["image_before"] + i["image_after"] for i in images]
        cells = [statistics.median(i["image_before"] for i in images), statistics.median(i["image_after"] for i in images),
                 statistics.median(both), max(both)]
        count = int(statistics.median(i["processes"] for i in images))
        print(f"| {count} | " + " | ".join(f"{c / 1e6:.2f}" for c in cells) + f" | ≤ {wanted} together |")


def own_part(work):
    print("\n## Tare's own use while the program runs\n")
    print("From just before the start to just after the end. One switch for the start (vfork) and one for the wait "
          "cannot be avoided; a third would be a wake-up of tare's own.\n")
    print("| program | samples | elapsed, s | own CPU time, µs | largest | voluntary switches | preempted |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    os.environ["TARE_CALIBRATION"] = work
    output(TARE, "inc", "--calibrate")
    for label, command, count in (("`sleep 10`", ["sleep", "10"], 3), ("`tare inc 10`", [TARE, "inc", "10", "-q"], 3),
                                  (f"`{TRUE}`", [TRUE], 100)):
        note(f"own use: {label}")
        samples = counted(tare(work, "-w", "0" if count == 3 else "1", "-r", str(count), "--", *command))
        own = [s["own"] for s in samples]
        cpu = [o["cpu"] for o in own]
        print(f"| {label} | {count} | {statistics.median(elapsed(s) for s in samples) / 1e9:.3f} | "
              f"{us(statistics.median(cpu))} | {us(max(cpu))} | "
              f"{statistics.median(o['voluntary_switches'] for o in own):.0f} (largest "
              f"{max(o['voluntary_switches'] for o in own)}) | {max(o['involuntary_switches'] for o in own)} |")
    print("\nWanted: at most 100 µs in a sample of 10 s, and no wake-up of its own.")


def fixed_part(work):
    """The cost of a run outside its samples: the command's elapsed and CPU time minus the samples' elapsed time."""
    print("\n## Fixed time of a run\n")
    print(f"Elapsed time of `tare run -w 0 -r 1 -- {TRUE}` minus its sample; {TURNS} interleaved rounds, quartiles in ms.\n")
    print("| options | elapsed | lower | upper | CPU time | wanted |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    cases = {"–": [], "`--no-account`": ["--no-account"], "`--no-account --no-images`": ["--no-account", "--no-images"]}
    times, cpu = {name: [] for name in cases}, {name: [] for name in cases}
    for turn in range(TURNS):
        for name, options in list(cases.items())[:: 1 if turn % 2 == 0 else -1]:
            before, children = time.monotonic_ns(), resource.getrusage(resource.RUSAGE_CHILDREN)
            document = tare(work, "-w", "0", "-r", "1", *options, "--", TRUE)
            took, after = time.monotonic_ns() - before, resource.getrusage(resource.RUSAGE_CHILDREN)
            times[name].append((took - sum(elapsed(s) for s in counted(document))) / 1e6)
            cpu[name].append((after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime) * 1e3)
    for name, values in times.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"| {name} | {middle:.0f} | {low:.0f} | {high:.0f} | {statistics.median(cpu[name]):.0f} | "
              f"{'≤ 150' if name == '–' else ''} |")


def watch_part(work):
    """The cost of a recording without its begin and end: that of a longer one minus that of a shorter one."""
    print("\n## Passive profiling\n")
    print("`tare profile --watch`, a snapshot each second, or less often to cost at most 0.05% of a CPU; CPU time of a longer recording minus that of a shorter one.\n")
    print("| processes | CPU time, ms a second | share of one CPU | wanted |")
    print("| ---: | ---: | ---: | ---: |")
    # With many processes the snapshots are some seconds apart, and a recording of few samples shows nothing.
    for target, lengths, wanted in ((200, (20, 80), "≤ 0.1 %"), (2000, (60, 180), "–")):
        note(f"watching {target} processes")
        idle = crowd(target)
        used = {}
        try:
            count = processes()
            for seconds in lengths:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                output(TARE, "profile", "--watch", "--for", f"{seconds}s", "--short", "1s", "--name", f"w{target}-{seconds}",
                       "--style", "none", "--db", f"{work}/watch.db")
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                used[seconds] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        finally:
            disperse(idle)
        share = (used[lengths[1]] - used[lengths[0]]) / (lengths[1] - lengths[0])
        print(f"| {count} | {share * 1e3:.2f} | {share * 100:.3f} % | {wanted} |")


def computing_part(work):
    """Whether a program that only computes is slower under tare."""
    print("\n## A program that only computes\n")
    note("a program that only computes")
    count = "20"
    script = f"{work}/work"
    with open(script, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec {TARE} work matr 700\n")
    os.chmod(script, 0o755)
    medians = {"C loop": [], "tare": []}
    for _ in range(ROUNDS):
        medians["C loop"].append(statistics.median(int(x) for x in output(f"{work}/spawn_loop", count, script).split()[-int(count):]))
        medians["tare"].append(statistics.median(elapsed(s) for s in counted(tare(work, "-r", count, "--", script))))
    ratio = [t / c for t, c in zip(medians["tare"], medians["C loop"])]
    print(f"`tare work matr 700`, {count} executions a round: C loop {statistics.median(medians['C loop']) / 1e6:.2f} ms, "
          f"tare {statistics.median(medians['tare']) / 1e6:.2f} ms; ratios " + ", ".join(f"{r:.3f}" for r in ratio)
          + f"; median **{statistics.median(ratio):.3f}**.")


def empty_part(work):
    """What tare's library and Google Benchmark add to the call of an empty function, and to an empty measurement."""
    print("\n## An empty function\n")
    if not pathlib.Path("/usr/include/benchmark/benchmark.h").exists():
        print("Google Benchmark is not installed (libbenchmark-dev).")
        return
    note("an empty function")
    libraries = pathlib.Path(TARE).parent
    c, cxx = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
    source = ROOT / "bench/empty"

    def build(compiler, *arguments):
        subprocess.run([compiler, "-O2", "-Wall", *map(str, arguments)], check=True)

    build(c, "-c", "-o", f"{work}/function.o", source / "function.c")
    build(c, "-I", ROOT / "bindings/c/include", "-o", f"{work}/by_tare", source / "by_tare.c", f"{work}/function.o",
          libraries / "libtare.a", "-lgcc_s", "-lpthread", "-ldl", "-lm")
    build(cxx, "-o", f"{work}/by_google", source / "by_google.cc", f"{work}/function.o", "-lbenchmark", "-lpthread")
    rows = {"tare": [], "Google Benchmark": []}
    for _ in range(ROUNDS * 2):
        rows["tare"].append([float(x) for x in output(f"{work}/by_tare").split()])
        report = json.loads(output(f"{work}/by_google", "--benchmark_format=json", "--benchmark_min_time=0.2"))
        times = {b["name"].split("/")[0]: b["real_time"] for b in report["benchmarks"]}
        rows["Google Benchmark"].append([times["call"], times["timed"]])
    print(f"Medians of {ROUNDS * 2} interleaved rounds. A call: in a loop, the loop included. A measurement: the time of a single\n"
          "measured call (tare: clock, call, clock; Google Benchmark: `PauseTiming`, `ResumeTiming` in the loop).\n"
          "tare reports the fastest trial of a round, Google Benchmark the mean of a round.\n")
    print("| | a call, ns | a measurement, ns |\n| --- | ---: | ---: |")
    for name, times in rows.items():
        print(f"| {name} | {statistics.median(t[0] for t in times):.3f} | {statistics.median(t[1] for t in times):.1f} |")
    ratios = [[t[i] / g[i] for t, g in zip(rows["tare"], rows["Google Benchmark"])] for i in (0, 1)]
    print("| tare / Google Benchmark | " + " | ".join(f"**{statistics.median(r):.3f}** ({min(r):.3f} to {max(r):.3f})" for r in ratios) + " |")


def ticks(detours, window, period):
    """Finds the tick among detours (begin, length; ns): those at the moment of each period at which most detours occur. Returns their
    number per second of the loop's CPU time, and their median length."""
    bins = 100

    def place(start):
        return int(start % period / period * bins) % bins

    counts = [0] * bins
    for start, _ in detours:
        counts[place(start)] += 1
    best = max(range(bins), key=lambda i: counts[i - 1] + counts[i] + counts[(i + 1) % bins])
    found = []
    for start, length in detours:
        if (place(start) + bins + 1 - best) % bins < 3 and (not found or start - found[-1][0] > period / 2):
            found.append((start, length))
    # Another task had the CPU.
    away = sum(length for _, length in detours if length > period / 4)
    return len(found) / (window - away) * 1e9, statistics.median(length for _, length in found if length <= period / 4)


def detours_of(lines):
    return [tuple(map(float, line.split())) for line in lines]


def noise_by_loop(work, cpu, period, _tick):
    head, *lines = output(f"{work}/detours", cpu, "3", "1000").splitlines()
    return ticks(detours_of(lines), float(head.split()[0]), period)


def noise_by_tare(work, cpu, period, tick):
    """The same from the detours of phases of a microsecond, measured by tare."""
    store = pathlib.Path(work, "noise.db")
    store.unlink(missing_ok=True)
    document = json.loads(output(TARE, "noise", "--calibrations", "100", "--cpus", cpu, "--grain", "1us", "--for", "3s", "--no-explain",
                                 "--json", "--db", store))
    lines = output(TARE, "noise", "export", "n1", "--as", "detours", "--threshold", f"{max(1000, tick / 4):.0f}ns", "--db", store).splitlines()
    # The last marks the end.
    lines = [line for line in lines if not line.startswith("#")][:-1]
    before, after = (pair["clock"] for pair in document["series"][0]["pairs"])
    return ticks(detours_of(lines), after - before, period)


def noise_by_record(_work, cpu, _period, _tick):
    """Timer interrupts from the kernel events: their rate and mean length."""
    document = json.loads(output(TARE, "noise", "--calibrations", "100", "--cpus", cpu, "--grain", "100us", "--for", "3s", "--json",
                                 "--db", "none"))
    by = document["grains"][0]["attribution"][0]["by"].get("value")
    timers = [s for s in by["sources"] if s["reason"]["kind"] == "timer"] if by else []
    return (by["timer_hz"], timers[0]["time"] / timers[0]["count"]) if timers else None


def noise_by_oslat(work, cpu, _period, tick):
    """Steps of oslat's loop that are at least half as long as a tick, of any cause: their rate, and their median to a microsecond."""
    file = f"{work}/oslat.json"
    output("oslat", "-c", cpu, "-D", "3s", "-b", "1000", f"--json={file}")
    with open(file, encoding="utf-8") as f:
        thread = json.load(f)["thread"]["0"]
    # Bucket N has the steps above N - 1 µs and up to N µs.
    steps = sorted((int(us), count) for us, count in thread["histogram"].items() if int(us) > max(1, round(tick / 2e3)))
    lengths = [us * 1e3 - 500.0 for us, count in steps for _ in range(count)]
    return (len(lengths) / thread["duration"], statistics.median(lengths)) if lengths else None


def noise_by_cyclictest(work, cpu):
    """How late a real-time thread wakes up: minimum, mean and maximum, in ns."""
    file = f"{work}/cyclictest.json"
    output("cyclictest", "-m", "-q", "-p", "90", "-t", "1", "-a", cpu, "-i", "1000", "-D", "3s", f"--json={file}")
    with open(file, encoding="utf-8") as f:
        thread = json.load(f)["thread"]["0"]
    return [thread[key] * 1000.0 for key in ("min", "avg", "max")]


def noise_part(work):
    """The tick as measured by tare, a plain loop that reads the counter, oslat and cyclictest, interleaved on one CPU."""
    print("\n## The tick\n")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-o", f"{work}/detours", ROOT / "bench/noise/detours.c"], check=True)
    cpu, period = str(max(os.sched_getaffinity(0))), time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1e9
    tools = {"plain loop": noise_by_loop, "tare, detours": noise_by_tare, "tare, kernel's record": noise_by_record}
    if shutil.which("oslat"):
        tools["oslat"] = noise_by_oslat
    rows, lateness = {name: [] for name in tools}, []
    for number in range(ROUNDS):
        note(f"noise: round {number + 1} of {ROUNDS}")
        tick = None
        for name, tool in tools.items():
            rows[name].append(tool(work, cpu, period, tick))
            tick = rows["plain loop"][-1][1]
        if shutil.which("cyclictest"):
            lateness.append(noise_by_cyclictest(work, cpu))
    print(f"CPU {cpu}, 3 s each, interleaved, {ROUNDS} rounds; this kernel's HZ is {1e9 / period:.0f}. Medians, and the median of the ratios within a\n"
          "round (minimum and maximum). Ticks are the detours at the moment of each period at which most detours begin. The\n"
          "kernel events have all timer interrupts, without interrupt entry and exit overhead but with the cost of recording; the length is\n"
          "their mean. oslat does not report when a step began: all steps of its loop of at least half a tick count, to 1 µs.\n")
    print("| | a second | / HZ | length, µs | / plain loop |\n| --- | ---: | ---: | ---: | ---: |")

    def ratio(values):
        return f"**{statistics.median(values):.3f}** ({min(values):.3f} to {max(values):.3f})"

    for name, figures in rows.items():
        both = [(f, loop) for f, loop in zip(figures, rows["plain loop"]) if f]
        if not both:
            print(f"| {name} | – | | – | |")
            continue
        print(f"| {name} | {statistics.median(f[0] for f, _ in both):.1f} | {ratio([f[0] * period / 1e9 for f, _ in both])} | "
              f"{statistics.median(f[1] for f, _ in both) / 1e3:.2f} | {ratio([f[1] / loop[1] for f, loop in both])} |")
    if lateness:
        least, mean, most = (statistics.median(row[i] for row in lateness) / 1e3 for i in range(3))
        print(f"\ncyclictest (SCHED_FIFO, each millisecond) wakes up {least:.0f} µs late at least, {mean:.0f} µs on average and {most:.0f} µs at most.")


def model_part(work):
    """CPU time and memory of the model and its report for ten million phases of noise, which are in memory at once."""
    print("\n## Ten million phases\n")
    print("`tare show` of the measurement: it reads it and computes all tables, with intervals for jobs on up to a million nodes.\n")
    print("| phases | CPU time, s | peak memory, MB | in the store, MB |")
    print("| --- | ---: | ---: | ---: |")
    rng = random.Random(1)
    phases = 10_000_000
    near = lambda i: 2_100 + rng.getrandbits(6) + (rng.getrandbits(13) if i % 4_000 == 0 else 0)
    wide = lambda i: 2_100_000 + i % 7 + rng.getrandbits(20) + (rng.getrandbits(24) if i % 4 == 0 else 0)
    store = pathlib.Path(work, "model.db")

    def show(name):
        pid = subprocess.Popen([TARE, "show", "n1", "--json", "--db", store], stdout=subprocess.DEVNULL).pid
        _, status, used = os.wait4(pid, 0)
        if status:
            sys.exit(f"tare show: status {status}")
        cpu = used.ru_utime + used.ru_stime
        print(f"| {name} | {cpu:.2f} | {used.ru_maxrss / 1000:.0f} | {store.stat().st_size / 1e6:.1f} |")
        store.unlink()

    for name, duration in (("1 µs each, with a tick", near), ("1 ms each, nearly all different", wide)):
        note(f"phases of {name}")
        file = pathlib.Path(work, "phases")
        with open(file, "w") as out:
            out.writelines(f"{duration(i)}\n" for i in range(phases))
        output(TARE, "noise", "import", "--as", "durations", "--unit", "cycles", "--hz", "2100000000", file, "--db", store)
        show(name)
    note("phases of 1 µs, measured here")
    short = ("--grain", "1us", "--phases", str(phases), "--calibrations", "300")
    output(TARE, "noise", *short, "--db", store)
    show("1 µs each, measured here, with the kernel's record")


def facts(peer, have_perf, load):
    def first(path, pattern, otherwise="unknown"):
        try:
            found = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8"), re.M)
            return found[1] if found else otherwise
        except OSError:
            return otherwise

    print("\n## Machine\n")
    virtual = "virtual" if re.search(r"^flags.*\bhypervisor\b", pathlib.Path("/proc/cpuinfo").read_text(), re.M) else "not virtual"
    cpu = first("/proc/cpuinfo", r"^model name\s*: (.*)")
    system = first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)')
    print(f"- {datetime.date.today().isoformat()}, {os.cpu_count()} × {cpu}, {virtual}")
    print(f"- Linux {platform.release()}, {system}")
    print(f"- load average (1 min) before {load[0]:.2f}, after {os.getloadavg()[0]:.2f}")
    versions = [output(TARE, "--version").strip(), output("cc", "--version").splitlines()[0]]
    if peer:
        versions.append(output(peer, "--version").strip())
    if have_perf:
        versions.append(output("perf", "--version").strip())
    print("- " + ", ".join(versions))


def main():
    load = os.getloadavg()
    parts = sys.argv[1:] or ["spawn", "launch", "fixed", "images", "own", "computing", "watch", "empty", "noise", "model"]
    with tempfile.TemporaryDirectory(prefix="tare-bench-") as work:
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-o", f"{work}/spawn_loop", ROOT / "bench/spawn_loop.c"],
                       check=True)
        print("# Benchmarks\n\nMade by `make -s bench >docs/benchmarks.md`; takes about ten minutes. The figures are from one "
              "machine\nwith the load average given at the end; compare the ratios.")
        peer, have_perf = None, False
        if "spawn" in parts:
            peer, have_perf = spawn_part(work)
        for name, part in (("launch", launch_part), ("fixed", fixed_part), ("images", images_part), ("own", own_part), ("computing", computing_part),
                           ("watch", watch_part), ("empty", empty_part), ("noise", noise_part), ("model", model_part)):
            if name in parts:
                part(work)
        facts(peer, have_perf, load)


main()
