"""Measure how long programs and Python code take on Linux: gross time minus what the machine added is net time.

- :func:`run` measures programs, as the command ``tare run`` does;
- :func:`gate` decides whether a change makes programs slower, as ``tare gate`` does;
- :func:`open` reads the store of what was measured before;
- :func:`measure` measures a block of Python, :func:`kbest` a call of a function.

All times are in nanoseconds. What is not known is None, never zero, and the reason stands beside it. Linux only.
"""

from tarebench._calls import KBest, kbest, measure
from tarebench._gate import Gate, GateBenchmark, gate
from tarebench._native import VERSION as __version__
from tarebench._native import Measurement, TareError
from tarebench._result import Comparison, Interrupted, Interval, Measure, Run, Series, run
from tarebench._samples import Samples
from tarebench._store import Store, open

__all__ = [
    "Comparison",
    "Gate",
    "GateBenchmark",
    "Interrupted",
    "Interval",
    "KBest",
    "Measure",
    "Measurement",
    "Run",
    "Samples",
    "Series",
    "Store",
    "TareError",
    "__version__",
    "gate",
    "kbest",
    "measure",
    "open",
    "run",
]
