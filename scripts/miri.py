#!/usr/bin/env python3
"""Runs the unit tests of crates/core in Miri, an interpreter that finds undefined behaviour.

The interpreter is hundreds of times slower than the CPU, and some analyses would take hours in it: a test that has not ended after
SECONDS is left out. Property tests try one case each. Ends with the numbers of tests, the names of those that were left out, and exit
code 1 if a test failed.

Usage: miri.py [--seconds SECONDS] [--workers N] [NAME…], of which each test has at least one in its name.
"""
import argparse
import os
import pathlib
import queue
import re
import selectors
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "miri"
ENVIRONMENT = {
    **os.environ, "PROPTEST_CASES": "1", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1", "CARGO_TARGET_DIR": str(TARGET),
    # Proptest asks for the folder that it runs in.
    "MIRIFLAGS": "-Zmiri-disable-isolation " + os.environ.get("MIRIFLAGS", ""),
}
COMMAND = ["cargo", "+nightly", "miri", "test", "--locked", "--quiet", "--package", "tarebench-core", "--lib", "--"]
# One after the other, each named before it begins.
ONE_BY_ONE = ["--exact", "--test-threads=1", "--format=pretty", "--nocapture"]
# Of tests that one start of the interpreter runs: the start takes some seconds.
BATCH = 20
STARTED = re.compile(r"^test (\S+?)(?: - should panic)? \.\.\. ", re.MULTILINE)
ENDED = re.compile(r"^test (\S+?)(?: - should panic)? \.\.\. .*?(ok|ignored|FAILED)$", re.MULTILINE | re.DOTALL)
# Compiling and starting.
START = 300


def tests(names):
    listed = subprocess.run([*COMMAND, "--list"], env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        sys.exit(f"{listed.stderr[-3000:]}\nMiri is needed: rustup toolchain install nightly --profile minimal -c miri -c rust-src")
    found = re.findall(r"^(\S+): test$", listed.stdout, re.MULTILINE)
    return [t for t in found if not names or any(name in t for name in names)]


def run(batch, seconds):
    """Runs tests until one of them takes too long: the results by their names, the one that took too long, the output."""
    process = subprocess.Popen([*COMMAND, *ONE_BY_ONE, *batch], env=ENVIRONMENT, cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    os.set_blocking(process.stdout.fileno(), False)
    output, begun, since = "", None, time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            selector.select(timeout=1)
            piece = process.stdout.read()
            if piece == b"":
                break
            output += (piece or b"").decode(errors="replace")
            now = STARTED.findall(output)
            if now and now[-1] != begun:
                begun, since = now[-1], time.monotonic()
            if time.monotonic() - since > (seconds if begun else START):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                ended = dict(ENDED.findall(output))
                return ended, begun if begun not in ended else None, output
    process.wait()
    return dict(ENDED.findall(output)), None, output


def work(batches, seconds, results, lock):
    while True:
        try:
            batch = batches.get_nowait()
        except queue.Empty:
            return
        while batch:
            ended, slow, output = run(batch, seconds)
            with lock:
                for name in batch:
                    if name in ended or name == slow:
                        results[name] = ended.get(name, "not finished")
                        print(f"{name}: {results[name]}", flush=True)
            rest = [name for name in batch if name not in results]
            if not slow and rest:
                # The interpreter itself stops at undefined behaviour: the test that it was at has failed.
                begun = (STARTED.findall(output) or rest)[-1]
                with lock:
                    results[begun] = "FAILED"
                    print(f"{begun}: FAILED\n{output[-4000:]}", flush=True)
                rest = [name for name in rest if name != begun]
            batch = rest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="limit of a test (60)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="tests at a time (the number of CPUs)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only tests with one of these in their names")
    asked = parser.parse_args()
    all_of_them = tests(asked.names)
    batches, results, lock = queue.Queue(), {}, threading.Lock()
    for start in range(0, len(all_of_them), BATCH):
        batches.put(all_of_them[start:start + BATCH])
    workers = [threading.Thread(target=work, args=(batches, asked.seconds, results, lock)) for _ in range(asked.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    by_result = {kind: [name for name in all_of_them if results.get(name) == kind] for kind in ("ok", "ignored", "FAILED", "not finished")}
    print(f"{len(all_of_them)} tests: {len(by_result['ok'])} passed, {len(by_result['FAILED'])} failed, {len(by_result['ignored'])} are marked slow, "
          f"{len(by_result['not finished'])} did not end in {asked.seconds:g} s each.")
    for kind in ("FAILED", "not finished"):
        if by_result[kind]:
            print(f"{kind}: {' '.join(by_result[kind])}")
    return 1 if by_result["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
