"""Messages between pytest and its measuring processes: JSON objects, one a line, over two pipes.

Nothing is polled: a process that waits for a message sleeps, so that it does not disturb the one that measures.
"""

from __future__ import annotations

import json
import math
import os
import select
from typing import Any, Dict, Optional

#: Both ends must speak the same version.
PROTOCOL = 1

Message = Dict[str, Any]


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: what has no counterpart becomes its `repr`, keys become strings."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return repr(value)


class Channel:
    """One end of the two pipes. It belongs to the process that made it: a forked child sends nothing."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._owner = os.getpid()
        self._pending = b""

    def send(self, message: Message) -> bool:
        """Send a message; False if the other end is gone, or in a forked child."""
        if os.getpid() != self._owner:
            return False
        data = json.dumps(message).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._write_fd, data) :]
        except BrokenPipeError:
            return False
        return True

    def receive(self, pidfd: Optional[int] = None) -> Optional[Message]:
        """Wait for a message; None if none will come.

        `pidfd` is that of the process at the other end. It is needed because a child that outlives that process may hold the
        pipe open.
        """
        while b"\n" not in self._pending:
            if pidfd is not None:
                ready, _, _ = select.select([self._read_fd, pidfd], [], [])
                if self._read_fd not in ready:
                    return None
            data = os.read(self._read_fd, 1 << 16)
            if not data:
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        message: Message = json.loads(line)
        return message

    def close(self) -> None:
        """Close both pipes, in the process that owns them."""
        if os.getpid() == self._owner:
            os.close(self._read_fd)
            os.close(self._write_fd)
            self._owner = -1
