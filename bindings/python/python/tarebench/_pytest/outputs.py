"""Files: tare's own JSON, pytest-benchmark's, and pyperf's."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from . import settings as options
from .channel import plain
from .git import git
from .results import Record, Times, Verdict, figures
from .settings import Settings

Json = Dict[str, Any]


def write_all(
    config: pytest.Config, records: List[Record], found: Optional[List[Verdict]], settings: Settings, base: Optional[Json]
) -> None:
    """Write what was asked for. OSError if a file cannot be written."""
    measured = [record for record in records if record.head]
    if settings.json is not None:
        _write(settings.json, tare_json(records, found, settings, base))
    if settings.pyperf is not None:
        _write(settings.pyperf, pyperf_json(measured, "head"))
        if settings.base is not None:
            path = Path(settings.pyperf)
            _write(str(path.with_name(f"{path.stem}.base{path.suffix}")), pyperf_json(measured, "base"))
    asked = options.benchmark_option(config, "json")
    if asked is not None:
        # Older versions of pytest-benchmark open the file themselves.
        _write(getattr(asked, "name", asked), benchmark_json(config, measured))


def _write(path: str, content: Json) -> None:
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def tare_json(records: List[Record], found: Optional[List[Verdict]], settings: Settings, base: Optional[Json]) -> Json:
    """All times and results; docs/python.md describes it."""
    from tarebench import _native

    verdicts: List[Optional[Verdict]] = list(found) if found is not None else [None] * len(records)
    shown = [(record, verdict) for record, verdict in zip(records, verdicts) if record.head or verdict or record.failed]
    return {
        "format": "tare-pytest",
        "version": 1,
        "tare": _native.VERSION,
        "written": _now(),
        "machine": plain(_native.machine()),
        "python": {"implementation": platform.python_implementation(), "version": platform.python_version()},
        "inprocess": settings.inprocess,
        "seed": settings.seed,
        "base": base,
        "benchmarks": [_benchmark(record, verdict) for record, verdict in shown],
    }


def _benchmark(record: Record, verdict: Optional[Verdict]) -> Json:
    title = record.title
    return {
        "name": title.name,
        "fullname": title.nodeid,
        "group": record.group,
        "param": title.param,
        "params": plain(title.params),
        "extra_info": plain(record.extra_info),
        "failed": record.failed,
        "head": _side(record.head),
        "base": _side(record.base),
        "verdict": None if verdict is None else verdict.verdict,
        "reason": None if verdict is None else verdict.reason,
        "threshold": None if verdict is None else verdict.threshold,
        "measure": None if verdict is None else verdict.measure,
        "comparison": None if verdict is None else plain(verdict.comparison),
    }


def _side(processes: List[Times]) -> Optional[Json]:
    if not processes:
        return None
    return {
        "elapsed": plain(figures(processes, "elapsed")),
        "cpu": plain(figures(processes, "cpu")),
        "processes": [times.message() for times in processes],
    }


# pytest-benchmark -----------------------------------------------------------------------------------------------------------


def benchmark_json(config: pytest.Config, records: List[Record]) -> Json:
    """pytest-benchmark's format; seconds, elapsed time, the rounds of all processes together."""
    hook = config.hook
    machine_info = hook.pytest_benchmark_generate_machine_info(config=config) or machine_information()
    hook.pytest_benchmark_update_machine_info(config=config, machine_info=machine_info)
    commit_info = hook.pytest_benchmark_generate_commit_info(config=config) or commit_information(config.rootpath)
    hook.pytest_benchmark_update_commit_info(config=config, commit_info=commit_info)
    benchmarks = [_as_pytest_benchmark(record) for record in records]
    output: Json = {
        "machine_info": machine_info,
        "commit_info": commit_info,
        "benchmarks": benchmarks,
        "datetime": _now(),
        # Of the format, which is that of pytest-benchmark 5.
        "version": "5.0.0",
    }
    hook.pytest_benchmark_update_json(config=config, benchmarks=benchmarks, output_json=output)
    changed: Json = plain(output)
    return changed


def machine_information() -> Json:
    """This machine, under pytest-benchmark's names."""
    from tarebench import _native

    found = _native.machine()
    return {
        "node": platform.node(),
        "processor": platform.processor(),
        "machine": platform.machine(),
        "python_compiler": platform.python_compiler(),
        "python_implementation": platform.python_implementation(),
        "python_implementation_version": platform.python_version(),
        "python_version": platform.python_version(),
        "python_build": list(platform.python_build()),
        "release": platform.release(),
        "system": platform.system(),
        "cpu": {"brand_raw": found["cpu"], "arch": platform.machine(), "count": os.cpu_count()},
        "tare_fingerprint": found["fingerprint"],
    }


