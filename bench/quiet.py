#!/usr/bin/env python3
"""How well a figure of a program repeats, and how true it is, with probes and the gate (`tare run --quiet`), in turn with hyperfine.

repeat      Ten executions of each program by each method, in random order, GROUPS times: relative standard deviation of the figure
            that each method reports.
truth       R and 1.04 R repetitions of the same work, each measured by itself: the ratio of the two quiet times.
neighbours  The quiet time beside a memory hog on another CPU, a competitor on the same one, and both, against that without them.
cost        Process time with probes and without, interleaved; CPU time of the probes; wall time with the gate.

Prints Markdown for docs/quiet.md. Arguments: the parts [all]. Environment: TARE (the command), GROUPS (12), SERIES (10, of truth),
KINDS (multiply,sort,matrix,l1,branches,calls,stream,memory), DATABASE (a store that keeps what was learned; a new one).
"""
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import ratio

KINDS = ["multiply", "sort", "matrix", "l1", "branches", "calls", "stream", "memory"]
RUNS = 10
MORE = 1.04
GROUPS = int(os.environ.get("GROUPS", "12"))
SERIES = int(os.environ.get("SERIES", "10"))


class Bench:
    """The programs, and the store of what is learned of the machine."""

    def __init__(self, folder):
        self.folder = folder
        self.store = os.environ.get("DATABASE", f"{folder}/tare.db")
        self.program = f"{folder}/kinds"
        subprocess.run(["cc", "-O2", "-o", self.program, ratio.ROOT / "bench/ratio/kinds.c"], check=True)
        self.cpu = sorted(os.sched_getaffinity(0))[-1]

    def kinds(self):
        """Name and command of each kind of exact work."""
        found = {}
        for kind in ratio.chosen("KINDS", KINDS):
            repetitions, _ = ratio.calibrate(self.program, kind)
            found[kind] = f"{self.program} {kind} {repetitions}"
        return found

    def real(self):
        """Real programs, on text that is always the same."""
        text = pathlib.Path(self.folder, "numbers.txt")
        text.write_text("".join(f"{n * 7919 % 1000003} {n}\n" for n in range(300_000)), encoding="utf-8")
        return {"gzip": f"gzip -6 -k -c {text}", "xz": f"xz -0 -T1 -k -c {text}"}

    def tare(self, command, *options):
        """The report of one program."""
        run = subprocess.run([ratio.TARE, "run", "--json", "--db", self.store, "-r", str(RUNS), "--cpus", str(self.cpu),
                              *options, command], check=True, capture_output=True, text=True)
        return json.loads(run.stdout)["report"]["series"][0]

    def hyperfine(self, command):
        """Its mean elapsed time, s, on the same CPU."""
        file = f"{self.folder}/hyperfine.json"
        subprocess.run(["taskset", "-c", str(self.cpu), ratio.HYPERFINE, "-N", "-w", "1", "-r", str(RUNS), "--export-json", file,
                        command], check=True, capture_output=True)
        return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["results"][0]["mean"]


def quiet_of(series):
    """The quiet time of a series, s, with its interval; None where it was refused."""
    found = (series.get("quiet") or {}).get("Ok")
    return found and (found["value"] / 1e9, found["interval"]["low"] / 1e9, found["interval"]["high"] / 1e9)


def shown(series):
    """What a reader gets as the figure: the quiet time, or the mean process time where it was refused."""
    found = quiet_of(series)
    return found[0] if found else series["pt"]["value"]["mean"] / 1e9


def spread(values):
    return statistics.stdev(values) / statistics.mean(values) * 100


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values)))


METHODS = {
    "hyperfine": lambda bench, command: (bench.hyperfine(command), False),
    "plain": lambda bench, command: (bench.tare(command)["pt"]["value"]["mean"] / 1e9, False),
    "corrected": lambda bench, command: with_refusal(bench.tare(command, "--correct")),
    "gated and corrected": lambda bench, command: with_refusal(bench.tare(command, "--quiet")),
}


def with_refusal(series):
    return shown(series), quiet_of(series) is None


def repeat(bench):
    programs = bench.kinds() | bench.real()
    figures = {(p, m): [] for p in programs for m in METHODS}
    refused, seconds = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0.0)
    for _ in range(GROUPS):
        turn = list(figures)
        random.shuffle(turn)
        for name, method in turn:
            began = time.monotonic()
            figure, no = METHODS[method](bench, programs[name])
            seconds[method] += time.monotonic() - began
            figures[name, method].append(figure)
            refused[method] += no
    print("| method | " + " | ".join(programs) + " | geometric mean | refused | wall time |")
    print("| --- |" + " ---: |" * (len(programs) + 3))
    for method in METHODS:
        spreads = [spread(figures[name, method]) for name in programs]
        row = " | ".join(f"{s:.2f}" for s in spreads)
        print(f"| {method} | {row} | **{geometric(spreads):.2f}** | {refused[method]} of {GROUPS * len(programs)} | "
              f"{seconds[method] / seconds['hyperfine']:.1f} |", flush=True)


