#!/usr/bin/env python3
"""Runs the examples of the documentation and compares what they print with what is shown, by its *shape*.

    check-console.py [--tare PATH] [--attempts N] [--timeout SECONDS] [PAGE…]
    check-console.py --list [PAGE…]          # runs nothing: which blocks are run, which are not, and why

An example is a fenced block `console` or `sh` that shows a command (`$ command`) followed by its output. The blocks of a page run in
their order, in one temporary folder with a store of its own, a file `numbers.txt`, and the programs of scripts/console. Blocks that
show commands only are not run. Any other block that is not run has a comment before it: `<!-- console: not run: REASON -->`.

The shape of a line is its words; figures with their units, intervals, dates, and what is a matter of the machine have placeholders
(`shape`). `…` or `[…]` alone on a line stands for any lines. What depends on the load or on the kernel may be there or not (OPTIONAL).
Lines may be broken at other words. What a command prints for which the block shows nothing is not compared.

Exit code 1 if an example prints something else, or a block has neither a command nor a reason. The examples are made as root on a
kernel with BTF; elsewhere nothing is run, which is a failure if TARE_NO_SKIP is set.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/*.md")
PROGRAMS = ROOT / "scripts/console"
BTF = pathlib.Path("/sys/kernel/btf/vmlinux")
LANGUAGES = ("console", "sh")
FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})\s*(\S*)\s*")
REASON = re.compile(r"<!-- console: not run: (.*\S) -->")
GAPS = ("…", "[…]", "...")
# The machine that most of the examples were made on.
DOCUMENTED_HOST = "vm"

# In this order. The first ones are of whole lines.
UNITS = r"(?:ns|us|µs|ms|s|min|h|%|×|[kMG]Hz|[kMG]i?B)"
SHAPES = [(re.compile(pattern), replacement) for pattern, replacement in (
    (r"`", ""),
    (r"\S+: \d+ × .*\bLinux \S+ \S+$", "MACHINE"),
    # tare doctor: how many factors are as recommended, and the state of one.
    (r"^[✓✗!?] \d+ (?:(?:not )?as recommended|could be better|unknown)\b.*$", "COUNTS"),
    (r"^\s+[✓✗!?] +([a-z][a-z-]+) .*$", r"FACTOR \1"),
    # The program's own sleep stands before what the machine added.
    (r"(?:asleep [^;]*; )?(?:the machine added|machine \+).*$", "the machine added #"),
    (r"no EMP version|EMPv\d", "EMP"),
    (r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?: ?[+-]\d\d:\d\d|Z)?)?", "DATE"),
    (r"\(interval from \d+ samples\)|95% \[[^\]]*\]", "INTERVAL"),
    # All samples, or those that are left.
    (r"(?:\d+ of )?\b\d+ samples?\b(?: \([^()]*discarded[^()]*\))?", "SAMPLES"),
    (r"\(=[\d+]+\)", ""),
    (r"\[(?:ns|us|µs|ms|s)\]", "[U]"),
    (r"\b[0-9a-f]{32}\b", "UUID"),
    # The interval of the ratio or figure before it, which may be unknown.
    (r"\[[+−-]?\d[^\[\]]*\]", ""),
    # tare trace: the number of a period, and what it was caused by.
    (r"^([AI])\d+\b", r"\1#"),
    (r"^(I#.*Duration\s.*?\)).*$", r"\1"),
    # Numbers of stored results: run 12, n1.
    (r"\b([bcgnps])\d+\b", r"\1#"),
    (rf"(?<![\w.])[+−-]?\d+(?:,\d{{3}})*(?:\.\d+)?(?:e[+-]?\d+)?(?:\s?{UNITS}(?![\w%]))?", "#"),
    (r"(?<!\S)–(?!\S)", "#"),
    # Between parts of a line; where the line is broken it is left out. At the begin it marks a note.
    (r"(?<=\S)\s+·\s+", " "),
    (r"\s+", " "),
)]

# Lines, as shapes, that may be in one of the two only: what they say depends on the load, the kernel or the CPU.
OPTIONAL = [re.compile(pattern) for pattern in (
    # Warnings and notes.
    r"[!·] .*",
    r"tare run --quiet .*|this machine's speed (?:varies; |may vary).*",
    r"(?:no duets of|blocks of) .*",
    r"set what can be set with tare tune.*",
    # The account, tare trace and tare noise: who had the CPU.
    r"(?:waited for .+|interrupts: .+|softirq: .+|stolen by the hypervisor|asleep: .+)(?: #)+",
    r"counters .*",
    r"(?:explained )?(?:preempted by .+|timer interrupt|interrupt .+|softirq .+|no kernel event: .+)(?: #)+",
    r"(?:stolen by the hypervisor|other tasks?|unattributed steal time)(?: #)+",
    r"# in all: .*",
    # tare run --self-check: the kernel programs that ran.
    r"\w+(?:_\w+)+ # # #",
    # tare clocks: in the order of their latency.
    r".+ (?:elapsed|CPU) (?:vDSO|instruction|system call|file).*",
    # tare doctor, tare tune: what this machine has.
    r"(?:fix|or): .*",
    r"[a-z][a-z-]+ \S+ .*(?:→|as recommended$|not available: ).*",
)]


@dataclass
class Block:
    """A fenced block: its first line in the page (from 1), its lines, and why it is not run."""

    line: int
    lines: list
    reason: str | None = None


@dataclass
class Command:
    """A command, and the lines that the block shows below it."""

    text: str
    shown: list


def blocks(text):
    """The blocks of a page that may be examples."""
    found, reason, lines = [], None, text.split("\n")
    at = 0
    while at < len(lines):
        fence = FENCE.fullmatch(lines[at])
        if not fence:
            given = REASON.fullmatch(lines[at].strip())
            if given or lines[at].strip():
                reason = given[1] if given else None
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if closes(lines[n], fence[2])), len(lines))
        if fence[3] in LANGUAGES:
            indent = len(fence[1])
            inside = [line[indent:] if line[:indent].isspace() else line for line in lines[at + 1 : end]]
            # In a block of `sh` everything is a command.
            prompted = inside if fence[3] == "console" else [f"$ {line}" for line in inside if line]
            found.append(Block(at + 2, prompted, reason))
        at, reason = end + 1, None
    return found


def closes(line, fence):
    return line.strip().startswith(fence) and not line.strip().strip(fence[0])


def commands(block):
    """The commands of a block. What is shown before the first one has the command ''."""
    # Where commands are of root, no line begins with a dollar sign.
    prompt = "$ " if any(line.startswith("$ ") for line in block.lines) else "# "
    found = []
    for line in block.lines:
        if found and found[-1].text.endswith("\\") and not found[-1].shown:
            found[-1].text += f"\n{line}"
        elif line.startswith(prompt):
            found.append(Command(line.removeprefix(prompt), []))
        else:
            if not found:
                found.append(Command("", []))
            found[-1].shown.append(line)
    for command in found:
        while command.shown and not command.shown[-1].strip():
            command.shown.pop()
    return found


def kind(block):
    """`run`, `not run`, `commands` for a block without any output, or `fault: …`."""
    inside = commands(block)
    shown = any(command.shown for command in inside)
    if block.reason:
        return "not run" if shown else "fault: the block shows no output, so it is not run without a reason, too; remove the comment"
    if not shown:
        return "commands"
    if not inside[0].text:
        return "fault: output without a command; begin with `$ command`, or say why before it: <!-- console: not run: REASON -->"
    return "run"


def shape(line, host=DOCUMENTED_HOST, sizes=()):
    """The words of a line, with placeholders for what differs from one execution to the next. `sizes` are kept as they are."""
    line = re.sub(rf"(?<![\w./-]){re.escape(host)}(?![\w.:/-])", "HOST", line)
    for size in sizes:
        line = re.sub(rf"\b{size}\b", f"SIZE_{size}", line)
    for pattern, replacement in SHAPES:
        line = pattern.sub(replacement, line)
    return line.strip()


def sizes(command):
    """The long numbers of a command: sizes of work, by which its programs are told apart. A measured figure is hardly the same."""
    return set(re.findall(r"\b\d{4,}\b", command))


def shapes(lines, host=DOCUMENTED_HOST, kept=()):
    """The shapes of the lines that are not empty; warnings and notes in one line each. A gap is None."""
    found = []
    for line in lines:
        if not line.strip():
            continue
        if line.strip() in GAPS:
            found.append(None)
        elif line.startswith("  ") and found and found[-1] and found[-1][:2] in ("! ", "· "):
            found[-1] += f" {shape(line, host, kept)}"
        else:
            found.append(shape(line, host, kept))
    return found


def optional(line):
    return any(pattern.fullmatch(line) for pattern in OPTIONAL)


# How many lines may be the same text, broken at other words.
BROKEN = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (2, 3), (3, 2))


def difference(expected, printed):
    """Where two lists of shapes differ: the positions that no match goes beyond; None if they match."""
    reached, open_, seen = (0, 0), [(0, 0)], {(0, 0)}
    while open_:
        at, to = open_.pop()
        if (at, to) == (len(expected), len(printed)):
            return None
        reached = max(reached, (at, to))
        for after in followers(expected, printed, at, to):
            if after not in seen:
                seen.add(after)
                open_.append(after)
    return reached


def followers(expected, printed, at, to):
    """The positions that can be reached from these by one step."""
    more = to < len(printed)
    if at < len(expected) and expected[at] is None:
        yield at + 1, to
        if more:
            yield at, to + 1
        return
    if at < len(expected) and optional(expected[at]):
        yield at + 1, to
    if more and optional(printed[to]):
        yield at, to + 1
    for these, those in BROKEN:
        left, right = expected[at : at + these], printed[to : to + those]
        if len(left) == these and len(right) == those and None not in left and " ".join(left) == " ".join(right):
            yield at + these, to + those


def ids(lines):
    """Numbers of runs that an output names: in the last line of a run, and in a list."""
    text = "\n".join(lines)
    return re.findall(r"^run (\d+)\b(?=.* · )|^ *(\d+) +run\b", text, re.M)


class Page:
    """One page, and the folder in which its examples run."""

    def __init__(self, tare, timeout, work, calibration):
        self.timeout, self.work, self.numbers = timeout, work, {}
        programs = work / "bin"
        programs.mkdir()
        (programs / "tare").symlink_to(tare)
        self.folder = work / "folder"
        shutil.copytree(PROGRAMS, self.folder)
        with open(self.folder / "numbers.txt", "wb") as file:
            subprocess.run(["seq", "1", "7", "4000000"], stdout=file, check=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARE_", "XDG_", "LC_", "CLICOLOR"))}
        kept.pop("COLUMNS", None)
        # The default store, so that hints name no other one.
        self.environment = kept | {
            "PATH": f"{programs}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(work),
            "XDG_DATA_HOME": str(work / "data"),
            "TARE_STATE": str(work / "state"),
            "TARE_CALIBRATION": str(calibration),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def run(self, command):
        """The lines that a command prints, on standard output and standard error."""
        with subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as running:
            try:
                printed, _ = running.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                printed, _ = running.communicate()
                printed += f"\n(stopped after {self.timeout} s)".encode()
        return printed.decode("utf-8", "replace").split("\n")

    def here(self, command):
        """A command with this store's numbers for those of the page."""
        if not re.match(r"\s*tare (?:show|report|export|rm|resume|compare)\b", command):
            return command
        return re.sub(r"(?<=\s)\d+(?=\s|$)", lambda found: self.numbers.get(found[0], found[0]), command)

    def faults(self, block):
        """What the commands of a block print that is not as shown."""
        found = []
        for command in commands(block):
            printed = self.run(self.here(command.text))
            if not command.shown:
                continue
            for theirs, ours in zip(ids(command.shown), ids(printed)):
                self.numbers["".join(theirs)] = "".join(ours)
            kept = sizes(command.text)
            expected, got = shapes(command.shown, kept=kept), shapes(printed, socket.gethostname(), kept)
            at = difference(expected, got)
            if at is not None:
                found.append(explained(command, expected, got, at, printed))
        return found


