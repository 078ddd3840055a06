#!/usr/bin/env python3
"""Runs the unit tests of crates/core in Miri, an interpreter that finds undefined behaviour.

The interpreter is about a thousand times slower than the CPU, and some analyses would take hours in it. So all tests are run by the CPU
first, and those that take longer than MS there are left out. Property tests try one case each. A test that has still not ended after
SECONDS in the interpreter is left out, too. Ends with the numbers of tests, the names of those that were left out, and exit code 1 if a
test failed.

Usage: miri.py [--native MS] [--seconds SECONDS] [NAME…], of which each test has at least one in its name.
"""
import argparse
import json
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ENVIRONMENT = {
    **os.environ, "PROPTEST_CASES": "1", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    # Proptest asks for the folder that it runs in.
    "MIRIFLAGS": "-Zmiri-disable-isolation " + os.environ.get("MIRIFLAGS", ""),
}
TESTS = ["test", "--locked", "--quiet", "--package", "tarebench-core", "--lib", "--"]
# One after the other, each named before it begins.
ONE_BY_ONE = ["--exact", "--test-threads=1", "--format=pretty"]
BEGUN = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. ", re.MULTILINE)
ENDED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|ignored|FAILED)", re.MULTILINE)
TIMED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. ok <([0-9.]+)s>", re.MULTILINE)
# Until the first test begins: the interpreter compiles the tests anew for each start.
START = 900


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
    """Runs tests until one takes too long: the results by their names, the one that took too long, the output."""
    process = subprocess.Popen(["cargo", "+nightly", "miri", *TESTS, *ONE_BY_ONE, *tests], cwd=ROOT, stdin=subprocess.DEVNULL,
                               env={**ENVIRONMENT, "CARGO_TARGET_DIR": str(TARGET / "miri")},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    os.set_blocking(process.stdout.fileno(), False)
    output, begun, since, slow, shown = "", None, time.monotonic(), None, 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            selector.select(timeout=1)
            piece = process.stdout.read()
            if piece == b"":
                break
            output += (piece or b"").decode(errors="replace")
            ended = ENDED.findall(output)
            for name, result in ended[shown:]:
                print(f"{name}: {result}", flush=True)
            shown = len(ended)
            now = BEGUN.findall(output)
            if now and now[-1] != begun:
                begun, since = now[-1], time.monotonic()
            if time.monotonic() - since > (seconds if begun else START):
                slow = begun
                os.killpg(process.pid, signal.SIGKILL)
                break
    process.wait()
    return dict(ENDED.findall(output)), slow, output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", type=float, default=20, metavar="MS", help="leave out tests that take longer on the CPU (20)")
    parser.add_argument("--seconds", type=float, default=120, help="limit of a test in the interpreter (120)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only tests with one of these in their names")
    asked = parser.parse_args()
    took = {name: ms for name, ms in native_times().items() if not asked.names or any(part in name for part in asked.names)}
    rest = sorted(name for name, ms in took.items() if ms <= asked.native)
    left_out = sorted(set(took) - set(rest))
    passed, failed = [], []
    while rest:
        results, slow, output = interpreted(rest, asked.seconds)
        passed += [name for name, result in results.items() if result == "ok"]
        failed += [name for name, result in results.items() if result == "FAILED"]
        if "FAILED" in results.values():
            print(output[-6000:])
        remaining = [name for name in rest if name not in results and name != slow]
        if slow:
            print(f"{slow}: not ended after {asked.seconds:g} s", flush=True)
            left_out.append(slow)
        elif remaining:
            # The interpreter stops at undefined behaviour: the test that it was at has failed.
            print(output[-6000:])
            begun = next((name for name in reversed(BEGUN.findall(output)) if name in remaining), None)
            if begun is None:
                sys.exit("miri.py: no test began. Miri is needed: rustup toolchain install nightly --profile minimal -c miri -c rust-src")
            failed.append(begun)
            remaining.remove(begun)
        rest = remaining
    print(f"{len(took)} tests: {len(passed)} passed in Miri, {len(failed)} failed, {len(left_out)} were left out as too slow.")
    print(f"Left out: {' '.join(left_out) or 'none'}")
    if failed:
        print(f"Failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
