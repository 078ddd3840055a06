"""Names of signals."""

from __future__ import annotations

import signal


def signal_name(number: int | None) -> str:
    """A signal's name, as ``SIGINT``; ``signal 34`` of one that has none; ``a signal`` if it is not known which."""
    if number is None:
        return "a signal"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
