"""The store: runs, profiles and measurements of noise of this machine's user."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from tarebench import _native
from tarebench._gate import Gate
from tarebench._result import Run


class Store:
    """A store of results. It is opened anew for each question, so that other processes may measure into it meanwhile."""

    def __init__(self, native: _native.Store) -> None:
        self._native = native

    def __repr__(self) -> str:
        return f"<tarebench.Store: {self.path}>"

    @property
    def path(self) -> str:
        """The file."""
        return os.fspath(self._native.path)

    def runs(self, limit: int | None = 20, tags: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """The runs, newest first: id, uuid, created (ns since 1970), status, programs, counted (samples), tags, host, imported.

        At most ``limit``, None for all; with ``tags`` only those that have all of them. Empty if there is no store yet.
        """
        return _list(self._native.runs_json(limit, dict(tags or {})))

    def documents(
        self, kind: str | None = None, limit: int | None = 20, tags: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Other results, newest first; ``kind`` is profile, noise, study, bench, comparison or gate, None for all of these."""
        return _list(self._native.documents_json(kind, limit, dict(tags or {})))

    def run(self, which: int | str = "last") -> Run:
        """A run: its number, ``"last"``, or at least four digits of its uuid. Raises TareError if there is none."""
        return Run(self._native.run(str(which)))

    def gate(self, which: str) -> Gate:
        """A gate, e.g. ``"g1"``, finished or not. Raises TareError if there is none."""
        return Gate(self._native.gate(which))

    def noise(self, which: str) -> dict[str, Any]:
        """A measurement of noise, e.g. ``"n1"``, as ``tare show n1 --json`` prints it. Raises TareError if there is none."""
        return _object(self._native.noise_json(which))

    def profile(self, which: str | None = None) -> dict[str, Any] | None:
        """A profile by name, NAME@VERSION or number, as ``tare show p1 --json`` prints it; None is this machine's newest.

        None is returned if this machine has none; raises TareError for a name that there is not.
        """
        text = self._native.profile_json(which)
        return None if text is None else _object(text)


def _list(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)
    return found


def _object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def open(path: str | os.PathLike[str] | None = None) -> Store:  # noqa: A001
    """Open a store for reading: the file, else that of the variable TARE_DB, else the user's. Raises TareError if it is ``none``."""
    return Store(_native.Store(None if path is None else os.fspath(path)))
