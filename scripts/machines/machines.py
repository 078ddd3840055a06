#!/usr/bin/env python3
"""Boots real kernels in QEMU and holds tare against known truths in each, as root and as an ordinary user.

Usage: machines.py [--kernel NAME]… [--write FILE] [--systemd FILE] [--folder FOLDER] --programs FOLDER [--programs-arm64 FOLDER]

Downloads Debian's kernels by apt, once, and boots each without KVM. In the guest there are only the kernel, a static shell,
`tare`, `burner` and `truth` (crates/testbed), which makes the checks and prints a line for each. Exits with 1 if one fails.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import guest
import kernels
import results

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["tare", "burner", "truth"]
# Seconds for all checks of a machine; they take some 150 on two cores.
LIMIT = 1500
# The kernel with which machines of other topologies are booted.
TOPOLOGIES_ON = "6.12"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", action="append", choices=[k.name for k in kernels.KERNELS], help="instead of all")
    parser.add_argument("--brief", action="store_true", help="only machines of two CPUs, and what breaks with the kernel")
    parser.add_argument("--write", type=pathlib.Path, help="write the table of features into this file")
    parser.add_argument("--systemd", type=pathlib.Path, help="results of systemd.py, for the table")
    parser.add_argument("--folder", type=pathlib.Path, default="target/machines", help="where kernels are kept")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tare, burner and truth")
    parser.add_argument("--programs-arm64", type=pathlib.Path, help="folder of the same for aarch64")
    return parser.parse_args()


def busybox_of(architecture, folder):
    """A static shell for this architecture."""
    if architecture == "amd64":
        return pathlib.Path(shutil.which("busybox"))
    into = folder / f"busybox-{architecture}"
    if not (into / "bin/busybox").exists() and not (into / "usr/bin/busybox").exists():
        kernels.Packages(folder / "apt", "bookworm", architecture).fetch("busybox-static", into)
    return next(p for p in [into / "bin/busybox", into / "usr/bin/busybox"] if p.exists())


def initrd_of(architecture, options, work):
    """The first file system of a guest."""
    programs = options.programs if architecture == "amd64" else options.programs_arm64
    root = work / f"root-{architecture}"
    stripped = work / f"programs-{architecture}"
    stripped.mkdir()
    strip = "strip" if architecture == "amd64" else "llvm-strip"
    for name in PROGRAMS:
        subprocess.run([strip, "-o", stripped / name, programs / name], check=True)
    guest.file_system(root, {n: stripped / n for n in PROGRAMS}, busybox_of(architecture, options.folder),
                      (HERE / "guest.sh").read_text(encoding="utf-8"))
    guest.archive(root, work / f"{architecture}.gz")
    shutil.rmtree(root)
    return work / f"{architecture}.gz"


def run(machine, kernel, initrd, options):
    """Boots one machine; returns what its checks found."""
    began = time.monotonic()
    found = results.Machine(machine.name, kernel.name)
    console = []

    def line(text):
        console.append(text)
        if found.read(text):
            print(f"{kernel.name}, {machine.name}\t{text}", flush=True)

    image = kernels.image_of(kernel, options.folder)
    whole = guest.boot(machine, kernel.architecture, image, initrd, LIMIT, line)
    print(f"== {kernel.name}, {machine.name}: {found.version}, {time.monotonic() - began:.0f} s", flush=True)
    if not whole or not found.ended:
        found.fail("the machine" + (" did not come to its end" if whole else f" was ended after {LIMIT} s"))
        print("\n".join(console[-60:]))
    return found


def parts(found, lengths):
    """The results in parts of these lengths, and the rest."""
    for length in lengths:
        yield found[:length]
        found = found[length:]
    yield found


def systemd_of(options):
    """What the checks on a Debian with systemd found; nothing where they were not made."""
    if not options.systemd or not options.systemd.exists():
        return None
    found = results.Machine("systemd", "Debian 12")
    for line in options.systemd.read_text(encoding="utf-8").splitlines():
        found.read(line)
    return found


def main():
    options = arguments()
    chosen = [k for k in kernels.KERNELS if not options.kernel or k.name in options.kernel]
    if options.programs_arm64 is None:
        chosen = [k for k in chosen if k.architecture != "arm64"]
    options.folder = options.folder.resolve()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        initrds = {a: initrd_of(a, options, work) for a in {k.architecture for k in chosen} | {"amd64"}}
        topologies = [] if options.brief else guest.TOPOLOGIES
        kernel = next(k for k in kernels.KERNELS if k.name == TOPOLOGIES_ON)
        usual = dataclasses.replace(guest.TWO_CPUS, append="checks=brief") if options.brief else guest.TWO_CPUS
        booted = [(usual, k) for k in chosen] + [(m, kernel) for m in topologies]
        # Only the PMU of aarch64 is emulated.
        counting = [] if options.brief else [k for k in chosen if k.architecture == "arm64"]
        booted += [(guest.COUNTING, k) for k in counting]
        for needed in {k.name: k for _, k in booted}.values():
            kernels.image_of(needed, options.folder)
        # Each machine has one thread for all of its CPUs.
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = list(pool.map(lambda m: run(*m, initrds[m[1].architecture], options), booted))
    if options.write:
        text = results.document(*parts(found, [len(chosen), len(topologies)]), systemd_of(options))
        options.write.write_text(text, encoding="utf-8")
    passed = sum(len(f.checks) - len(f.failures()) for f in found)
    failed = sum(len(f.failures()) for f in found)
    for one in found:
        for check in one.failures():
            print(f"FAILED {one.kernel}, {one.name}: {check.feature}, {check.who}: {check.text}")
    print(f"machines: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
