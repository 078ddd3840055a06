#!/usr/bin/env python3
"""How well a figure of a program repeats, and how true it is, with probes and the gate (`tare run --quiet`), in turn with hyperfine.

repeat      Ten executions of each program by each method, all programs and methods in random order, again and again: relative standard
            deviation of the figure that each method reports, and how many times smaller than hyperfine's that is (wanted: ten times in
            the geometric mean, and at most 0.5% for multiply, l1, branches and calls).
truth       R and 1.04 R repetitions of the same work, each measured by itself in random order: the ratio of the two quiet times, and how
            often its interval holds the truth (wanted: 95%).
neighbours  The quiet time beside a memory hog on another CPU, a competitor on the same one, and both, in random order, against that
            without them (wanted: within 1%).
cost        Process time with probes against that without (wanted: at most 1% more); CPU time of the probes as a share of the elapsed time
            (at most 2%, with the gate 4%); wall time with the gate.
session     Not among the default parts; needs FOLDER. The quiet time of each program, appended to a file there, and compared with what
            earlier sessions found (wanted: within 1%). Run it twice, an hour and a restart apart.

What is refused counts with the figure that a reader gets instead, the mean process time, and is counted. Prints Markdown for docs/quiet.md,
and how far it is as comments. Arguments: the parts [all but session].

Environment: TARE (the command); MINUTES (36: for all parts together, after which no further round begins; a round takes up to 3 minutes);
GROUPS (10), SERIES (10, of truth), TURNS (3, of neighbours), PAIRS (12, of cost): most rounds of the parts, if the time allows them; KINDS
(increment,multiply,sort,matrix,l1,l2,branches,calls,stream,memory); REAL (gzip,xz); SEED (of the order); FOLDER (keeps programs, store
and learned coefficients from one call to the next; a temporary one).
"""
import contextlib
import datetime
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import ratio

KINDS = ["increment", "multiply", "sort", "matrix", "l1", "l2", "branches", "calls", "stream", "memory"]
REAL = ["gzip", "xz"]
# Kinds that the probes resemble, of which more is wanted.
EXACT = ["multiply", "l1", "branches", "calls"]
RUNS = 10
# Of a measurement of the cost: short, so that two in succession meet nearly the same machine.
RUNS_OF_A_PAIR = 4
MORE = 1.04
BEGAN = time.monotonic()


def number(name, otherwise):
    return int(os.environ.get(name, otherwise))


MINUTES = float(os.environ.get("MINUTES", "36"))
SEED = number("SEED", str(int(time.time())))
# Of the time that is there, how much each part needs in relation to the others.
SHARES = {"repeat": 20, "truth": 8, "neighbours": 7, "cost": 5, "session": 5}


def say(text):
    """How far it is: a comment in Markdown."""
    print(f"<!-- {time.monotonic() - BEGAN:.0f} s: {text} -->", flush=True)


def table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


class Rounds:
    """Numbers of rounds, as long as there is time for another one like the longest so far; at least two."""

    def __init__(self, most, until):
        self.most, self.until, self.done = most, until, 0

    def __iter__(self):
        longest = 0.0
        for n in range(self.most):
            began = time.monotonic()
            if n >= 2 and began + longest > self.until:
                say(f"no time for another round after {n} of {self.most}")
                return
            yield n
            longest = max(longest, time.monotonic() - began)
            self.done = n + 1
            say(f"round {self.done} of at most {self.most}")


