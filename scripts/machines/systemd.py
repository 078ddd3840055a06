#!/usr/bin/env python3
"""Boots a Debian with systemd as PID 1 in QEMU, and tries there what needs it.

    systemd.py --tare PATH --work PATH [--results FILE] [--only PART,…] [--folder FOLDER] [--timeout SECONDS]

The machine is emulated without KVM (TCG). Its disk has a small Debian with systemd, a user with a user manager, cron, timers, units that do
nothing, and a PostgreSQL server. `systemd_guest.py` runs there as a unit, over several boots of the same disk: one of them ends by a crash
while the machine is tuned. It prints a line for each check, `CHECK<TAB>feature<TAB>who<TAB>works|fails<TAB>text`, which are printed here
and written to `--results`. `--work` is the program whose CPU time is known (`burner` of crates/testbed).

The Debian is made once, by debootstrap and apt, and kept in target/machines. Needs root; qemu-system-x86_64, debootstrap, mke2fs.
Exit code 1 if a check fails or the machine does not end by itself, 2 for wrong arguments.
"""
import argparse
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUITE = "bookworm"
# systemd with user managers; a server for the lab; Debian's kernel, whose package makes the initial file system.
FIRST = "systemd-sysv,dbus,dbus-user-session,libpam-systemd,cron,procps,python3,initramfs-tools,kmod"
SECOND = "linux-image-cloud-amd64 postgresql-15"
# Units that do nothing, by names that `tare tune` knows.
UNITS = {
    "cups.socket": "[Socket]\nListenStream=/run/cups.sock\n[Install]\nWantedBy=sockets.target\n",
    # As some are, without a dependency on its socket; systemd starts no socket whose service is running.
    "cups.service": "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
    "cups.path": "[Path]\nPathExists=/run/cups.wanted\n[Install]\nWantedBy=multi-user.target\n",
    # Started by its socket only.
    "avahi-daemon.socket": "[Socket]\nListenStream=/run/avahi.sock\n[Install]\nWantedBy=sockets.target\n",
    "avahi-daemon.service": "[Unit]\nRequires=avahi-daemon.socket\n[Service]\nExecStart=sleep infinity\n",
    # Not started at boot.
    "thermald.service": "[Service]\nExecStart=sleep infinity\n",
    # Ends by itself.
    "packagekit.service": "[Service]\nExecStart=sleep 3600\n",
    "machine-daily.timer": "[Timer]\nOnCalendar=daily\nPersistent=true\n[Install]\nWantedBy=timers.target\n",
    "machine-daily.service": "[Service]\nType=oneshot\nExecStart=true\n",
    "machine-often.timer": "[Timer]\nOnBootSec=1\nOnUnitActiveSec=20\n[Install]\nWantedBy=timers.target\n",
    "machine-often.service": "[Service]\nType=oneshot\nExecStart=true\n",
    # The checks. As a type that counts as started at once, since they wait until the machine has started.
    "machine-checks.service": "[Unit]\nRequiresMountsFor=/machine\n[Service]\n"
                              "ExecStart=python3 /machine/systemd_guest.py\nWorkingDirectory=/root\n"
                              "Environment=HOME=/root\nStandardOutput=journal+console\n[Install]\nWantedBy=multi-user.target\n",
}
ENABLED = ["cups.socket", "cups.service", "avahi-daemon.socket", "packagekit.service", "machine-daily.timer", "machine-often.timer",
           "machine-checks.service"]


class Failed(Exception):
    """A sentence that says what is wrong."""


def arguments():
    parser = argparse.ArgumentParser(description="Boots a Debian with systemd in QEMU, and tries there what needs it.")
    parser.add_argument("--tare", required=True, type=pathlib.Path, help="the command, with tare-lab beside it")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="the program whose CPU time is known")
    parser.add_argument("--results", type=pathlib.Path, help="write the lines of the checks to this file, too")
    parser.add_argument("--only", default="", metavar="PART,…", help="only these parts: machine, user, lab, reboot")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/machines", help="where the Debian is kept")
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for all boots together")
    options = parser.parse_args()
    for program in (options.tare, options.tare.with_name("tare-lab"), options.work):
        if not os.access(program, os.X_OK):
            parser.error(f"there is no program {program}")
    if os.geteuid() != 0:
        parser.error("expected root: debootstrap and the files of the machine's disk need it")
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("debootstrap", "debootstrap"), ("mke2fs", "e2fsprogs")):
        if not shutil.which(program):
            parser.error(f"there is no {program}: apt-get install {package}")
    return options


def run(*command, log=None, **more):
    """Runs a command, which must succeed."""
    with tempfile.TemporaryFile() as output:
        done = subprocess.run([str(word) for word in command], check=False, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, **more)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if log:
        log.write_text(text)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{text[-3000:]}")
    return text


def mirror():
    """Address of the Debian archive that apt uses."""
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Identifier: Packages")
    rows = [line.split() for line in targets.splitlines()]
    found = [row[0] for row in rows if row[1:] == [SUITE, "main"] and "security" not in row[0]]
    return found[0] if found else "http://deb.debian.org/debian"


def install(root):
    """Debian, below a folder. What is mounted there ends with the name space, also if this is interrupted."""
    second = (f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {SECOND} && apt-get clean && "
              "rm -rf /var/lib/apt/lists/*")
    script = """
        mount --make-rprivate /
        debootstrap --variant=minbase --include="$2" "$3" "$1" "$4"
        # Nothing is started.
        printf '#!/bin/sh\\nexit 101\\n' >"$1/usr/sbin/policy-rc.d"
        chmod 755 "$1/usr/sbin/policy-rc.d"
        # All modules of the kernel: this machine's disk is not the guest's.
        printf 'MODULES=most\\nCOMPRESS=gzip\\n' >"$1/etc/initramfs-tools/conf.d/machine"
        mountpoint -q "$1/proc" || mount -t proc proc "$1/proc"
        chroot "$1" sh -ec "$5"
        rm "$1/usr/sbin/policy-rc.d"
        """
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    run("unshare", "--mount", "--fork", "--kill-child", "sh", "-ec", script, "-", root, FIRST, SUITE, mirror(), second, env=environment)


