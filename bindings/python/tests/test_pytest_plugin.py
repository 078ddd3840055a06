"""`pytest --tare` as a user runs it."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest_plugins = ["pytester"]

# Sessions of sessions: without a cache folder, and without options of the outer one.
QUIET = ("-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTHONHASHSEED", "TARE_MEASURING_PROCESS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def suite(pytester):
    """Write files, and run pytest on them in a process of its own."""
    pytester.makefile(".ini", pytest="[pytest]\naddopts = -ra\n")

    def run(*options, **files):
        if files:
            pytester.makepyfile(**files)
        return pytester.runpytest_subprocess(*QUIET, *options)

    run.path = pytester.path
    return run


BOTH = """
    import os, pytest

    def test_plain():
        pass

    @pytest.mark.benchmark(group="sums", max_time=0.01)
    def test_compat(benchmark):
        benchmark.extra_info["seed"] = os.environ.get("PYTHONHASHSEED")
        assert benchmark(sum, range(100)) == 4950
        assert benchmark.enabled and benchmark.stats.stats.min > 0
        assert benchmark.stats["mean"] >= benchmark.stats["min"]

    @pytest.mark.tare(max_time=0.01)
    @pytest.mark.parametrize("n", [10, 1000])
    def test_native(tare, n):
        assert tare.with_input(lambda: list(range(n)), sorted) == list(range(n))