def truth(bench):
    print("| work | truth | ratio of the quiet times, mean ± s.d. | interval holds the truth | of mean process times |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for kind in ratio.chosen("KINDS", KINDS):
        repetitions, by_one = ratio.calibrate(bench.program, kind)
        expected = 1 + (by_one - 1) / (ratio.STEP - 1) * (MORE - 1)
        commands = [f"{bench.program} {kind} {repetitions}", f"{bench.program} {kind} {round(repetitions * MORE)}"]
        ratios, plain, held = [], [], 0
        for _ in range(SERIES):
            series = [bench.tare(command, "--quiet") for command in commands]
            plain.append(series[1]["pt"]["value"]["mean"] / series[0]["pt"]["value"]["mean"])
            found = [quiet_of(s) for s in series]
            if None in found:
                continue
            first, second = found
            ratios.append(second[0] / first[0])
            # The half widths are of independent measurements.
            half = math.hypot((first[2] - first[1]) / 2 / first[0], (second[2] - second[1]) / 2 / second[0])
            held += abs(math.log(ratios[-1] / expected)) <= half
        told = f"{statistics.mean(ratios):.4f} ± {statistics.stdev(ratios):.4f}" if len(ratios) > 1 else "refused"
        print(f"| {kind} | {expected:.4f} | {told} | {held} of {len(ratios)} | "
              f"{statistics.mean(plain):.4f} ± {statistics.stdev(plain):.4f} |", flush=True)


def beside(bench, hog, competitor):
    cpus = sorted(os.sched_getaffinity(0))
    found = []
    if hog:
        found.append(subprocess.Popen([bench.program, "stream", "1000000000"],
                                      preexec_fn=lambda: os.sched_setaffinity(0, cpus[:1])))
    if competitor:
        found.append(subprocess.Popen([bench.program, "multiply", "1000000000"],
                                      preexec_fn=lambda: os.sched_setaffinity(0, cpus[-1:])))
    return found


def neighbours(bench):
    states = {"none": (False, False), "memory hog": (True, False), "competitor": (False, True), "both": (True, True)}
    print("| work | " + " | ".join(f"{s}: quiet time" for s in states if s != "none") + " | process time beside both |")
    print("| --- |" + " ---: |" * len(states))
    for name, command in bench.kinds().items():
        values, plain = {s: [] for s in states}, {s: [] for s in states}
        for _ in range(max(SERIES // 3, 2)):
            for state, what in states.items():
                disturbers = beside(bench, *what)
                try:
                    series = bench.tare(command, "--quiet")
                finally:
                    for process in disturbers:
                        process.kill()
                        process.wait()
                values[state].append(shown(series))
                plain[state].append(series["pt"]["value"]["mean"])
        quiet = statistics.median(values["none"])
        cells = [f"{(statistics.median(values[s]) / quiet - 1) * 100:+.2f}%" for s in states if s != "none"]
        raw = statistics.median(plain["both"]) / statistics.median(plain["none"]) - 1
        print(f"| {name} | " + " | ".join(cells) + f" | {raw * 100:+.1f}% |", flush=True)


def cost(bench):
    print("| work | process time by the probes | CPU time of the probes | wall time with the gate |")
    print("| --- | ---: | ---: | ---: |")
    for name, command in (bench.kinds() | bench.real()).items():
        logs, wall = [], [0.0, 0.0]
        for _ in range(SERIES):
            probed = bench.tare(command, "--correct")["pt"]["value"]["median"]
            plain = bench.tare(command)["pt"]["value"]["median"]
            logs.append(math.log(probed / plain))
            for i, options in enumerate([[], ["--quiet"]]):
                began = time.monotonic()
                bench.tare(command, *options)
                wall[i] += time.monotonic() - began
        error = statistics.stdev(logs) / math.sqrt(len(logs))
        print(f"| {name} | {statistics.mean(logs) * 100:+.2f}% ± {error * 100:.2f} | {probe_share(bench, command) * 100:.2f}% | "
              f"{wall[1] / wall[0]:.1f} times |", flush=True)


def probe_share(bench, command):
    """CPU time of the probes as a share of the elapsed time, over the samples of one run."""
    file = f"{bench.folder}/run.json"
    bench.tare(command, "--correct", "--export-json", file)
    samples = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["samples"]
    shares = [s["probes"]["value"]["cost"]["cpu"] / (s["end"]["monotonic"] - s["start"]["monotonic"]) for s in samples]
    return statistics.mean(shares)


PARTS = {"repeat": repeat, "truth": truth, "neighbours": neighbours, "cost": cost}


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for part in sys.argv[1:] or PARTS:
            PARTS[part](bench)
            print()


if __name__ == "__main__":
    sys.exit(main())
