"""The command ``tare``: also ``python -m tarebench``."""

from __future__ import annotations

import signal
import sys

from tarebench import _native


def main() -> int:
    """Run the command with the arguments of this process; return its exit code."""
    # As in a process of its own: Python's handler would only note the signal while the command runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["tare", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