def commit_information(folder: Path) -> Json:
    """The commit that is checked out; without git, `unversioned`, as pytest-benchmark has it."""
    commit = git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {"id": "unversioned", "time": None, "author_time": None, "dirty": None, "project": folder.name, "branch": None}
    top = git(folder, "rev-parse", "--show-toplevel")
    branch = git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return {
        "id": commit,
        "time": git(folder, "show", "-s", "--format=%cI", "HEAD"),
        "author_time": git(folder, "show", "-s", "--format=%aI", "HEAD"),
        "dirty": bool(git(folder, "status", "--porcelain", "--untracked-files=no")),
        "project": Path(top).name if top else folder.name,
        "branch": "(detached head)" if branch == "HEAD" else branch,
    }


def _as_pytest_benchmark(record: Record) -> Json:
    title, first = record.title, record.head[0]
    data = [ns / 1e9 for times in record.head for ns in times.elapsed]
    return {
        "group": record.group,
        "name": title.name,
        "fullname": title.nodeid,
        "params": plain(title.params),
        "param": title.param,
        "extra_info": plain(record.extra_info),
        "options": {
            "timer": "tare",
            **{name: plain(value) for name, value in record.marker.items() if name in ("min_time", "max_time", "min_rounds", "disable_gc")},
        },
        "stats": {**_stats(data), "data": data, "iterations": first.iterations},
    }


def _stats(data: List[float]) -> Json:
    """The format's fields. The library gives those that are statistics; the others follow from these, and this format alone has them.

    A field that is not defined, as the deviation of one round, is null.
    """
    from tarebench import _native

    found = _native.summarise(data)
    mean, stddev, q1, q3 = found["mean"], found["stddev"], found["q1"], found["q3"]
    stats: Json = {
        "min": found["minimum"],
        "max": found["maximum"],
        "mean": mean,
        "stddev": stddev,
        "rounds": len(data),
        "median": found["median"],
        "q1": q1,
        "q3": q3,
        "iqr": None,
        "iqr_outliers": None,
        "stddev_outliers": None,
        "outliers": None,
        "ld15iqr": None,
        "hd15iqr": None,
        "ops": 1 / mean if mean else None,
        "total": math.fsum(data),
    }
    if q1 is not None and q3 is not None and stddev is not None:
        iqr = q3 - q1
        inner = [value for value in data if q1 - 1.5 * iqr <= value <= q3 + 1.5 * iqr]
        near = sum(abs(value - mean) <= stddev for value in data)
        outliers, far = len(data) - len(inner), len(data) - near
        stats.update(iqr=iqr, iqr_outliers=outliers, stddev_outliers=far, outliers=f"{far};{outliers}")
        stats.update(ld15iqr=min(inner, default=None), hd15iqr=max(inner, default=None))
    return stats


# pyperf ---------------------------------------------------------------------------------------------------------------------


def pyperf_json(records: List[Record], side: str) -> Json:
    """pyperf's format, version 1.0: one run for each process, seconds, elapsed time. Only what has times above 0, as it asks."""
    from tarebench import _native

    machine = _native.machine()
    common: Json = {
        "unit": "second",
        "hostname": platform.node(),
        "platform": platform.platform(),
        "python_implementation": platform.python_implementation().lower(),
        "tare_version": _native.VERSION,
    }
    if machine["cpu"]:
        common["cpu_model_name"] = machine["cpu"]
    if side == "head":
        # The base's Python may be another one.
        common["python_version"] = platform.python_version()
    benchmarks = []
    for record in records:
        runs = [_pyperf_run(times) for times in getattr(record, side)]
        runs = [run for run in runs if run["values"]]
        if runs:
            benchmarks.append({"metadata": {"name": _one_line(record.title.nodeid)}, "runs": runs})
    metadata = {name: _one_line(value) for name, value in common.items() if _one_line(value)}
    return {"version": "1.0", "metadata": metadata, "benchmarks": benchmarks}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _pyperf_run(times: Times) -> Json:
    values = [ns / 1e9 for ns in times.elapsed if ns > 0]
    metadata: Json = {"loops": times.iterations, "duration": math.fsum(ns / 1e9 * times.iterations for ns in times.elapsed)}
    if times.began is not None:
        metadata["date"] = str(datetime.datetime.fromtimestamp(times.began))
    if times.hash_seed is not None:
        metadata["python_hash_seed"] = times.hash_seed
    return {"metadata": metadata, "values": values}
