#!/usr/bin/env python3
"""How small a slowdown tare finds, and how often it finds one where there is none, on this machine.

power    Work of 100 ms, and the same with so many repetitions more that it takes 1% longer, compared by 30 duets: how often the verdict
         is that the second is slower.
minute   The smallest slowdown that a minute of duets would show with 95% power, by tare's own figure; then how often a minute finds a
         slowdown of that size.
suites   Gates of ten benchmarks whose base and head are the same files: how many find a regression or an improvement.

Prints Markdown for docs/compare.md and docs/gate.md. Arguments: the parts [all]. Environment: TARE (the command), REPEATS (20 for
power, 10 for minute), SUITES (100), BLOCKS (of a benchmark of a suite at most; 100, as tare gate has it), KINDS
(multiply,sort,sort-new,branches,calls).
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import ratio

KINDS = ["multiply", "sort", "sort-new", "branches", "calls"]
SUITES = int(os.environ.get("SUITES", "100"))
BLOCKS = os.environ.get("BLOCKS", "100")
MINUTE = 60


def repeats(otherwise):
    return int(os.environ.get("REPEATS", otherwise))


def compared(folder, commands, *options):
    """The comparison of two commands by duets."""
    run = subprocess.run([ratio.TARE, "run", "--json", "--db", f"{folder}/tare.db", "--order", "duet", *options, *commands],
                         check=True, capture_output=True, text=True)
    comparison = json.loads(run.stdout)["report"]["comparisons"][0]
    assert comparison["basis"] == "duets", comparison
    return comparison


def work(program, kind, slower):
    """Commands of which the second takes this share longer, and by how much it does: what a program sets up before its repetitions does
    not grow with them."""
    repetitions, truth = ratio.calibrate(program, kind)
    share = (truth - 1) / (ratio.STEP - 1)
    more = round(repetitions * (1 + slower / share))
    return [f"{program} {kind} {repetitions}", f"{program} {kind} {more}"], (more / repetitions - 1) * share


def verdict(comparison):
    return comparison["verdict"] if isinstance(comparison["verdict"], str) else next(iter(comparison["verdict"]))


def power(folder, program):
    print("| work | truth | 30 duets take | verdict: slower | others |\n| --- | ---: | ---: | ---: | --- |")
    found, of = 0, 0
    for kind in ratio.chosen("KINDS", KINDS):
        commands, truth = work(program, kind, 0.01)
        verdicts, seconds = collections.Counter(), 0.0
        for _ in range(repeats("20")):
            began = time.monotonic()
            verdicts[verdict(compared(folder, commands, "-r", "30"))] += 1
            seconds += time.monotonic() - began
        runs = sum(verdicts.values())
        slower = verdicts.pop("slower", 0)
        found, of = found + slower, of + runs
        print(f"| {kind} | {truth * 100:.2f}% | {seconds / runs:.1f} s | {slower} of {runs} | {dict(verdicts)} |", flush=True)
    print(f"\n{found} of {of} found.\n")


def minute(folder, program):
    print("| work | duets in a minute | smallest slowdown with 95% power, by tare | made slower by | found |\n"
          "| --- | ---: | ---: | ---: | ---: |")
    for kind in ratio.chosen("KINDS", KINDS):
        options = ("--max-time", f"{MINUTE}s", "-r", "1000")
        commands, _ = work(program, kind, 0.0)
        first = compared(folder, commands, *options)
        smallest = first["duets"]["Ok"]["detectable"]
        found, runs, truth = 0, repeats("10"), 0.0
        for _ in range(runs):
            commands, truth = work(program, kind, smallest)
            found += verdict(compared(folder, commands, *options)) == "slower"
        print(f"| {kind} | {first['pairs']} | {smallest * 100:.2f}% | {truth * 100:.2f}% | {found} of {runs} |", flush=True)


def suites(folder, program):
    """Ten benchmarks of 45 ms, each the same file on both sides."""
    ratio.LENGTH = 0.045
    base, head = pathlib.Path(folder, "base"), pathlib.Path(folder, "head")
    for side in (base, head):
        side.mkdir()
        (side / "kinds").write_bytes(pathlib.Path(program).read_bytes())
        (side / "kinds").chmod(0o755)
    suite = ""
    kinds = [*ratio.KINDS, "multiply", "branches"]
    for number, kind in enumerate(kinds):
        repetitions, _ = ratio.calibrate(program, kind)
        suite += f'[[benchmark]]\nname = "{kind}-{number}"\ncommand = "./kinds {kind} {repetitions + 100 * number}"\n'
    (head / "tare.toml").write_text(suite, encoding="utf-8")
    codes, seconds, improved, undecided = collections.Counter(), 0.0, 0, 0
    for number in range(SUITES):
        began = time.monotonic()
        gate = subprocess.run([ratio.TARE, "gate", "--base-dir", str(base), "--max-blocks", BLOCKS, "--json", "-",
                               "--db", f"{folder}/tare.db", "tare.toml"], cwd=head, capture_output=True, text=True, check=False)
        seconds += time.monotonic() - began
        codes[gate.returncode] += 1
        if gate.returncode not in (0, 5, 6):
            sys.exit(f"exit status {gate.returncode}\n{gate.stdout[-2000:]}\n{gate.stderr[-2000:]}")
        verdicts = collections.Counter(b["verdict"] for b in json.loads(gate.stdout)["report"]["benchmarks"])
        improved += verdicts["improvement"] > 0
        undecided += verdicts["inconclusive"]
        print(f"{number + 1}: exit code {gate.returncode}, {dict(verdicts)}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{SUITES} gates of {len(kinds)} benchmarks whose base and head are the same, of {BLOCKS} blocks at most: {codes[5]} found a "
          f"regression, {improved} an improvement; {undecided} of {SUITES * len(kinds)} benchmarks were inconclusive; "
          f"{seconds / SUITES:.0f} s each.")


def main():
    parts = {"power": power, "minute": minute, "suites": suites}
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/kinds"
            subprocess.run(["cc", "-O2", "-o", program, ratio.ROOT / "bench/ratio/kinds.c"], check=True)
            parts[name](folder, program)


if __name__ == "__main__":
    sys.exit(main())