"""


def read(path):
    return json.loads(path.read_text())


def test_without_the_option_nothing_is_measured(suite):
    result = suite(
        test_a="""
        def test_it(tare):
            calls = []
            tare(calls.append, 1)
            assert calls == [1] and tare.disabled and tare.stats is None
        """
    )
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*tare:*")


def test_each_benchmark_runs_in_fresh_processes(suite):
    result = suite("--tare", "--tare-processes=3", "--tare-json=out.json", test_a=BOTH)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*tare: 3 processes*", "group sums", "*test_compat*"])
    found = {each["name"]: each for each in read(suite.path / "out.json")["benchmarks"]}
    assert set(found) == {"test_compat", "test_native[10]", "test_native[1000]"}
    for each in found.values():
        processes = each["head"]["processes"]
        assert len(processes) == 3
        # Each has its own hash seed, and all make as many calls in a round.
        assert len({process["hash_seed"] for process in processes}) == 3
        assert len({process["iterations"] for process in processes}) == 1
    assert found["test_compat"]["group"] == "sums"
    assert found["test_compat"]["extra_info"]["seed"] == str(found["test_compat"]["head"]["processes"][-1]["hash_seed"])
    assert found["test_native[1000]"]["params"] == {"n": 1000}
    small, large = (found[f"test_native[{n}]"]["head"]["elapsed"]["mean"] for n in (10, 1000))
    assert large > 5 * small


def test_the_quick_look_has_no_interval(suite):
    result = suite("--tare-inprocess", "--tare-json=out.json", test_a=BOTH)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*tare: this process alone*", "one process: no interval*"])
    assert all(each["head"]["elapsed"]["interval"] is None for each in read(suite.path / "out.json")["benchmarks"])


@pytest.mark.parametrize("option", ["--tare", "--tare-inprocess"])
def test_a_suite_that_makes_errors_of_warnings(suite, option):
    (suite.path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    suite(option, "--tare-processes=2", test_it=BOTH).assert_outcomes(passed=4)


def test_files_of_other_tools(suite):
    suite("--tare", "--tare-processes=2", "--benchmark-json=b.json", "--tare-pyperf=p.json", test_a=BOTH).assert_outcomes(passed=4)
    written = read(suite.path / "b.json")
    assert {"machine_info", "commit_info", "benchmarks", "datetime", "version"} <= set(written)
    compat = next(each for each in written["benchmarks"] if each["name"] == "test_compat")
    stats = compat["stats"]
    assert compat["fullname"] == "test_a.py::test_compat"
    assert stats["rounds"] == len(stats["data"]) and stats["min"] == min(stats["data"]) > 0
    assert stats["min"] <= stats["q1"] <= stats["median"] <= stats["q3"] <= stats["max"]
    runs = [each["runs"] for each in read(suite.path / "p.json")["benchmarks"]]
    assert [len(each) for each in runs] == [2, 2, 2]
    # Those whose formats they are.
    readers = [("pyperf", "stats", "p.json"), ("pyperf", "compare_to", "p.json", "p.json"), ("pytest_benchmark", "compare", "b.json")]
    for module, *words in readers:
        if _installed(module):
            read_by = subprocess.run([sys.executable, "-m", module, *words], cwd=suite.path, capture_output=True, text=True)
            assert read_by.returncode == 0, read_by.stderr


def test_hooks_of_pytest_benchmark(suite):
    suite.path.joinpath("conftest.py").write_text(
        "def pytest_benchmark_update_json(config, benchmarks, output_json):\n    output_json['mine'] = len(benchmarks)\n"
        "def pytest_benchmark_update_machine_info(config, machine_info):\n    machine_info['room'] = 7\n"
    )
    suite("--tare-inprocess", "--benchmark-json=b.json", test_a=BOTH).assert_outcomes(passed=4)
    written = read(suite.path / "b.json")
    assert written["mine"] == 3 and written["machine_info"]["room"] == 7


def test_a_marked_test_is_measured_as_a_whole(suite):
    result = suite(
        "--tare-inprocess", "--tare-json=out.json",
        test_a="""
        import pytest

        @pytest.fixture
        def n():
            return 5

        @pytest.mark.benchmark(max_time=0.01)
        def test_whole(n):
            assert sum(range(n)) == 10
        """,
    )  # fmt: skip
    result.assert_outcomes(passed=1)
    assert [each["name"] for each in read(suite.path / "out.json")["benchmarks"]] == ["test_whole"]


def test_unittest_classes_and_several_fixtures(suite):
    result = suite(
        "--tare", "--tare-processes=2",
        test_a="""
        import unittest, pytest

        class TestOld(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def keep(self, benchmark):
                self.benchmark = benchmark

            def test_old(self):
                self.benchmark.pedantic(sum, args=([1, 2],), rounds=2)

        def test_twice(benchmark):
            benchmark.pedantic(len, args=("a",))
            with pytest.raises(Exception, match="one thing"):
                benchmark(len, "a")

        def test_both(benchmark, tare):
            tare(len, "a")
            with pytest.raises(Exception, match="one thing"):
                benchmark(len, "a")
        """,
    )  # fmt: skip
    result.assert_outcomes(passed=3)


def test_what_happens_inside_of_a_benchmark(suite):
    """An exception, sys.exit, KeyboardInterrupt, a process that ends, a fork that does not: each is its own test's."""
    result = suite(
        "--tare", "--tare-processes=2",
        test_a="""
        import os, signal, sys, pytest

        def test_exception(benchmark):
            benchmark(lambda: 1 / 0)

        def test_exit(benchmark):
            benchmark(sys.exit, 3)

        def test_ends(benchmark):
            print("last words", flush=True)
            benchmark(lambda: os.kill(os.getpid(), signal.SIGKILL))

        def test_fork(tare):
            def work():
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
            tare(work)

        def test_skipped(benchmark):
            pytest.skip("not here")

        def test_last(benchmark):
            benchmark.pedantic(len, args=("a",), rounds=3)
        """,
    )  # fmt: skip
    result.assert_outcomes(passed=2, failed=3, skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ZeroDivisionError*", "*SIGKILL*"])
    result.stdout.fnmatch_lines(["test_last *"])


def test_fixtures_of_modules_come_and_go(suite):
    module = """
        import pytest
        seen = []

        @pytest.fixture(scope="module", autouse=True)
        def around():
            seen.append("up")
            yield
            assert seen == ["up"]
            seen.append("down")

        def test_plain():
            assert seen == ["up"]

        def test_measured(benchmark):
            assert seen == ["up"]
            benchmark.pedantic(len, args=("a",))

        def test_after():
            assert seen == ["up"]
    """
    suite("--tare", "--tare-processes=2", test_a=module, test_b=module, test_c=module).assert_outcomes(passed=9)


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--tare-base=x", "--tare-inprocess"], "*leave out --tare-inprocess*"),
        (["--tare-base=no-such-revision"], "*no such folder*"),
        (["--tare-base=x", "--tare-processes=3"], "*at least 6*"),
        (["--tare", "--tare-processes=0"], "*at least 1*"),
        (["--tare", "--tare-threshold=much"], "*not a share*"),
        (["--tare-json=out.json"], "*give --tare*"),
        (["--tare", "--tare-base-python=python3"], "*give --tare-base*"),
    ],
)
def test_contradictions_are_refused(suite, options, sentence):
    result = suite(*options, test_a=BOTH)
    assert result.ret == 4
    result.stderr.fnmatch_lines([sentence])


