"""The base of a comparison: its checkout, and the Python that runs it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional

import pytest

from .git import git
from .settings import Settings
from .worker import first_distributions, installed_from

Say = Callable[[str], None]


@dataclass(frozen=True)
class Base:
    """A base that is ready to be measured."""

    #: The counterpart of pytest's root folder.
    root: Path
    #: The interpreter that runs it.
    python: str
    #: What it is called, for the result.
    name: str
    #: Full commit id; None for a folder.
    commit: Optional[str]


@contextmanager
def prepared(settings: Settings, root: Path, say: Say) -> Iterator[Base]:
    """The base that `--tare-base` names, with a Python that has it installed as the head is.

    pytest.UsageError if there is none, and if its installation fails. Temporary files are gone afterwards.
    """
    assert settings.base is not None
    folder = Path(settings.base)
    if folder.is_dir():
        with _folder_base(settings, root, folder.resolve(), say) as base:
            yield base
    else:
        yield _revision_base(settings, root, say)


@contextmanager
def _folder_base(settings: Settings, root: Path, folder: Path, say: Say) -> Iterator[Base]:
    if folder == root.resolve():
        raise pytest.UsageError(f"--tare-base {settings.base}: that is the folder of the head itself")
    own = [folder / name / "bin" / "python" for name in (".venv", "venv")]
    found = settings.base_python or next((str(python) for python in own if python.exists()), None)
    if found is not None:
        yield Base(folder, _checked(found), str(folder), None)
        return
    with tempfile.TemporaryDirectory(prefix="tare-base-") as place:
        yield Base(folder, _environment(Path(place) / "venv", folder, root, settings, say), str(folder), None)


def _revision_base(settings: Settings, root: Path, say: Say) -> Base:
    revision = settings.base or ""
    top = git(root, "rev-parse", "--show-toplevel")
    if top is None:
        raise pytest.UsageError(f"--tare-base {revision}: no such folder, and {root} is not in a git work tree")
    if revision.startswith("-") or git(root, "rev-parse", "--verify", "--quiet", revision + "^{commit}") is None:
        raise pytest.UsageError(f"--tare-base {revision}: no such folder, and no such commit in {top}")
    commit = git(root, "merge-base", revision, "HEAD")
    if commit is None:
        raise pytest.UsageError(f"--tare-base {revision}: it has no commit in common with HEAD; is the clone shallow?")
    install = settings.base_install or ""
    key = hashlib.sha256("\0".join((top, commit, sys.executable, sys.version, install)).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare" / "pytest"
    place = cache / f"{commit[:12]}-{key}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{place.name}.lock", "w") as lock:
        # Two sessions may want the same base.
        fcntl.flock(lock, fcntl.LOCK_EX)
        tree = place / "tree"
        inside = tree / root.resolve().relative_to(Path(top).resolve())
        done = place / "ready"
        python = settings.base_python or str(place / "venv" / "bin" / "python")
        if not done.exists():
            say(f"checking out the base {commit[:12]}")
            _check_out(Path(top), place, tree, commit)
            if settings.base_python is None:
                _environment(place / "venv", inside, root, settings, say)
            done.write_text(f"{top}\n{commit}\n")
    if not inside.is_dir():
        raise pytest.UsageError(f"--tare-base {revision}: commit {commit[:12]} has no folder {inside.relative_to(tree)}")
    return Base(inside, _checked(python), revision, commit)


def _check_out(top: Path, place: Path, tree: Path, commit: str) -> None:
    # What an interrupted session left.
    if place.exists():
        shutil.rmtree(place)
    git(top, "worktree", "prune")
    place.mkdir(parents=True)
    answer = subprocess.run(
        ["git", "-C", str(top), "worktree", "add", "--detach", "--force", str(tree), commit],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if answer.returncode != 0:
        raise pytest.UsageError(f"--tare-base: git worktree add failed: {answer.stderr.strip()}")


def _environment(place: Path, folder: Path, root: Path, settings: Settings, say: Say) -> str:
    """Make a virtual environment in `place`, and install the base in `folder` into it; its Python.

    It sees what is installed for this Python, but comes first itself. Files that make packages importable at start (`.pth`), as
    those of an editable installation of the head, have no effect in it.
    """
    venv.EnvBuilder(with_pip=False, symlinks=True).create(place)
    python = str(place / "bin" / "python")
    outer = [entry for entry in sys.path if "site-packages" in entry or "dist-packages" in entry]
    site = _site_packages(place)
    site.mkdir(parents=True, exist_ok=True)
    # Files of this kind are read in the order of their names: whatever the base has installed comes first.
    (site / "zzz_tare_base.pth").write_text("".join(f"{entry}\n" for entry in outer if os.path.isdir(entry)))
    command = settings.base_install if settings.base_install is not None else _default_install(root)
    if command:
        say(f"installing the base: {command}")
        answer = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, env=_inside(place), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        if answer.returncode != 0:
            last = "\n".join(answer.stdout.splitlines()[-20:])
            raise pytest.UsageError(
                f"--tare-base: `{command}` in {folder} ended with exit code {answer.returncode}; "
                f"--tare-base-install names another command:\n{last}"
            )
    return python


def _site_packages(place: Path) -> Path:
    paths = sysconfig.get_paths("venv" if "venv" in sysconfig.get_scheme_names() else "posix_prefix", {"base": str(place)})
    return Path(paths["purelib"])


def _inside(place: Path) -> Dict[str, str]:
    """The environment of a command in a virtual environment."""
    variables = {**os.environ, "VIRTUAL_ENV": str(place), "PATH": f"{place / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
    variables.pop("PYTHONHOME", None)
    return variables


def _default_install(root: Path) -> Optional[str]:
    """Installs the base as the head is installed; None where the head is not: its tests find its sources themselves."""
    for distribution in first_distributions().values():
        source = installed_from(distribution)
        if source is not None and Path(source[0]).resolve() == root.resolve():
            editable = "--editable " if source[1] else ""
            return f"python -m pip install --quiet --no-deps --disable-pip-version-check {editable}."
    return None


def _checked(python: str) -> str:
    """The Python as an absolute path; UsageError if it is none, or has no pytest."""
    found = shutil.which(python)
    if found is None:
        raise pytest.UsageError(f"--tare-base: {python} is no program that can be started")
    # Not its real path: a virtual environment's Python is a link.
    found = os.path.abspath(found)
    answer = subprocess.run([found, "-c", "import pytest"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if answer.returncode != 0:
        last = answer.stderr.strip().splitlines()[-1:] or ["no message"]
        raise pytest.UsageError(f"--tare-base: {found} cannot import pytest ({last[0]}); install it there")
    return found


def base_arguments(arguments: List[str], positional: List[str], head: Path, base: Path, folder: Path) -> List[str]:
    """The head's command line for the base: paths below the head's root lead below the base's, and what the base has not is left out.

    `positional` are the files and node ids among the arguments, `folder` is where the base's session starts. A test is named by its
    file alone, as it may not exist there.
    """
    given: List[str] = []
    for argument in arguments:
        named = argument in positional
        moved = _moved(argument.split("::", 1)[0] if named else argument, str(head), str(base))
        if not named or (folder / moved).exists():
            given.append(moved)
    return given


def _moved(argument: str, head: str, base: str) -> str:
    option, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    if value == head or value.startswith(head + os.sep):
        value = base + value[len(head) :]
    return option + equals + value


def shown(arguments: List[str]) -> str:
    """A command line for a message."""
    return " ".join(shlex.quote(argument) for argument in arguments)
