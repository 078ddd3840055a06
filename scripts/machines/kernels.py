"""The kernels that the laboratory boots: Debian's own, downloaded by apt and kept below the target folder."""
import dataclasses
import pathlib
import re
import subprocess
import tempfile


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of Debian: where it is found, and how it is booted."""

    name: str  # as on the command line and in docs/machines.md
    suite: str  # of Debian
    architecture: str  # Debian's name
    package: str  # what the newest package's name matches


CLOUD = r"^linux-image-[0-9].*-cloud-{}-unsigned$"
NEWEST = r"^linux-binary-unsigned-.*-{}$"
KERNELS = [
    Kernel("5.10", "bullseye", "amd64", CLOUD.format("amd64")),
    Kernel("6.1", "bookworm", "amd64", CLOUD.format("amd64")),
    Kernel("6.12", "trixie", "amd64", CLOUD.format("amd64")),
    Kernel("newest", "sid", "amd64", NEWEST.format("cloud-amd64")),
    Kernel("newest-rt", "sid", "amd64", NEWEST.format("rt-amd64")),
    Kernel("6.1-arm64", "bookworm", "arm64", CLOUD.format("arm64")),
    Kernel("newest-arm64", "sid", "arm64", NEWEST.format("cloud-arm64")),
]


def mirror():
    """Where this machine gets Debian's packages from, by apt's own sources."""
    places = pathlib.Path("/etc/apt").glob("sources.list*")
    files = [f for place in places for f in ([place] if place.is_file() else sorted(place.iterdir()))]
    for file in files:
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            found = re.match(r"(?:URIs:|deb(?: \[[^]]*\])?)\s+(\S+/debian)/?(?:\s|$)", line)
            if found:
                return found[1]
    raise SystemExit("machines: apt's sources name no Debian mirror, from which kernels could be had")


class Packages:
    """apt for one suite and architecture, with lists of its own: the machine's stay as they are."""

    def __init__(self, folder, suite, architecture):
        self.folder = folder / f"{suite}-{architecture}"
        for part in ["lists/partial", "cache/archives/partial"]:
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        sources = self.folder / "sources.list"
        # Trusted: signatures are checked by the keys of this machine's release, which lacks those of later ones.
        sources.write_text(f"deb [trusted=yes arch={architecture}] {mirror()} {suite} main\n", encoding="utf-8")
        settings = {
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::State::Status": "/dev/null",
            "Dir::Cache": self.folder / "cache",
        }
        self.options = [f"-o{key}={value}" for key, value in settings.items()]
        self.updated = False

    def apt(self, *words, **more):
        """Runs apt-get or apt-cache; the first word says which."""
        command = [words[0], *self.options, *words[1:]]
        return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more).stdout

    def update(self):
        """Fetches the lists, once."""
        if not self.updated:
            self.apt("apt-get", "update", "-qq")
            self.updated = True

    def newest(self, pattern):
        """The package whose version is the highest of those that match."""
        self.update()
        names = [line.split()[0] for line in self.apt("apt-cache", "search", "--names-only", pattern).splitlines()]
        if not names:
            raise SystemExit(f"machines: {self.folder.name} has no package {pattern}")
        return max(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])

    def fetch(self, package, into):
        """Downloads a package and unpacks it into a folder, which is whole or not there."""
        self.update()
        into.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into.parent) as work:
            self.apt("apt-get", "download", "-qq", package, cwd=work)
            (file,) = pathlib.Path(work).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", file, f"{work}/x"], check=True)
            pathlib.Path(work, "x").rename(into)


def image_of(kernel, folder):
    """The kernel's file. What was downloaded before is kept: remove the folder to get a newer one."""
    into = folder / "kernels" / kernel.name
    if not into.exists():
        packages = Packages(folder / "apt", kernel.suite, kernel.architecture)
        packages.fetch(packages.newest(kernel.package), into)
    return next(into.rglob("vmlinuz*"))
