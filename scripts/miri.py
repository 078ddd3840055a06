#!/usr/bin/env python3
"""Runs the unit tests of crates/core in Miri, an interpreter that finds undefined behaviour.

The interpreter is about a thousand times slower than the CPU, and some analyses would take hours in it. So all tests are run by the CPU
first, and those that take longer than MS there are left out. Property tests try one case each. The others share the interpreter, as its
threads, those that take less than a millisecond before the others; what has not ended after MINUTES is left out, too. Ends with the
numbers of tests, the names of those that were left out, and exit code 1 if a test failed.

Usage: miri.py [--native MS] [--minutes MINUTES] [NAME…], of which each test has at least one in its name.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ENVIRONMENT = {
    **os.environ, "PROPTEST_CASES": "1", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    # Proptest asks for the folder that it runs in. By default Miri makes results of exp, ln and the like inexact at random, so that the
    # same logarithm is not equal to itself.
    "MIRIFLAGS": "-Zmiri-disable-isolation -Zmiri-deterministic-floats " + os.environ.get("MIRIFLAGS", ""),
}
TESTS = ["test", "--locked", "--quiet", "--package", "tarebench-core", "--lib", "--"]
# Limits of the parts, in ms: the test harness gives times in milliseconds. Each part starts the interpreter anew, which takes a minute.
PARTS = [0, 3]
# So many at a time; some that take long do not hold up the others.
TOGETHER = ["--exact", "--test-threads=64", "--format=pretty"]
ENDED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|ignored|FAILED)", re.MULTILINE)
TIMED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. ok <([0-9.]+)s>", re.MULTILINE)


def native_times():
    """What each test takes on the CPU, in ms."""
    built = subprocess.run(["cargo", "test", "--locked", "--package", "tarebench-core", "--lib", "--no-run", "--message-format=json"],
                           env={**ENVIRONMENT, "CARGO_TARGET_DIR": str(TARGET)}, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    program = next(m["executable"] for m in map(json.loads, built.stdout.splitlines()) if m.get("executable"))
    # The standard library's test harness takes its unstable options with this variable; cargo would compile everything anew with it.
    run = subprocess.run([program, "--format=pretty", "-Z", "unstable-options", "--report-time"], cwd=ROOT / "crates/core",
                         env={**ENVIRONMENT, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{run.stdout[-3000:]}\n{run.stderr[-3000:]}\nmiri.py: the tests do not pass without Miri")
    return {name: float(seconds) * 1000 for name, seconds in TIMED.findall(run.stdout)}


def interpreted(tests, seconds):
    """The results of tests by their names, the output, and whether the time was up before all had ended."""
    process = subprocess.Popen(["cargo", "+nightly", "miri", *TESTS, *TOGETHER, *tests], cwd=ROOT, stdin=subprocess.DEVNULL,
                               env={**ENVIRONMENT, "CARGO_TARGET_DIR": str(TARGET / "miri")},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    ended = threading.Event()

    def stop():
        if not ended.is_set():
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, stop)
    timer.start()
    output = ""
    for line in process.stdout:
        output += line
        if ENDED.match(line):
            print(line, end="", flush=True)
    ended.set()
    timer.cancel()
    return dict(ENDED.findall(output)), output, process.wait() == -signal.SIGKILL


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", type=float, default=20, metavar="MS", help="leave out tests that take longer on the CPU (20)")
    parser.add_argument("--minutes", type=float, default=30, help="limit of the interpreter (30); it compiles the tests first")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only tests with one of these in their names")
    asked = parser.parse_args()
    took = {name: ms for name, ms in native_times().items() if not asked.names or any(part in name for part in asked.names)}
    short = sorted(name for name, ms in took.items() if ms <= asked.native)
    if not short:
        sys.exit("miri.py: no test is left")
    end = time.monotonic() + asked.minutes * 60
    results, output, is_up = {}, "", False
    for above, most in itertools.pairwise([-1, *PARTS, asked.native]):
        part = [name for name in short if above < took[name] <= most]
        if part and time.monotonic() < end:
            found, output, is_up = interpreted(part, end - time.monotonic())
            results |= found
            if not is_up and not set(part) <= set(found):
                break
    is_up = is_up or time.monotonic() >= end
    passed = sorted(name for name, result in results.items() if result == "ok")
    left_out = sorted(set(took) - set(results))
    # At undefined behaviour the interpreter ends before all tests have.
    failed = "FAILED" in results.values() or (not is_up and not set(short) <= set(results))
    if failed:
        print(output[-8000:])
        print("miri.py: if it is not installed: rustup toolchain install nightly --profile minimal -c miri -c rust-src")
    print(f"{len(took)} tests: {len(passed)} passed in Miri, {len(left_out)} were left out{', AND SOME FAILED' if failed else ''}.")
    print(f"Left out: {' '.join(left_out) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
