"""What the checks of machines found, and the document that shows it."""
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Check:
    feature: str
    who: str  # root or user
    standing: str  # works, instead, fails
    text: str


class Machine:
    """The checks of one machine, read from its console."""

    def __init__(self, name, kernel):
        self.name = name
        self.kernel = kernel
        self.version = "not booted"
        self.checks = []
        self.ended = False

    def read(self, line):
        """Takes a line of the console; whether it is a check's."""
        if line.startswith("KERNEL "):
            self.version = line.split(" ", 1)[1]
        self.ended |= line == "END"
        parts = line.split("\t")
        if parts[0] != "CHECK" or len(parts) != 5:
            return False
        self.checks.append(Check(*parts[1:]))
        return True

    def fail(self, text):
        """Of the machine as a whole."""
        self.checks.append(Check("boot", "root", "fails", text))

    def head(self):
        """A short name by what the machine itself says: `7.2 PREEMPT_RT`, `6.1 arm64`."""
        release, _, architecture = self.version.partition(" ")
        kind = " PREEMPT_RT" if "-rt-" in release else ""
        return ".".join(release.split(".")[:2]) + kind + (" arm64" if architecture == "aarch64" else "")

    def failures(self):
        return [c for c in self.checks if c.standing == "fails"]


HEAD = """# Machines

Where tare was tried, on real kernels: what works there, and what stands in for it where it doesn't. `make machines` boots Debian's
kernels in QEMU, makes the checks of `crates/testbed/src/truth` in each, as root and as an ordinary user, and writes this page.
The processors are emulated (QEMU's `max`, two of them), so times are not those of a real machine; truths are.

In the table, *works* means that the check passed: process times of known work within 1%, an account that leaves at most 0.1%
unattributed and names an injected competitor, the ratio of two programs that differ by 10%, settings that are as before after
`restore`. A number leads to what stands in for it and why. The first word is root's, the second an ordinary user's.
"""


def document(machines, topologies, counting, systemd):
    """The page: tables of features by kernels, by topologies, and with a PMU, then what stands in where, and why."""
    notes = []
    lines = [HEAD]
    lines += table(machines, [m.head() for m in machines], notes)
    if topologies:
        lines += ["", "## Topologies", "", f"With Linux {topologies[0].head()}: which CPUs are chosen, and what is said of them.", ""]
        lines += table(topologies, [m.name for m in topologies], notes)
    if counting:
        lines += ["", "## Counters", ""]
        lines += ["With one CPU, whose PMU counts cycles and instructions: held against programs that execute a known number of them.", ""]
        lines += table(counting, [m.head() for m in counting], notes)
    if systemd:
        lines += ["", "## systemd", ""]
        lines += ["On a Debian 12 with systemd as its first process (`scripts/machines/systemd.py`), over several boots:", ""]
        lines += ["| feature | who | |", "| --- | --- | --- |"]
        lines += [f"| {c.feature} | {c.who} | {c.standing} |" for c in systemd.checks]
    lines += ["", "## What stands in", ""]
    lines += [f"{number}. {text}" for number, text in enumerate(notes, start=1)]
    lines += ["", "## Kernels", ""]
    lines += [f"- Linux {m.version}" for m in machines]
    return "\n".join(lines) + "\n"


def table(machines, heads, notes):
    """Features by machines."""
    lines = ["| feature | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(machines)]
    for feature in dict.fromkeys(c.feature for m in machines for c in m.checks):
        cells = [cell([c for c in m.checks if c.feature == feature], notes) for m in machines]
        lines.append(f"| {feature} | " + " | ".join(cells) + " |")
    return lines


def cell(checks, notes):
    """The standings of a feature on a machine: root's, then the ordinary user's."""
    words = []
    for check in sorted(checks, key=lambda c: ["root", "user"].index(c.who)):
        word = check.standing
        if word == "instead":
            # Without figures, which differ from run to run.
            note = re.sub(r"^\d+ ", "", check.text.split("ms: ", 1)[-1])
            if note not in notes:
                notes.append(note)
            word = f"({notes.index(note) + 1})"
        words.append(word)
    return " / ".join(words) if words else "–"