class Bench:
    """The programs, and the store of what is learned of the machine."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.store = str(self.folder / "tare.db")
        self.program = str(self.folder / "kinds")
        self.cpu = sorted(os.sched_getaffinity(0))[-1]
        # Coefficients are of a command: with a folder that is kept, all is as it was.
        if not pathlib.Path(self.program).exists():
            subprocess.run(["cc", "-O2", "-o", self.program, ratio.ROOT / "bench/ratio/kinds.c"], check=True)
        self.exact = self.calibrated()
        self.programs = {kind: self.work(kind, 1) for kind in self.exact} | self.real()

    def calibrated(self):
        """Of each kind of exact work the repetitions, and what is the truth of 4% more."""
        file = self.folder / "repetitions.json"
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        kinds = ratio.chosen("KINDS", KINDS)
        for kind in kinds:
            if kind not in found:
                repetitions, by_one = ratio.calibrate(self.program, kind)
                found[kind] = [repetitions, 1 + (by_one - 1) / (ratio.STEP - 1) * (MORE - 1)]
                say(f"{kind}: {repetitions} repetitions")
        file.write_text(json.dumps(found), encoding="utf-8")
        return {kind: found[kind] for kind in kinds}

    def work(self, kind, times):
        return f"{self.program} {kind} {round(self.exact[kind][0] * times)}"

    def real(self):
        """Real programs, on text that is always the same."""
        text = self.folder / "numbers.txt"
        if not text.exists():
            text.write_text("".join(f"{n * 7919 % 1000003} {n}\n" for n in range(300_000)), encoding="utf-8")
        known = {"gzip": f"gzip -6 -k -c {text}", "xz": f"xz -0 -T1 -k -c {text}"}
        return {name: known[name] for name in ratio.chosen("REAL", REAL)}

    def document(self, command, *options, runs=RUNS):
        """The document of a run of one program."""
        run = subprocess.run([ratio.TARE, "run", "--json", "--db", self.store, "-r", str(runs), "--cpus", str(self.cpu),
                              *options, command], check=True, capture_output=True, text=True)
        return json.loads(run.stdout)

    def tare(self, command, *options, runs=RUNS):
        """The report of one program."""
        return self.document(command, *options, runs=runs)["report"]["series"][0]

    def hyperfine(self, command):
        """Its mean elapsed time, s, on the same CPU."""
        file = self.folder / "hyperfine.json"
        subprocess.run(["taskset", "-c", str(self.cpu), hyperfine(), "-N", "-w", "1", "-r", str(RUNS), "--export-json", file,
                        command], check=True, capture_output=True)
        return json.loads(file.read_text(encoding="utf-8"))["results"][0]["mean"]


def hyperfine():
    found = ratio.HYPERFINE if pathlib.Path(ratio.HYPERFINE).exists() else shutil.which("hyperfine")
    if found is None:
        sys.exit("bench/quiet.py: no hyperfine: `make bench` installs it")
    return found


def quiet_of(series):
    """The quiet time of a series, s, with its interval; None where it was refused."""
    found = (series.get("quiet") or {}).get("Ok")
    return found and (found["value"] / 1e9, found["interval"]["low"] / 1e9, found["interval"]["high"] / 1e9)


def reason(series):
    """Why there is no quiet time."""
    return ((series.get("quiet") or {}).get("Err") or {}).get("kind", "none")


def process_time(series):
    return series["pt"]["value"]["mean"] / 1e9


def with_refusal(series):
    """What a reader gets as the figure: the quiet time, or the mean process time where it was refused; why that was; and the scatter."""
    found = quiet_of(series)
    return (found[0], None, scatter(series)) if found else (process_time(series), reason(series), None)


def scatter(series):
    """By how much the quiet time is uncertain only as the corrected samples differ from each other, in per cent; None where it was
    refused."""
    found = (series.get("quiet") or {}).get("Ok")
    return found and found["residual"] / math.sqrt(found["samples"]) * 100


METHODS = {
    "hyperfine": lambda bench, command: (bench.hyperfine(command), None, None),
    "tare, mean CPU time": lambda bench, command: (process_time(bench.tare(command)), None, None),
    "--correct": lambda bench, command: with_refusal(bench.tare(command, "--correct")),
    "--quiet": lambda bench, command: with_refusal(bench.tare(command, "--quiet")),
}


def spread(values):
    return statistics.stdev(values) / statistics.mean(values) * 100


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values)))


def count(reasons, of):
    """`3 of 20 (unseen 2, no_better 1)`."""
    named = sorted(set(reasons), key=lambda kind: (-reasons.count(kind), kind))
    kinds = ", ".join(f"{kind} {reasons.count(kind)}" for kind in named)
    return f"{len(reasons)} of {of}" + (f" ({kinds})" if kinds else "")


def repeat(bench, until):
    programs = bench.programs
    figures = {(p, m): [] for p in programs for m in METHODS}
    refused, seconds = {m: [] for m in METHODS}, dict.fromkeys(METHODS, 0.0)
    scatters = {p: [] for p in programs}
    rounds = Rounds(number("GROUPS", "10"), until)
    for _ in rounds:
        turn = list(figures)
        random.shuffle(turn)
        for name, method in turn:
            began = time.monotonic()
            figure, why, own = METHODS[method](bench, programs[name])
            seconds[method] += time.monotonic() - began
            figures[name, method].append(figure)
            if method == "--quiet" and own:
                scatters[name].append(own)
            refused[method] += [why] * (why is not None)
    spreads = {m: {p: spread(figures[p, m]) for p in programs} for m in METHODS}
    means = {m: geometric(spreads[m].values()) for m in METHODS}
    print(f"Relative standard deviation of the reported figure, in per cent, over {rounds.done} groups of {RUNS} executions:\n")
    table(["method", *programs, "geometric mean", "hyperfine's / this", "refused", "wall time"],
          [[m, *(f"{spreads[m][p]:.2f}" for p in programs), f"**{means[m]:.2f}**", f"{means['hyperfine'] / means[m]:.1f}",
            count(refused[m], rounds.done * len(programs)), f"{seconds[m] / seconds['hyperfine']:.1f}"] for m in METHODS])
    if all(scatters.values()):
        # No better correction makes a figure of so many executions repeat better than they agree with each other.
        least = {p: statistics.median(scatters[p]) for p in programs}
        mean = geometric(least.values())
        print("What the scatter of the executions of one `--quiet` measurement, after the correction, leaves uncertain, in per cent "
              f"(median of the groups): {', '.join(f'{p} {least[p]:.2f}' for p in programs)}; geometric mean {mean:.2f}, "
              f"{means['hyperfine'] / mean:.1f} times less than hyperfine's figures differ.\n")
    gain = means["hyperfine"] / means["--quiet"]
    print(f"- {len(programs)} programs, {rounds.done} groups (wanted: ten of each at least): "
          f"{verdict(min(len(programs), rounds.done) >= 10)}")
    print(f"- `--quiet` against hyperfine, {gain:.1f} times in the geometric mean (wanted: 10): {verdict(gain >= 10)}")
    for kind in EXACT:
        if kind in programs:
            print(f"- `--quiet`, {kind}: {spreads['--quiet'][kind]:.2f}% (wanted: 0.5%): {verdict(spreads['--quiet'][kind] <= 0.5)}")
    print(flush=True)


def verdict(holds):
    return "reached" if holds else "**not reached**"


def truth(bench, until):
    ratios, plain = {k: [] for k in bench.exact}, {k: [] for k in bench.exact}
    held, refused = dict.fromkeys(bench.exact, 0), {k: [] for k in bench.exact}
    rounds = Rounds(number("SERIES", "10"), until)
    for _ in rounds:
        turn = [(kind, times) for kind in bench.exact for times in (1, MORE)]
        random.shuffle(turn)
        series = {key: bench.tare(bench.work(*key), "--quiet") for key in turn}
        for kind, (_, expected) in bench.exact.items():
            both = [series[kind, times] for times in (1, MORE)]
            plain[kind].append(process_time(both[1]) / process_time(both[0]))
            refused[kind] += [reason(s) for s in both if quiet_of(s) is None]
            if None in map(quiet_of, both):
                continue
            first, second = map(quiet_of, both)
            ratios[kind].append(second[0] / first[0])
            # Logarithms; the half widths are taken for those of independent measurements.
            half = math.hypot(math.log(first[2] / first[1]) / 2, math.log(second[2] / second[1]) / 2)
            held[kind] += abs(math.log(ratios[kind][-1] / expected)) <= half
    print(f"Ratio of the times of 1.04 R and R repetitions, {rounds.done} times, mean ± standard deviation:\n")
    table(["work", "truth", "quiet times", "interval holds the truth", "refused", "mean process times"],
          [[kind, f"{bench.exact[kind][1]:.4f}", around(ratios[kind]), f"{held[kind]} of {len(ratios[kind])}",
            count(refused[kind], 2 * rounds.done), around(plain[kind])] for kind in bench.exact])
    all_held, given = sum(held.values()), sum(map(len, ratios.values()))
    share = all_held / given if given else 0
    # By chance, of so many, a part of them is outside: what is below the range of a true 95% in 99 of 100 cases is not 95%.
    least = 0.95 - 2.33 * math.sqrt(0.95 * 0.05 / max(given, 1))
    print(f"- The interval holds the truth in {all_held} of {given} (wanted: 95%, that is {least * 100:.0f}% of so few at least): "
          f"{verdict(given > 0 and share >= least)}\n", flush=True)


def around(values):
    return f"{statistics.mean(values):.4f} ± {statistics.stdev(values):.4f}" if len(values) > 1 else "–"


@contextlib.contextmanager
def beside(bench, hog, competitor):
    """What disturbs, for as long as this is entered."""
    first = sorted(os.sched_getaffinity(0))[0]
    wanted = [("stream", first)] * hog + [("multiply", bench.cpu)] * competitor
    found = []
    try:
        for kind, cpu in wanted:
            found.append(subprocess.Popen(["taskset", "-c", str(cpu), bench.program, kind, "1000000000"]))
        # Both have begun, and the hog has its memory.
        time.sleep(0.3 if wanted else 0)
        yield
    finally:
        for process in found:
            process.kill()
            process.wait()


def neighbours(bench, until):
    states = {"none": (False, False), "memory hog": (True, False), "competitor": (False, True), "both": (True, True)}
    if len(os.sched_getaffinity(0)) < 2:
        say("one CPU: no memory hog on another one")
        states = {"none": (False, False), "competitor": (False, True)}
    cells = [(kind, state) for kind in bench.exact for state in states]
    figures, plain = {c: [] for c in cells}, {c: [] for c in cells}
    refused = {c: [] for c in cells}
    rounds = Rounds(number("TURNS", "3"), until)
    for _ in rounds:
        random.shuffle(cells)
        for cell in cells:
            kind, state = cell
            with beside(bench, *states[state]):
                series = bench.tare(bench.work(kind, 1), "--quiet")
            figure, why, _ = with_refusal(series)
            plain[cell].append(process_time(series))
            if why is None:
                figures[cell].append(figure)
            else:
                refused[cell].append(why)

    def change(values, kind, state):
        beside_it, without = values[kind, state], values[kind, "none"]
        return (statistics.median(beside_it) / statistics.median(without) - 1) * 100 if beside_it and without else None

    def shown(kind, state):
        found, no = change(figures, kind, state), refused[kind, state]
        text = "–" if found is None else f"{found:+.2f}%"
        return f"{text} ({change(plain, kind, state):+.1f}%" + (f"; refused {count(no, rounds.done)}" if no else "") + ")"

    others = [s for s in states if s != "none"]
    print(f"Quiet time beside neighbours against that without, medians of {rounds.done}; in parentheses mean process time, and what was "
          "refused:\n")
    table(["work", *others], [[kind, *(shown(kind, s) for s in others)] for kind in bench.exact])
    known = [change(figures, kind, s) for kind in bench.exact for s in others]
    within = sum(c is not None and abs(c) <= 1 for c in known)
    print(f"- Within 1% in {within} of {len(known)}, of which {known.count(None)} have no quiet time: {verdict(within == len(known))}\n",
          flush=True)


def counted(document):
    return [s for s in document["samples"] if s["phase"] == "counted"]


def probe_share(document):
    """CPU time of the probes, and the elapsed time, over the samples of a run, ns."""
    samples = [(s["probes"]["value"]["cost"]["cpu"], s["end"]["monotonic"] - s["start"]["monotonic"])
               for s in counted(document) if "value" in s["probes"]]
    return tuple(map(sum, zip(*samples))) if samples else (0, 0)


def cost(bench, until):
    modes = {"plain": [], "probed": ["--correct"], "gated": ["--quiet"]}
    logs = {p: [] for p in bench.programs}
    shares = {(p, m): [] for p in bench.programs for m in ("probed", "gated")}
    wall = {(p, m): 0.0 for p in bench.programs for m in modes}
    rounds = Rounds(number("PAIRS", "12"), until)
    for _ in rounds:
        order = list(bench.programs)
        random.shuffle(order)
        for name in order:
            medians = {}
            # The two that are compared stand side by side, either first.
            turn = random.choice([["plain", "probed", "gated"], ["probed", "plain", "gated"]])
            for mode in turn:
                began = time.monotonic()
                document = bench.document(bench.programs[name], *modes[mode], runs=RUNS_OF_A_PAIR)
                wall[name, mode] += time.monotonic() - began
                medians[mode] = document["report"]["series"][0]["pt"]["value"]["median"]
                if mode != "plain":
                    shares[name, mode].append(probe_share(document))
            logs[name].append(math.log(medians["probed"] / medians["plain"]))
    print(f"What probes and gate cost, {rounds.done} times {RUNS_OF_A_PAIR} executions:\n")
    rows, every = [], []
    for name in bench.programs:
        change, error = middle(logs[name])
        every += logs[name]
        share = [100 * sum(c for c, _ in all_of) / max(sum(e for _, e in all_of), 1)
                 for all_of in (shares[name, "probed"], shares[name, "gated"])]
        rows.append([name, f"{change * 100:+.2f}% ± {error * 100:.2f}", f"{share[0]:.2f}%", f"{share[1]:.2f}%",
                     f"{wall[name, 'gated'] / wall[name, 'plain']:.1f} times"])
    table(["work", "process time by probes, median ± its standard error", "CPU time of the probes", "the same with the gate",
           "wall time with the gate"], rows)
    change, error = middle(every)
    shares_of = {m: 100 * sum(c for (_, mode), v in shares.items() if mode == m for c, _ in v)
                 / max(sum(e for (_, mode), v in shares.items() if mode == m for _, e in v), 1) for m in ("probed", "gated")}
    known = "not known, its error is too large" if abs(change - 0.01) < 2 * error else verdict(change <= 0.01)
    print(f"- Process time over all, {change * 100:+.2f}% ± {error * 100:.2f} (wanted: 1%): {known}")
    print(f"- CPU time of the probes, {shares_of['probed']:.2f}% (wanted: 2%): {verdict(shares_of['probed'] <= 2)}")
    print(f"- The same with the gate, {shares_of['gated']:.2f}% (wanted: 4%): {verdict(shares_of['gated'] <= 4)}\n", flush=True)


def middle(values):
    """The median, and its standard error from the median deviation: a machine with two speeds gives outliers on both sides."""
    centre = statistics.median(values)
    deviation = 1.4826 * statistics.median([abs(v - centre) for v in values])
    return centre, 1.2533 * deviation / math.sqrt(len(values))


def session(bench, until):
    if "FOLDER" not in os.environ:
        sys.exit("bench/quiet.py: session needs FOLDER, where the earlier sessions are")
    file = bench.folder / "sessions.json"
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    figures, refused = {p: [] for p in bench.programs}, {p: [] for p in bench.programs}
    rounds = Rounds(number("GROUPS", "10"), until)
    for _ in rounds:
        order = list(bench.programs)
        random.shuffle(order)
        for name in order:
            figure, why, _ = METHODS["--quiet"](bench, bench.programs[name])
            figures[name].append(figure)
            refused[name] += [why] * (why is not None)
    now = {p: statistics.median(v) for p, v in figures.items()}
    when = datetime.datetime.now().isoformat(timespec="minutes")
    file.write_text(json.dumps([*earlier, {"when": when, "figures": now}]), encoding="utf-8")

    def change(then, name):
        return (now[name] / then["figures"][name] - 1) * 100 if name in then["figures"] else None

    print(f"Figures of `--quiet`, medians of {rounds.done} groups, against those of earlier sessions:\n")
    table(["work", "now [ms]", *(s["when"] for s in earlier), "refused"],
          [[p, f"{now[p] * 1e3:.2f}", *("–" if change(s, p) is None else f"{change(s, p):+.2f}%" for s in earlier),
           count(refused[p], rounds.done)]
           for p in bench.programs])
    known = [c for s in earlier for p in bench.programs if (c := change(s, p)) is not None]
    if known:
        within = sum(abs(c) <= 1 for c in known)
        print(f"- Within 1% in {within} of {len(known)}: {verdict(within == len(known))}\n", flush=True)


PARTS = {"repeat": repeat, "truth": truth, "neighbours": neighbours, "cost": cost, "session": session}


def main():
    parts = sys.argv[1:] or [p for p in PARTS if p != "session"]
    unknown = [p for p in parts if p not in PARTS]
    if unknown:
        sys.exit(f"bench/quiet.py: no part is called {unknown[0]}; parts: {', '.join(PARTS)}")
    random.seed(SEED)
    say(f"seed {SEED}, {MINUTES:g} minutes")
    with contextlib.ExitStack() as stack:
        folder = os.environ.get("FOLDER") or stack.enter_context(tempfile.TemporaryDirectory())
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        bench = Bench(pathlib.Path(folder).resolve())
        end = BEGAN + 60 * MINUTES
        for i, part in enumerate(parts):
            # What a part does not need is for the next ones.
            left = sum(SHARES[p] for p in parts[i:])
            until = time.monotonic() + (end - time.monotonic()) * SHARES[part] / left
            say(part)
            PARTS[part](bench, until)


if __name__ == "__main__":
    sys.exit(main())
