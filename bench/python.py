#!/usr/bin/env python3
"""What measuring a Python function by tarebench costs, how true its comparisons are, and whether it leaks memory, beside timeit, pyperf
and pytest-benchmark.

overhead    The time of one call of three functions as each method finds it: an empty one, one that returns `sum(range(100))`, and the
            built-in `gc.isenabled`, which only returns a flag. Each measurement is a new process; methods and functions are interleaved
            in random order. For each method: lowest and mean time of a call, medians over the rounds, with the ratio to timeit's lowest
            and mean time in the same round (the figure that the method itself reports is bold), and the wall time of the whole command.
            Then the time of one turn of the loop, for the methods whose loop runs without a Python function in it. It is part of every
            method's figures but those of `kbest(less_overhead=True)`.
onepercent  Two folders with the same functions, which do N and 1.01 N turns of a loop: the error of the ratio head/base by
            `pytest --tare --tare-base`, and by pytest-benchmark, which measures one folder after the other (random which is first): ratios
            of its means and of its minima. pytest-benchmark does so twice: with its default of 1 s for each function, and with the time
            that makes its comparison take about as long as tare's. The methods are interleaved in random order. The truth is 1.01 less
            the share of a call that N does not change, which is taken from the shortest times of five numbers of turns.
memory      Growth of the resident set from a tenth of the work to its end, each kind of work in a new process: a million calls by
            `kbest` and by `time_calls`, 2000 blocks of `measure()`, and, for reference, a million calls without tare.

Each pytest loads only the plugin that measures. Prints Markdown for docs/python.md, and its progress as comments. Arguments: the parts
[all].

Environment: PYTHON (an interpreter with tarebench's release wheel, pytest, pytest-benchmark and pyperf; by default the one that runs this
file); REPEATS (6: most rounds of overhead and onepercent); MINUTES (20: start no new round after this time, for all parts together; each
part has at least two rounds); SEED (of the order).
"""
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import quiet
import ratio

REPEATS = quiet.number("REPEATS", "6")
MINUTES = float(os.environ.get("MINUTES", "20"))
# Shares of the time.
SHARES = {"overhead": 6, "onepercent": 12, "memory": 2}
TARE_PLUGIN, PEER_PLUGIN = "tarebench.pytest_plugin", "pytest_benchmark.plugin"
# What a part imports in PYTHON, and the name by which pip installs it.
PACKAGES = {"tarebench": "tarebench", "pytest": "pytest", "pytest_benchmark": "pytest-benchmark", "pyperf": "pyperf"}
NEEDED = {"overhead": list(PACKAGES), "onepercent": ["tarebench", "pytest", "pytest_benchmark"], "memory": ["tarebench"]}
# Variables that would change what is measured: more options of pytest, one hash seed for all processes, modules that are not found, and
# the mark of tare's own measuring processes.
REMOVED = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONHASHSEED", "PYTHONSAFEPATH", "TARE_MEASURING_PROCESS")


def refuse(text):
    print(f"bench/python.py: {text}", file=sys.stderr)
    sys.exit(2)


