"""The machines that the laboratory boots: an initial file system in memory, and QEMU without KVM."""
import dataclasses
import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess
import threading

# Debian's names of architectures, QEMU's, and the console that each has.
QEMU = {
    "amd64": ("qemu-system-x86_64", ["-cpu", "max"], "ttyS0"),
    # Its machine virt has hardware counters under emulation, too. Pointers are signed in a way that is cheap to emulate.
    "arm64": ("qemu-system-aarch64", ["-machine", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0"),
}
MOUNTS = ["proc", "sys", "dev", "tmp", "etc", "root", "bin", "var/lib"]


@dataclasses.dataclass(frozen=True)
class Machine:
    """What is booted: QEMU's options for the processors, and the kernel's own."""

    name: str
    smp: str = "2"
    qemu: tuple = ()
    append: str = ""


def nodes(number, cpus):
    """QEMU's options for so many NUMA nodes of 1 GiB with so many CPUs each."""
    options = []
    for node in range(number):
        memory = f"memory-backend-ram,id=memory{node},size={2048 // number}M"
        first = node * cpus
        options += ["-object", memory, "-numa", f"node,nodeid={node},cpus={first}-{first + cpus - 1},memdev=memory{node}"]
    return tuple(options)


TWO_CPUS = Machine("two CPUs")
# With `-icount`, QEMU counts instructions, one of them a cycle of 1 ns; those of all CPUs together, so there is only one.
COUNTING = Machine("1 CPU that counts instructions", smp="1", qemu=("-icount", "shift=0"), append="checks=counters")
# Checked for the choice of CPUs.
TOPOLOGIES = [
    Machine("1 CPU", smp="1", append="checks=topology"),
    Machine("2 sockets × 2 cores × 2 threads, 2 nodes", smp="8,sockets=2,cores=2,threads=2", qemu=nodes(2, 4), append="checks=topology"),
    Machine("4 CPUs, isolcpus and nohz_full", smp="4", append="checks=topology isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3"),
]


def libraries_of(program):
    """The shared libraries that a program of this machine needs; none of a static one, or of another architecture."""
    found = subprocess.run(["ldd", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return [pathlib.Path(p) for p in re.findall(r"(/\S+) \(0x", found.stdout)]


def file_system(folder, programs, busybox, init):
    """Writes the files of a guest below a folder: `programs` maps names to files. `init` is its first program, a script."""
    for name in MOUNTS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(busybox, folder / "bin/busybox")
    # By this machine's own, as the guest's may be of another architecture.
    applets = subprocess.run(["busybox", "--list"], text=True, stdout=subprocess.PIPE, check=True).stdout.split()
    for name in applets:
        if name != "busybox":
            (folder / "bin" / name).symlink_to("busybox")
    for name, file in programs.items():
        shutil.copy(file, folder / "bin" / name)
        for library in libraries_of(file):
            place = folder / library.relative_to("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    (folder / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n", encoding="utf-8")
    (folder / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n", encoding="utf-8")
    (folder / "init").write_text(init, encoding="utf-8")
    (folder / "init").chmod(0o755)


def archive(folder, into):
    """The files below a folder as the kernel takes them: a cpio archive of the form newc (initramfs buffer format)."""
    with gzip.open(into, "wb", compresslevel=1) as out:
        names = sorted(p.relative_to(folder) for p in folder.rglob("*"))
        for number, name in enumerate([*names, None], start=1):
            write_entry(out, number, name, folder)


def write_entry(out, number, name, folder):
    """One entry; `None` is the end of the archive."""
    mode, data, label = 0, b"", "TRAILER!!!"
    if name is not None:
        path, label = folder / name, str(name)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            data = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(mode):
            data = path.read_bytes()
    encoded = os.fsencode(label) + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    out.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))


def boot(machine, architecture, kernel, initrd, limit, each):
    """Boots, hands every line of the console to `each`, and returns when the machine has been switched off.

    One thread for all CPUs of the guest: with several, QEMU 7.2 lost a breakpoint with which the kernel changes its own code, and
    the guest panicked. False if it had to be ended after `limit` seconds.
    """
    program, processor, console = QEMU[architecture]
    command = [
        program, *processor, "-accel", "tcg,thread=single", "-smp", machine.smp, "-m", "2048", "-display", "none", "-nodefaults",
        "-no-reboot", "-serial", "stdio", "-kernel", kernel, "-initrd", initrd,
        "-append", f"console={console} quiet panic=-1 {machine.append}", *machine.qemu,
    ]
    # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        ended = threading.Event()

        def end():
            ended.set()
            guest.kill()

        timer = threading.Timer(limit, end)
        timer.start()
        for line in guest.stdout:
            each(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line.decode("utf-8", "replace")).rstrip("\r\n"))
        timer.cancel()
    return not ended.is_set()
