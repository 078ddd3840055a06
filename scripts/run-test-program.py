#!/usr/bin/env python3
"""Runs one test program for cargo (its setting `runner`), and again those of its tests that stolen CPU time may have failed.

If the hypervisor runs something else between two readings of two clocks, a comparison of the clocks fails. A failed test is run
once more, alone, if CPU time was stolen while it ran, at least a share STOLEN of its duration; it must pass then. All other
failures are failures, and so is everything after MOST reruns in a suite. Both outputs of a rerun are kept in the folder
TARE_TEST_RERUNS, and listed in its file `list`.
"""
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

# Stolen from all CPUs, of the duration. Comparisons of clocks allow 1% or more; the kernel reports it in ticks of 10 ms.
STOLEN = 0.05
MOST = 2
# Tests of these programs wait most of their time: as many of them at once.
WAITING = {"robustness": 4, "lab": 4}
# Between two readings of the steal time.
PERIOD = 0.1

# The duration is printed with --report-time only.
RESULT = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED <([0-9.]+)s>$")
# The standard library's test harness takes its unstable options with this variable, which is for this one program: its tests
# remove it from the environment of cargo, where it would compile everything anew.
TIMES = ["-Z", "unstable-options", "--report-time"]


def stolen():
    """Seconds of steal time of all CPUs since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class StealLog:
    """Reads the steal time every PERIOD, with the time."""

    def __init__(self):
        self.readings = [(time.monotonic(), stolen())]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.ended.wait(PERIOD):
            self.readings.append((time.monotonic(), stolen()))

    def between(self, start, end):
        """What was stolen between the last reading before and the first after."""
        now = (time.monotonic(), stolen())
        readings = self.readings + [now]
        before = max((r for r in readings if r[0] <= start), default=readings[0])
        after = min((r for r in readings if r[0] >= end), default=now)
        return after[1] - before[1]


def run(command):
    """Its exit code, its output, and its failed tests with what was stolen while each ran, as a share of its duration."""
    log, lines, failed = StealLog(), [], {}
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout:
            now = time.monotonic()
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
            if found := RESULT.match(line):
                took = max(float(found[2]), PERIOD)
                failed[found[1]] = log.between(now - took, now) / took
    log.ended.set()
    return process.returncode, "".join(lines), failed


def run_again(program, name, share, first, folder):
    """Whether the test passes this time; keeps both outputs, and a line in the list."""
    code, second, _ = run([program, "--exact", name, *TIMES])
    passed = code == 0 and re.search(r"^test result: ok\. 1 passed", second, re.MULTILINE) is not None
    label = f"{pathlib.Path(program).name}-{name.replace('::', '-')}"
    (folder / f"{label}-1.log").write_text(first, encoding="utf-8")
    (folder / f"{label}-2.log").write_text(second, encoding="utf-8")
    with open(folder / "list", "a", encoding="utf-8") as file:
        result = "passed" if passed else "failed again"
        file.write(f"{name} ({pathlib.Path(program).name}): {share:.0%} of its time stolen; {result}\n")
    return passed


def main():
    program, *arguments = sys.argv[1:]
    # Programs of documentation tests have no such options, and lie elsewhere.
    is_harness = pathlib.Path(program).parent.name == "deps"
    folder = os.environ.get("TARE_TEST_RERUNS")
    if not is_harness or not folder:
        # As rustdoc sets it without a runner: a process for each test.
        os.environ.setdefault("RUSTDOC_DOCTEST_BIN_PATH", program)
        os.execvp(program, [program, *arguments])
    folder = pathlib.Path(folder)
    threads = WAITING.get(pathlib.Path(program).name.rpartition("-")[0])
    if threads:
        arguments += [f"--test-threads={threads}"]
    code, output, failed = run([program, *arguments, *TIMES])
    summary = re.search(r"^test result: FAILED\. \d+ passed; (\d+) failed;", output, re.MULTILINE)
    # A program that crashed or hung has no such line.
    if code == 0 or not summary or int(summary[1]) != len(failed):
        return code
    done = len((folder / "list").read_text(encoding="utf-8").splitlines()) if (folder / "list").exists() else 0
    explained = all(share >= STOLEN for share in failed.values())
    for name, share in failed.items():
        print(f"{name} failed; CPU time stolen while it ran: {share:.0%} of its duration")
    if not explained or done + len(failed) > MOST:
        return code
    print("They are run once more.", flush=True)
    again = [run_again(program, name, share, output, folder) for name, share in failed.items()]
    return 0 if all(again) else code


if __name__ == "__main__":
    sys.exit(main())
