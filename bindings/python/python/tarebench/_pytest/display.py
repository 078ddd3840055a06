"""The result on the terminal."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest

from .results import Record, Verdict, compared_measure, figures, suite_exit
from .settings import Settings

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def duration(ns: float) -> str:
    """A time with four significant digits and its unit."""
    size, unit = _scale(ns)
    return f"{number(ns / size)} {unit}"


def number(value: float) -> str:
    """Four significant digits, without an exponent."""
    size = abs(value)
    digits = 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0
    return f"{value:.{digits}f}"


def change(ratio: float) -> str:
    """A ratio as a change, e.g. `+4.1 %`."""
    return f"{(ratio - 1) * 100:+.1f} %".replace("-", "−")


def _scale(ns: float) -> Tuple[float, str]:
    return next(((size, unit) for size, unit in _UNITS if abs(ns) >= size), _UNITS[-1])


def _interval(low_high: Optional[Sequence[float]], size: float) -> str:
    return "" if low_high is None else f"[{number(low_high[0] / size)}, {number(low_high[1] / size)}]"


def _with_spread(found: Optional[Dict[str, Any]]) -> Tuple[str, str]:
    """Mean with its standard deviation, and its interval, in one unit."""
    if found is None:
        return "", ""
    size, unit = _scale(found["mean"])
    spread = "" if found["stddev"] is None else f" ± {number(found['stddev'] / size)}"
    return f"{number(found['mean'] / size)} {unit}{spread}", _interval(found["interval"], size)


def _table(rows: List[List[str]]) -> List[str]:
    """Columns side by side, the first row is their heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def times_table(records: List[Record]) -> List[str]:
    """A line for each benchmark."""
    rows = [["benchmark", "elapsed", "[95%]", "CPU", "processes", "rounds × calls"]]
    for record in records:
        elapsed, interval = _with_spread(figures(record.head, "elapsed"))
        cpu = figures(record.head, "cpu")
        first = record.head[0]
        rows.append(
            [
                record.title.name,
                elapsed,
                interval or "–",
                "" if cpu is None else duration(cpu["mean"]),
                str(len(record.head)),
                f"{len(first.elapsed)} × {first.iterations}",
            ]
        )
    return _table(rows)


def verdict_table(records: List[Record], found: List[Verdict], settings: Settings) -> List[str]:
    """A line for each benchmark, and the reasons of those without a verdict."""
    rows = [["benchmark", "verdict", "change [95%]", "threshold", "blocks", "measure", "base → head"]]
    reasons: List[str] = []
    for record, verdict in zip(records, found):
        shown, sides, blocks = "", "", ""
        if verdict.comparison is not None:
            ratio, interval = verdict.comparison["ratio"], verdict.comparison["interval"]
            bounds = "" if interval is None else f" [{_bound(interval[0])}, {_bound(interval[1])}]"
            shown = "" if ratio is None else change(ratio) + bounds
            blocks = str(verdict.comparison["blocks"])
        measure = verdict.measure or (compared_measure(record, settings) if record.head else "elapsed")
        base, head = figures(record.base, measure), figures(record.head, measure)
        if base is not None and head is not None:
            sides = f"{duration(base['mean'])} → {duration(head['mean'])}"
        rows.append(
            [
                record.title.name,
                verdict.verdict,
                shown,
                f"{verdict.threshold * 100:g} %",
                blocks,
                {"cpu": "CPU", "elapsed": "elapsed"}[measure] if blocks else "",
                sides,
            ]
        )
        if verdict.reason is not None:
            reasons.append(f"{record.title.name}: {verdict.reason}")
        elif verdict.verdict == "inconclusive" and verdict.comparison is not None:
            reasons.append(_undecided(record, verdict.comparison))
    return _table(rows) + reasons


def _bound(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}".replace("-", "−")


def _undecided(record: Record, comparison: Dict[str, Any]) -> str:
    least = comparison["smallest_detectable"]
    seen = "" if least is None else f" (so many show a difference of {least * 100:.2g} % with 95% power)"
    return f"{record.title.name}: undecided after {comparison['blocks']} blocks{seen}; more --tare-processes may decide it"


def summary(
    reporter: pytest.TerminalReporter, records: List[Record], found: Optional[List[Verdict]], settings: Settings, notes: List[str]
) -> None:
    """Write all of it."""
    verdicts: List[Optional[Verdict]] = [*found] if found else [None] * len(records)
    shown = [(r, v) for r, v in zip(records, verdicts) if r.head or v is not None]
    if not shown and not notes:
        return
    where = "this process alone" if settings.inprocess else f"{settings.processes} {settings.unit}"
    reporter.section(f"tare: {where}, times of one call")
    groups: Dict[Optional[str], List[Tuple[Record, Optional[Verdict]]]] = {}
    for record, verdict in shown:
        groups.setdefault(record.group, []).append((record, verdict))
    for group in sorted(groups, key=lambda name: (name is not None, str(name))):
        if group is not None:
            reporter.write_line(f"group {group}")
        members = [record for record, _ in groups[group]]
        judged = [verdict for _, verdict in groups[group] if verdict is not None]
        lines = verdict_table(members, judged, settings) if found is not None else times_table(members)
        for line in lines:
            reporter.write_line(line)
    if settings.inprocess and shown:
        reporter.write_line("one process: no interval, as another one may be faster or slower throughout; --tare measures several")
    _answer(reporter, found, settings)
    for note in notes:
        reporter.write_line(note)


def _answer(reporter: pytest.TerminalReporter, found: Optional[List[Verdict]], settings: Settings) -> None:
    if not found:
        return
    code, sentence = suite_exit(found, settings)
    undecided = sum(verdict.verdict == "inconclusive" for verdict in found)
    if sentence is not None:
        reporter.write_line(f"{sentence} (exit code {code})", red=True, bold=True)
    elif undecided:
        reporter.write_line(
            f"pass, though {undecided} of {len(found)} benchmarks are undecided: --tare-inconclusive fail makes that a failure",
            yellow=True,
        )
    else:
        reporter.write_line("pass: no benchmark is slower by its threshold", green=True)