def explained(command, expected, got, at, printed):
    def line(shapes_, position):
        return "the end" if position >= len(shapes_) else "any lines (…)" if shapes_[position] is None else shapes_[position]

    whole = "\n".join(f"      {text}" for text in printed if text.strip())
    return (
        f"`{command.text}` prints something else\n    expected  {line(expected, at[0])}\n    printed   {line(got, at[1])}\n"
        f"    all that it printed:\n{whole}"
    )


def attempted(page, block, attempts):
    """The faults of a block. What an example prints is partly chance, so it may be tried again."""
    faults = []
    for _ in range(attempts):
        faults = page.faults(block)
        if not faults:
            break
    return faults


def run(pages, tare, attempts, timeout):
    """Runs the examples of the pages; returns how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as calibration:
        for name, found in pages:
            examples = [block for block in found if kind(block) == "run"]
            if not examples:
                continue
            with tempfile.TemporaryDirectory() as work:
                page = Page(tare, timeout, pathlib.Path(work), calibration)
                if any("tare inc" in line for block in examples for line in block.lines):
                    # A calibration would stand before the output; it is kept for the other pages.
                    page.run("tare inc 0.01 --quiet")
                for block in examples:
                    faults = attempted(page, block, attempts)
                    failed += bool(faults)
                    print(f"{name}:{block.line}: {'not as shown' if faults else 'as shown'}", flush=True)
                    for fault in faults:
                        print(f"  {fault}", flush=True)
    return failed


def read(names):
    """The pages with their blocks."""
    paths = [pathlib.Path(name).resolve() for name in names] or sorted(path for pattern in PAGES for path in ROOT.glob(pattern))
    return [(os.path.relpath(path, ROOT), blocks(path.read_text(encoding="utf-8"))) for path in paths]


def listed(pages, every):
    """Prints the blocks with faults, and on request all of them; returns how many have faults."""
    counts = {"run": 0, "not run": 0, "commands": 0, "fault": 0}
    for name, found in pages:
        for block in found:
            is_ = kind(block)
            counts[is_.split(":")[0]] += 1
            if is_.startswith("fault"):
                print(f"{name}:{block.line}: {is_}", file=sys.stderr)
            elif every:
                print(f"{name}:{block.line}: {is_}{f': {block.reason}' if block.reason else ''}")
    print(
        f"{counts['run']} examples to run, {counts['not run']} not run for a stated reason, "
        f"{counts['commands']} blocks of commands only, {counts['fault']} with faults"
    )
    return counts["fault"]


def main():
    parser = argparse.ArgumentParser(description="Runs the examples of the documentation and compares the shape of what they print.")
    parser.add_argument("--tare", default=f"{os.environ.get('CARGO_TARGET_DIR', 'target')}/release/tare", help="the command to run")
    parser.add_argument("--attempts", type=int, default=3, help="how often an example is run before it counts as failed (3)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one command (300)")
    parser.add_argument("--list", action="store_true", help="run nothing; list the blocks")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="only these pages")
    options = parser.parse_args()
    pages = read(options.pages)
    faults = listed(pages, options.list)
    if options.list:
        return 1 if faults else 0
    tare = pathlib.Path(options.tare).resolve()
    if not os.access(tare, os.X_OK):
        parser.error(f"there is no program {tare}; build it with `make build`, or name it with --tare")
    if os.geteuid() != 0 or not BTF.exists():
        print("not run: the examples need root and a kernel with BTF, as they show what the kernel traces")
        return 1 if faults or os.environ.get("TARE_NO_SKIP") else 0
    failed = run(pages, tare, options.attempts, options.timeout)
    if failed:
        print(f"{failed} examples print something else than shown: correct the document, or the program", file=sys.stderr)
    return 1 if faults or failed else 0


if __name__ == "__main__":
    sys.exit(main())
