#!/usr/bin/env python3
"""The error of a ratio whose truth is known: two executions of the same work, R and 1.01 R times, compared by tare and by hyperfine
in turn, on a machine that is idle, that has three competitors for the same CPU, and that has a memory hog on the other one.

Prints Markdown for docs/compare.md. The truth is 1.01 less the share of what is done before (a start without repetitions, the shortest of
five), which R does not change; both tools are held against it. Root mean square errors, in per cent.

Environment: TARE (the command), REPEATS (10), BLOCKS (10), KINDS and CONDITIONS (comma-separated; all).
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARE = str(pathlib.Path(os.environ.get("TARE", ROOT / "target/release/tare")).resolve())
REPEATS = int(os.environ.get("REPEATS", "10"))
BLOCKS = int(os.environ.get("BLOCKS", "10"))
# The time that R repetitions are to take, s.
LENGTH = 0.1
STEP = 1.01
KINDS = ["multiply", "sort", "matrix", "l1", "branches", "calls", "stream", "memory"]
CONDITIONS = ["idle", "competitors", "hog"]
HYPERFINE = str(ROOT / "target/peers/bin/hyperfine")


def chosen(name, all_of_them):
    named = os.environ.get(name)
    return named.split(",") if named else all_of_them


def cpu_time(command):
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def calibrate(program, kind):
    """How many repetitions take LENGTH, and the truth of STEP times as many: what is set up before them does not grow."""
    def shortest(repetitions):
        return min(cpu_time([program, kind, str(repetitions)]) for _ in range(5))

    setup = shortest(0)
    repetitions = 100
    # Much longer than what is set up, whose time differs by tens of per cent from one second to the next.
    while (took := shortest(repetitions)) < 1.5 * setup + LENGTH / 4:
        repetitions *= 2
    each = (took - setup) / repetitions
    wanted = 100 * max(round(LENGTH / each / 100), 1)
    work = shortest(wanted) - setup
    return wanted, 1 + (STEP - 1) * work / (work + setup)


def by_tare(folder, commands):
    """The ratio with its interval."""
    run = subprocess.run(
        [TARE, "run", "--json", "--db", f"{folder}/tare.db", "--order", "duet", "-r", str(BLOCKS), *commands],
        check=True, capture_output=True, text=True)
    comparison = json.loads(run.stdout)["report"]["comparisons"][0]
    assert comparison["basis"] == "duets", comparison
    interval = comparison["interval"].get("Ok")
    return comparison["ratio"], interval


def by_hyperfine(folder, commands):
    file = f"{folder}/hyperfine.json"
    subprocess.run([HYPERFINE, "-N", "-w", "1", "-r", str(BLOCKS), "--export-json", file, *commands],
                   check=True, capture_output=True)
    first, second = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["results"]
    return second["mean"] / first["mean"]


def load(condition, program):
    """Starts what disturbs; returns the processes."""
    cpus = sorted(os.sched_getaffinity(0))
    if condition == "competitors":
        return [subprocess.Popen([program, "multiply", "1000000000"], preexec_fn=lambda: os.sched_setaffinity(0, cpus[-1:]))
                for _ in range(3)]
    if condition == "hog":
        return [subprocess.Popen([program, "stream", "1000000000"], preexec_fn=lambda: os.sched_setaffinity(0, cpus[:1]))]
    return []


def rmse(errors):
    return math.sqrt(statistics.mean(e * e for e in errors))


def row(folder, program, condition, kind):
    repetitions, truth = calibrate(program, kind)
    commands = [f"{program} {kind} {repetitions}", f"{program} {kind} {round(repetitions * STEP)}"]
    tare, peer, held, seconds = [], [], 0, [0.0, 0.0]
    disturbers = load(condition, program)
    try:
        for _ in range(REPEATS):
            began = time.monotonic()
            ratio, interval = by_tare(folder, commands)
            middle = time.monotonic()
            tare.append((ratio / truth - 1) * 100)
            held += interval is not None and interval["low"] <= truth <= interval["high"]
            peer.append((by_hyperfine(folder, commands) / truth - 1) * 100)
            seconds[0] += middle - began
            seconds[1] += time.monotonic() - middle
    finally:
        for process in disturbers:
            process.kill()
            process.wait()
    print(f"| {condition} | {kind} | {(truth - 1) * 100:.2f}% | **{rmse(tare):.2f}%** | {statistics.mean(tare):+.2f}% | "
          f"{held} of {REPEATS} | {rmse(peer):.2f}% | {rmse(peer) / rmse(tare):.0f} | "
          f"{seconds[0] / REPEATS:.1f} s, {seconds[1] / REPEATS:.1f} s |", flush=True)
    return rmse(tare), rmse(peer)


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/kinds"
        subprocess.run(["cc", "-O2", "-o", program, ROOT / "bench/ratio/kinds.c"], check=True)
        print("| machine | work | truth | tare, r.m.s. error | its mean error | interval holds the truth | hyperfine, r.m.s. error "
              "| times | time of each |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for condition in chosen("CONDITIONS", CONDITIONS):
            for kind in chosen("KINDS", KINDS):
                row(folder, program, condition, kind)


if __name__ == "__main__":
    sys.exit(main())