def configure(root):
    """What distinguishes the machine from a fresh Debian."""
    units = root / "etc/systemd/system"
    for name, text in UNITS.items():
        (units / name).write_text(text)
    for name, text in (("etc/hostname", "machine\n"), ("etc/fstab", "/dev/vda / ext4 defaults 0 1\n/dev/vdb /machine ext4 ro 0 0\n"),
                       ("etc/machine-id", "uninitialized\n")):
        (root / name).write_text(text)
    (root / "machine").mkdir()
    (root / "usr/local/bin/tare").symlink_to("/machine/tare")
    run("chroot", root, "useradd", "--create-home", "--uid", "1000", "--shell", "/bin/sh", "alice")
    # Its user manager runs without a login.
    linger = root / "var/lib/systemd/linger"
    linger.mkdir(parents=True, exist_ok=True)
    (linger / "alice").touch()
    run("chroot", root, "systemctl", "enable", *ENABLED)
    run("chroot", root, "systemctl", "mask", "serial-getty@ttyS0.service")


def key(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def made_once(folder, name, of, make):
    """The folder of this name and of what it is made of; others of the name are removed, and it is made, if it is missing."""
    made = folder / f"{name}-{key(*of)}"
    if not made.exists():
        for old in folder.glob(f"{name}-*"):
            shutil.rmtree(old)
        new = folder / f"new-{name}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        make(new)
        new.rename(made)
    return made


def system(folder):
    """Disk, kernel and initial file system of a Debian that has not been started; made if they are missing."""
    def debian(new):
        print(f"Making a Debian {SUITE} with systemd in {folder} …", flush=True)
        install(new)

    def disk(new):
        run("cp", "-a", root, new / "root")
        configure(new / "root")
        for name, file in (("kernel", "vmlinuz-*"), ("initrd", "initrd.img-*")):
            shutil.copyfile(next((root / "boot").glob(file)), new / name)
        run("mke2fs", "-q", "-t", "ext4", "-d", new / "root", new / "disk", "3G")
        shutil.rmtree(new / "root")

    installed = [SUITE, FIRST, SECOND, inspect.getsource(install)]
    root = made_once(folder, "systemd-debian", installed, debian)
    return made_once(folder, "systemd-disk", [*installed, repr(UNITS), repr(ENABLED), inspect.getsource(configure)], disk)


def payload(options, folder):
    """The disk with what is tried."""
    files = folder / "payload"
    files.mkdir()
    for source, name in ((options.tare, "tare"), (options.tare.with_name("tare-lab"), "tare-lab"), (options.work, "work")):
        run("strip", "-o", files / name, source) if shutil.which("strip") else shutil.copy(source, files / name)
        (files / name).chmod(0o755)
    for source in (HERE / "systemd_guest.py", *(ROOT / "packaging").glob("tare-lab-agent.*")):
        shutil.copy(source, files)
    (files / "parts").write_text(options.only)
    run("mke2fs", "-q", "-t", "ext4", "-d", files, folder / "payload.disk", "256M")
    return folder / "payload.disk"


def boot(made, folder, number, timeout):
    """Boots the disk once; returns when the machine powers off or restarts. Its serial lines are files."""
    console, results = folder / f"console-{number}", folder / f"results-{number}"
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2", "-m", "2048", "-display", "none",
               "-no-reboot", "-nic", "none", "-monitor", "none", "-serial", f"file:{console}", "-serial", f"file:{results}",
               "-drive", f"file={folder / 'disk'},format=raw,if=virtio,cache=unsafe",
               "-drive", f"file={folder / 'payload.disk'},format=raw,if=virtio,readonly=on",
               "-kernel", made / "kernel", "-initrd", made / "initrd",
               "-append", f"root=/dev/vda rw console=ttyS0 quiet panic=-1 machine.boot={number}"]
    try:
        subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"boot {number} did not end within {timeout:.0f} s", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        raise Failed(f"qemu-system-x86_64: exit code {error.returncode}") from error
    return results.read_text(errors="replace").replace("\r", "").splitlines() if results.exists() else []


def tried(options, folder):
    """The lines of all checks, over all boots."""
    made = system(options.folder)
    run("cp", "--sparse=always", made / "disk", folder / "disk")
    payload(options, folder)
    lines, number, left = [], 1, options.timeout
    while True:
        began = os.times().elapsed
        new = boot(made, folder, number, left)
        left -= os.times().elapsed - began
        print("\n".join(new), flush=True)
        lines += new
        if "NEXT" not in new or left <= 0:
            break
        number += 1
    if "END" not in lines:
        console = (folder / f"console-{number}").read_text(errors="replace")
        print(f"The end of the console of boot {number}:\n{console[-6000:]}", file=sys.stderr)
        raise Failed("the checks did not come to their end")
    return [line for line in lines if line.startswith("CHECK\t")]


def main():
    options = arguments()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="boot-") as folder:
            checks = tried(options, pathlib.Path(folder))
    except Failed as error:
        print(f"systemd.py: {error}", file=sys.stderr)
        return 1
    if options.results:
        options.results.write_text("".join(f"{line}\n" for line in checks))
    failed = [line for line in checks if line.split("\t")[3] == "fails"]
    print(f"{len(checks)} checks, {len(failed)} failed")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
