"""Questions to git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Optional


def git(folder: Path, *arguments: str) -> Optional[str]:
    """What git prints in a folder; None if it fails, or there is none."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