class Bench:
    """The interpreter, and the folder for what it runs."""

    def __init__(self, python, folder):
        self.python, self.folder, self.files = python, folder, 0
        self.environment = {name: value for name, value in os.environ.items() if name not in REMOVED}
        self.environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    def output(self, folder, *arguments, codes=(0,)):
        """Standard output of the interpreter, run in a folder of the bench."""
        done = subprocess.run([self.python, *arguments], cwd=self.folder / folder, env=self.environment, stdin=subprocess.DEVNULL,
                              check=False, capture_output=True, text=True)
        if done.returncode not in codes:
            # Code after -c has several lines.
            shown = " ".join(a if "\n" not in a else "…" for a in arguments)
            sys.exit(f"bench/python.py: python {shown}: exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout

    def pytest(self, folder, plugin, option, *arguments, codes=(0,)):
        """The JSON that pytest writes into the file of this option."""
        file = self.new_file()
        self.output(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, f"{option}={file}", *arguments, codes=codes)
        return json.loads(file.read_text(encoding="utf-8"))

    def new_file(self):
        """A file that does not exist: pyperf overwrites none."""
        self.files += 1
        return self.folder / f"{self.files}.json"

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


# overhead -----------------------------------------------------------------------------------------------------------------------

FUNCTIONS = """\
from gc import isenabled as builtin


def empty():
    pass


def total():
    return sum(range(100))
"""
TEST_OF_FUNCTIONS = """\
import functions
import pytest


@pytest.mark.parametrize("name", ["empty", "total", "builtin"])
def test_call(benchmark, name):
    benchmark(getattr(functions, name))
"""
CALLED = {"empty": "an empty function", "total": "a function that returns `sum(range(100))`", "builtin": "the built-in `gc.isenabled`"}
# In place of a function: a loop that calls nothing.
LOOP = "pass"
# As `python -m timeit`, which prints three digits.
TIMEIT = """
import json, sys, timeit
timer = timeit.Timer(sys.argv[1], sys.argv[2])
number, _ = timer.autorange()
print(json.dumps([seconds / number * 1e9 for seconds in timer.repeat(5, number)]))
"""
KBEST = """
import json, sys
import functions, tarebench
found = tarebench.kbest(getattr(functions, sys.argv[1]), less_overhead=sys.argv[2] == "less_overhead")
loop = found.overhead_ns / found.repetitions
print(json.dumps({"ns": found.ns, "reason": found.reason, "times": found.times_ns, "loop": loop}))
"""
PYPERF_PROCESSES = 5


def statement(name):
    """Statement and setup, for timeit and pyperf."""
    return (LOOP, "pass") if name == LOOP else (f"{name}()", f"from functions import {name}")


def figures(values):
    """Lowest and mean time of one call, ns."""
    return {"lowest": min(values), "mean": statistics.mean(values)}


def by_timeit(bench, name):
    return figures(json.loads(bench.output("calls", "-c", TIMEIT, *statement(name))))


def by_kbest(bench, name, *less_overhead):
    found = json.loads(bench.output("calls", "-c", KBEST, name, *(less_overhead or ("plain",))))
    if found["ns"] is None:
        quiet.say(f"kbest has no time of {name}: {found['reason']}")
    return {"lowest": found["ns"], "mean": statistics.mean(found["times"]), "loop": found["loop"]}


def by_pyperf(bench, name):
    file, (code, setup) = bench.new_file(), statement(name)
    bench.output("calls", "-m", "pyperf", "timeit", "--quiet", "--processes", str(PYPERF_PROCESSES), "--output", str(file),
                 "--setup", setup, code)
    (found,) = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    # Runs that only calibrate have no values.
    return figures([seconds * 1e9 for run in found["runs"] for seconds in run.get("values", ())])


def by_pytest_benchmark(bench, name):
    (found,) = bench.pytest("calls", PEER_PLUGIN, "--benchmark-json", node(name))["benchmarks"]
    return {"lowest": found["stats"]["min"] * 1e9, "mean": found["stats"]["mean"] * 1e9}


def by_tare(bench, name, *options):
    (found,) = bench.pytest("calls", TARE_PLUGIN, "--tare-json", "--tare", *options, node(name))["benchmarks"]
    lowest = min(min(process["elapsed"]) for process in found["head"]["processes"])
    return {"lowest": lowest, "mean": found["head"]["elapsed"]["mean"]}


def node(name):
    return f"test_functions.py::test_call[{name}]"


# How to measure, and the figures that the method reports.
METHODS = {
    "timeit": (by_timeit, ["lowest"]),
    "`kbest`": (by_kbest, ["lowest"]),
    "`kbest(less_overhead=True)`": (lambda bench, name: by_kbest(bench, name, "less_overhead"), ["lowest"]),
    "pyperf": (by_pyperf, ["mean"]),
    "pytest-benchmark": (by_pytest_benchmark, ["lowest", "mean"]),
    "`pytest --tare --tare-inprocess`": (lambda bench, name: by_tare(bench, name, "--tare-inprocess"), ["mean"]),
    "`pytest --tare`": (by_tare, ["mean"]),
}


def overhead(bench, until):
    bench.write("calls/functions.py", FUNCTIONS)
    bench.write("calls/test_functions.py", TEST_OF_FUNCTIONS)
    bench.write("calls/pytest.ini", "[pytest]\n")
    cells = [(method, name) for method in METHODS for name in CALLED] + [("timeit", LOOP), ("pyperf", LOOP)]
    found = {cell: [] for cell in cells}
    rounds = quiet.Rounds(REPEATS, until)
    for _ in rounds:
        random.shuffle(cells)
        for method, name in cells:
            began = time.monotonic()
            measured = METHODS[method][0](bench, name)
            found[method, name].append({**measured, "wall": time.monotonic() - began})
    for name, title in CALLED.items():
        print(f"One call of {title}, medians of {rounds.done} rounds; ratios to timeit within a round, with their range:\n")
        quiet.table(["method", "lowest [ns]", "/ timeit's lowest", "mean [ns]", "/ timeit's mean", "wall time [s]"],
                    [[method, *against(found, method, name, "lowest"), *against(found, method, name, "mean"),
                      f"{statistics.median(one['wall'] for one in found[method, name]):.1f}"] for method in METHODS])
    show_loops(found)


def against(found, method, name, figure):
    """The median of a figure, and of its ratio to that of timeit in the same round. A round without the figure does not count."""
    pairs = [(own[figure], reference[figure]) for own, reference in zip(found[method, name], found["timeit", name])
             if own[figure] is not None]
    if not pairs:
        return ["–", "–"]
    mark = "**" if figure in METHODS[method][1] else ""
    ratios = [own / reference for own, reference in pairs]
    return [f"{mark}{statistics.median(own for own, _ in pairs):.2f}{mark}",
            f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"]


def show_loops(found):
    def lowest(method):
        return f"{statistics.median(one['lowest'] for one in found[method, LOOP]):.2f}"

    native = statistics.median(one["loop"] for name in CALLED for one in found["`kbest`", name])
    print("One turn of the loop, medians of the lowest times:\n")
    quiet.table(["method", "one turn", "[ns]"],
                [["timeit", "statement `pass`", lowest("timeit")],
                 ["pyperf", "statement `pass`", lowest("pyperf")],
                 ["`kbest`", "with a call of a native function that does nothing, as it reports it", f"{native:.2f}"]])
    print("Only `kbest(less_overhead=True)` subtracts it. The loops of pytest-benchmark and `pytest --tare` always call something: their "
          "times of `gc.isenabled`, loop and call together, are upper bounds.\n", flush=True)


# onepercent ---------------------------------------------------------------------------------------------------------------------

# Each turn does the same work on the same data, so that the time is linear in the number of turns: a longer list to sort, a larger
# dictionary or larger numbers would not be. `repeat` makes no numbers, of which Python keeps the small ones ready.
WORK = """\
from itertools import repeat

NUMBERS = tuple(i * 37 % 101 for i in range(20))
WORDS = tuple(f"word{n}" for n in NUMBERS)
TABLE = {f"key{i}": i for i in range(1000)}
KEYS = tuple(f"key{i * 389 % 1000}" for i in range(20))


def integers(turns):
    for _ in repeat(None, turns):
        x = 1
        for n in NUMBERS:
            x = (x * 31 + n) & 65535


def lists(turns):
    for _ in repeat(None, turns):
        found = []
        for n in NUMBERS:
            found.append(n)
        found.sort()


def lookups(turns):
    for _ in repeat(None, turns):
        for key in KEYS:
            TABLE[key]


def strings(turns):
    for _ in repeat(None, turns):
        ",".join(WORDS)
"""
TEST_OF_WORK = """\
import pytest
import work


@pytest.mark.parametrize("kind", list(work.TURNS))
def test_work(benchmark, kind):
    benchmark(getattr(work, kind), work.TURNS[kind])
"""
KINDS = {"integers": "integer loop", "lists": "list append and sort", "lookups": "dictionary lookups", "strings": "string join"}
# The shortest time of a call with each number of turns, ns. They are interleaved: the speed of the machine changes.
SHORTEST = """
import json, sys, time
import work
function, counts = getattr(work, sys.argv[1]), json.loads(sys.argv[2])
best = dict.fromkeys(counts, float("inf"))
for _ in range(200):
    for turns in counts:
        began = time.perf_counter_ns()
        function(turns)
        best[turns] = min(best[turns], time.perf_counter_ns() - began)
print(json.dumps([best[turns] for turns in counts]))
"""
# The time that N turns are to take, ns: a call of them is far above what calling it costs.
LENGTH = 500_000
STEP = 1.01
TARE, PEER, LONG = "tare", "pytest-benchmark", "pytest-benchmark, as long"
# pytest-benchmark's default, s.
DEFAULT_MAX_TIME = 1.0
COLUMNS = [TARE, *((peer, figure) for peer in (PEER, LONG) for figure in ("mean", "min"))]


def shortest(bench, kind, counts):
    return json.loads(bench.output("base", "-c", SHORTEST, kind, json.dumps(counts)))


def calibrate(bench, kind):
    """How many turns take LENGTH, a multiple of 100; and the truth of STEP times as many."""
    turns, took = 100, 0
    while (took := shortest(bench, kind, [turns])[0]) < LENGTH / 4:
        turns *= 2
    turns = 100 * max(round(LENGTH / (took / turns) / 100), 1)
    counts = [0, turns // 4, turns // 2, turns * 3 // 4, turns]
    times = shortest(bench, kind, counts)
    middle, mean = statistics.mean(counts), statistics.mean(times)
    each = sum((n - middle) * (t - mean) for n, t in zip(counts, times)) / sum((n - middle) ** 2 for n in counts)
    # A small constant may come out below zero, as the times are not exact.
    constant = max(mean - each * middle, 0)
    whole = constant + each * turns
    off = max(abs(t - constant - each * n) for n, t in zip(counts, times)) / whole
    truth = 1 + (STEP - 1) * each * turns / whole
    quiet.say(f"{kind}: {turns} turns take {whole / 1e3:.0f} µs, of which {constant / whole * 100:.2f}% do not depend on their number; "
              f"times differ from a line by {off * 100:.2f}% at most")
    return turns, truth


def prepare(bench):
    """Write base and head; the truths."""
    bench.write("base/work.py", WORK)
    found = {kind: calibrate(bench, kind) for kind in KINDS}
    for side, factor in (("base", 1), ("head", STEP)):
        # Exact, as the numbers are multiples of 100.
        turns = {kind: round(number * factor) for kind, (number, _) in found.items()}
        bench.write(f"{side}/work.py", f"{WORK}\n\nTURNS = {turns!r}\n")
        bench.write(f"{side}/test_work.py", TEST_OF_WORK)
        bench.write(f"{side}/pytest.ini", "[pytest]\n")
    return {kind: truth for kind, (_, truth) in found.items()}


class Comparisons:
    """Errors of the ratios that each method found, in per cent."""

    def __init__(self, bench):
        self.bench, self.truths = bench, prepare(bench)
        self.errors = {(kind, column): [] for kind in KINDS for column in COLUMNS}
        self.held, self.halves = {kind: [] for kind in KINDS}, {kind: [] for kind in KINDS}
        self.levels, self.walls = set(), {method: [] for method in (TARE, PEER, LONG)}

    def add(self, kind, column, found):
        self.errors[kind, column].append((found / self.truths[kind] - 1) * 100)

    def measure(self, method):
        began = time.monotonic()
        if method == TARE:
            self.by_tare()
        else:
            # A comparison measures each kind in both folders.
            long = statistics.median(self.walls[TARE]) / (2 * len(KINDS)) if method == LONG else 0
            self.by_pytest_benchmark(method, max(long, DEFAULT_MAX_TIME))
        self.walls[method].append(time.monotonic() - began)

    def by_tare(self):
        # Other hash seeds in each round: the default ones are always the same. Exit code 5: a benchmark is slower, as all are.
        found = self.bench.pytest("head", TARE_PLUGIN, "--tare-json", "--tare", f"--tare-base={self.bench.folder / 'base'}",
                                  f"--tare-base-python={self.bench.python}", f"--tare-seed={random.randrange(1, 2**31)}", codes=(0, 5))
        compared = {one["param"]: one for one in found["benchmarks"]}
        for kind in KINDS:
            comparison = compared[kind]["comparison"]
            if comparison is None:
                sys.exit(f"bench/python.py: tare compared no {kind}: {compared[kind]['reason']}")
            self.add(kind, TARE, comparison["ratio"])
            if comparison["interval"] is None:
                self.held[kind].append(False)
                continue
            low, high = comparison["interval"]
            self.held[kind].append(low <= self.truths[kind] <= high)
            self.halves[kind].append((high - low) / 2 / self.truths[kind] * 100)
            self.levels.add(comparison["level"])

    def by_pytest_benchmark(self, method, seconds):
        sides, stats = ["base", "head"], {}
        random.shuffle(sides)
        for side in sides:
            found = self.bench.pytest(side, PEER_PLUGIN, "--benchmark-json", f"--benchmark-max-time={seconds:.2f}")
            stats[side] = {one["param"]: one["stats"] for one in found["benchmarks"]}
        for kind in KINDS:
            for figure in ("mean", "min"):
                self.add(kind, (method, figure), stats["head"][kind][figure] / stats["base"][kind][figure])

    def row(self, title, truth, kinds):
        errors = {column: [e for kind in kinds for e in self.errors[kind, column]] for column in COLUMNS}
        held, halves = [h for kind in kinds for h in self.held[kind]], [h for kind in kinds for h in self.halves[kind]]
        return [title, truth, f"**{ratio.rmse(errors[TARE]):.2f}%**", f"{statistics.mean(errors[TARE]):+.2f}%",
                f"{sum(held)} of {len(held)}", f"±{statistics.mean(halves):.2f}%" if halves else "–",
                *(f"{ratio.rmse(errors[column]):.2f}%" for column in COLUMNS[1:])]

    def show(self, done):
        level = ", ".join(f"{level * 100:g}%" for level in sorted(self.levels)) or "no"
        print(f"Error of the ratio of {STEP} N and N turns, {done} comparisons of each kind by each method:\n")
        quiet.table(["work", "truth", "tare, r.m.s. error", "its mean error", f"its {level} interval holds the truth",
                     "half of the interval, mean", *(f"{peer}, {'means' if figure == 'mean' else 'minima'}, r.m.s. error"
                                                     for peer, figure in COLUMNS[1:])],
                    [*(self.row(title, f"{(self.truths[kind] - 1) * 100:+.3f}%", [kind]) for kind, title in KINDS.items()),
                     self.row("all", "", list(KINDS))])
        print(f"*As long*: with the time for each function that makes the comparison take about as long as tare's. Wall time of one "
              f"comparison of all {len(KINDS)} kinds, median and range:\n")
        quiet.table(["method", "wall time [s]"], [[method, f"{statistics.median(walls):.0f} ({min(walls):.0f} to {max(walls):.0f})"]
                                                  for method, walls in self.walls.items()])


def onepercent(bench, until):
    comparisons = Comparisons(bench)
    rounds = quiet.Rounds(REPEATS, until)
    for n in rounds:
        order = list(comparisons.walls)
        random.shuffle(order)
        if n == 0:
            # One of the others is to take as long as tare: tare's time must be known.
            order.sort(key=lambda method: method != TARE)
        for method in order:
            comparisons.measure(method)
    comparisons.show(rounds.done)


# memory -------------------------------------------------------------------------------------------------------------------------

MEMORY = """
import gc, json, os, sys
import tarebench
from tarebench import _native

PAGE = os.sysconf("SC_PAGE_SIZE") // 1024


def resident():
    # Garbage that is not yet collected is no growth.
    gc.collect()
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE


def called(value, *, key):
    return [value, key]


def plain():
    for _ in range(1000):
        called(1, key=2)
    return 1000


def time_calls():
    _native.time_calls(called, (1,), {"key": 2}, 1000)
    return 1000


def kbest():
    found = tarebench.kbest(called, 1, kwargs={"key": 2}, repetitions=100)
    return found.trials * found.repetitions


def block(of):
    with tarebench.measure(of) as measured:
        called(1, key=2)
    measured.et, measured.pt, measured.waiting, measured.reasons
    return 1


steps = {"plain": plain, "time_calls": time_calls, "kbest": kbest, "thread": lambda: block("thread"), "process": lambda: block("process")}
step, wanted = steps[sys.argv[1]], int(sys.argv[2])
done, tenth = 0, None
while done < wanted:
    done += step()
    if tenth is None and 10 * done >= wanted:
        tenth = resident()
print(json.dumps({"done": done, "tenth": tenth, "end": resident()}))
"""
MEMORY_KINDS = {
    "plain": ("calls without tare", 1_000_000),
    "time_calls": ("calls by `time_calls`, 1000 at a time", 1_000_000),
    "kbest": ("calls by `kbest`, 100 in a trial", 1_000_000),
    "thread": ('blocks of `measure("thread")`', 2000),
    "process": ('blocks of `measure("process")`', 2000),
}
MEMORY_ROUNDS = 3


def memory(bench, until):
    found = {kind: [] for kind in MEMORY_KINDS}
    rounds = quiet.Rounds(MEMORY_ROUNDS, until)
    for _ in rounds:
        order = list(found)
        random.shuffle(order)
        for kind in order:
            found[kind].append(json.loads(bench.output(".", "-c", MEMORY, kind, str(MEMORY_KINDS[kind][1]))))
    print(f"Growth of the resident set from a tenth of the work to its end, in {rounds.done} processes:\n")
    quiet.table(["work", "number", "growth [KiB]", "resident at the end [KiB]"],
                [[MEMORY_KINDS[kind][0], f"{min(one['done'] for one in all_of)}",
                  ", ".join(f"{one['end'] - one['tenth']:+d}" for one in all_of),
                  f"{statistics.median(one['end'] for one in all_of):.0f}"] for kind, all_of in found.items()])


# ---------------------------------------------------------------------------------------------------------------------------------

PARTS = {"overhead": overhead, "onepercent": onepercent, "memory": memory}
# Lines of a name and its version; a package without a version is missing.
VERSIONS = """
import importlib, importlib.metadata, platform, sys
print(platform.python_implementation(), platform.python_version())
for pair in sys.argv[1:]:
    module, package = pair.split("=")
    try:
        importlib.import_module(module)
        print(package, importlib.metadata.version(package))
    except ImportError:
        print(package)
"""


def interpreter():
    """PYTHON as an absolute path, because it is run in other folders. Links stay: a virtual environment's Python is one."""
    named = os.environ.get("PYTHON") or sys.executable
    found = shutil.which(named)
    if found is None:
        refuse(f"PYTHON={named} is no program that can be started")
    return os.path.abspath(found)


def check(bench, parts):
    """Print the versions, or say what is to be installed."""
    needed = [f"{module}={package}" for module, package in PACKAGES.items() if any(module in NEEDED[part] for part in parts)]
    lines = [line.split(" ", 1) for line in bench.output(".", "-c", VERSIONS, *needed).splitlines()]
    missing = [words[0] for words in lines if len(words) == 1]
    if missing:
        wheel = " (tarebench: the wheel that scripts/build-wheel.sh makes)" if "tarebench" in missing else ""
        refuse(f"{bench.python} cannot import {', '.join(missing)}: install {'it' if len(missing) == 1 else 'them'} there with pip{wheel}")
    print(", ".join(" ".join(words) for words in lines) + f". {len(os.sched_getaffinity(0))} CPUs.\n", flush=True)


def main():
    parts = sys.argv[1:] or list(PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        refuse(f"no part is called {unknown[0]}; parts: {', '.join(PARTS)}")
    random.seed(quiet.SEED)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(interpreter(), pathlib.Path(folder).resolve())
        check(bench, parts)
        quiet.say(f"seed {quiet.SEED}, {MINUTES:g} minutes")
        end = quiet.BEGAN + 60 * MINUTES
        for i, part in enumerate(parts):
            # The next parts share what this one leaves.
            left = sum(SHARES[p] for p in parts[i:])
            until = time.monotonic() + (end - time.monotonic()) * SHARES[part] / left
            quiet.say(part)
            PARTS[part](bench, until)


if __name__ == "__main__":
    sys.exit(main())