def test_a_marker_that_says_nothing_known(suite):
    result = suite(
        "--tare-inprocess", test_a="import pytest\n@pytest.mark.tare(treshold=1)\ndef test_a(tare):\n    tare(len, 'a')\n"
    )
    result.stdout.fnmatch_lines(["*treshold*"])
    assert result.ret != 0


def test_options_of_pytest_benchmark(suite):
    once = """
        def test_once(benchmark):
            calls = []
            benchmark(calls.append, 1)
            assert (calls == [1]) == benchmark.disabled
    """
    result = suite("--tare-inprocess", "--benchmark-disable", test_a=once)
    result.stdout.no_fnmatch_line("*tare:*")
    result.assert_outcomes(passed=1)
    suite("--tare-inprocess", "--benchmark-skip", test_b=BOTH).assert_outcomes(passed=1, skipped=4)
    result = suite("--tare-inprocess", "--benchmark-only", "--benchmark-sort=min")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["without effect under tare: --benchmark-sort"])


def test_a_file_that_cannot_be_written(suite):
    result = suite("--tare-inprocess", "--tare-json=no/such/folder.json", test_a=BOTH)
    assert result.ret == 4
    result.stdout.fnmatch_lines(["could not write no/such/folder.json*"])


def test_nested_measuring_is_refused(suite, monkeypatch):
    monkeypatch.setenv("TARE_MEASURING_PROCESS", "1")
    result = suite("--tare", test_a=BOTH)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--tare-inprocess*"])


def test_interrupting_leaves_no_process(suite):
    suite.path.joinpath("test_a.py").write_text(
        "import os, time\n"
        "def test_long(tare):\n"
        "    open('pid', 'w').write(str(os.getpid()))\n"
        "    tare(time.sleep, 60)\n"
    )
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", *QUIET, "--tare"], cwd=suite.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    pid = suite.path / "pid"
    while not (pid.exists() and pid.read_text()):
        assert session.poll() is None, session.stdout.read().decode()
        time.sleep(0.02)
    session.send_signal(signal.SIGINT)
    session.communicate(timeout=60)
    assert session.returncode == 2
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_xdist_measures_before_its_workers_start(suite):
    pytest.importorskip("xdist")
    result = suite("--tare", "--tare-processes=2", "-n2", "--tare-json=out.json", test_a=BOTH)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*tare: 2 processes*"])
    assert len(read(suite.path / "out.json")["benchmarks"]) == 3
    result = suite("--tare-inprocess", "-n2")
    # One of them asserts that it is measured.
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["not measured: xdist*"])


def test_beside_other_plugins_that_have_the_fixture(suite):
    if not any(map(_installed, ("pytest_benchmark", "pytest_codspeed"))):
        pytest.skip("neither pytest-benchmark nor pytest-codspeed is installed")
    result = suite("--tare", "--tare-processes=2", "--benchmark-json=b.json", test_a=BOTH)
    result.assert_outcomes(passed=4)
    assert {each["stats"]["iterations"] > 1 for each in read(suite.path / "b.json")["benchmarks"]} == {True}
    # Not asked for: theirs.
    result = suite(test_b="def test_b(benchmark):\n    assert 'tarebench' not in type(benchmark).__module__\n    benchmark(len, 'a')\n")
    assert "= tare: " not in result.stdout.str()


def _installed(name):
    return importlib.util.find_spec(name) is not None
