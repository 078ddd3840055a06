"""pytest-benchmark's hooks, so that a conftest.py that implements them is accepted where it is not installed.

Those about machine, commit and JSON are called for `--benchmark-json`; the others never are.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_benchmark_scale_unit(config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any) -> Any:
    """Not called."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_generate_machine_info(config: Any) -> Any:
    """A dict that describes the machine."""


def pytest_benchmark_update_machine_info(config: Any, machine_info: Any) -> Any:
    """May change that dict."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_generate_commit_info(config: Any) -> Any:
    """A dict that describes the commit."""


def pytest_benchmark_update_commit_info(config: Any, commit_info: Any) -> Any:
    """May change that dict."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_group_stats(config: Any, benchmarks: Any, group_by: Any) -> Any:
    """Not called."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_generate_json(config: Any, benchmarks: Any, include_data: Any, machine_info: Any, commit_info: Any) -> Any:
    """Not called."""


def pytest_benchmark_update_json(config: Any, benchmarks: Any, output_json: Any) -> Any:
    """May change what is written."""


def pytest_benchmark_compare_machine_info(config: Any, benchmarksession: Any, machine_info: Any, compared_benchmark: Any) -> Any:
    """Not called."""
