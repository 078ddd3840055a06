#!/usr/bin/env python3
"""How long a lab's commands take on a large central store, and how large a sample is there. Prints Markdown for docs/benchmarks.md.

    bench/lab.py [--tare PATH] [--samples N] [--runs N] [--machines N] [--times N] [--keep FOLDER]

The data are generated: a few real runs of two short programs are measured and pushed, and their rows are copied under new uuids, times,
tags and machines until there are 10,000,000 samples in 2,000 runs of 100 machines. That takes about 30 GB of disk and half an
hour; `--samples 100000 --runs 100` takes a minute. The server is one of its own, in a temporary folder (TMPDIR), without fsync.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
from lab_parts import DATABASE, Failed, Postgres, output  # noqa: E402

# Real runs that are copied.
BASES = 4
PROGRAMS = ("true", "true 1")
TAG = "batch"
# Runs copied by one statement.
AT_ONCE = 20
# Bytes on the disk that a sample may take, with its daemons and while it is written.
ROOM = 5_000
# Wanted, in seconds.
WANTED = 1.0


def note(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    """The server with the generated data."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.each = options.samples // options.runs
        self.environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"}
        self.environment.pop("TARE_DB", None)
        self.server = Postgres(folder / "server", settings=("fsync = off", "max_wal_size = 8GB", "shared_buffers = 1GB", "work_mem = 64MB"))
        self.server.start()
        self.server.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
        self.local = folder / "local.db"
        self.tare("lab", "init", self.server.url())

    def tare(self, *words):
        return output(self.options.tare, *words, env=self.environment, stdin=subprocess.DEVNULL, timeout=3600)

    # Generating

    def measure(self):
        """The runs that are copied; warm-ups are samples, too."""
        counted = max(self.each // len(PROGRAMS) - 1, 1)
        for number in range(BASES):
            note(f"measuring run {number + 1} of {BASES}, {self.each} samples")
            self.tare("run", "--db", self.local, "--runs", counted, "--order", "rounds", "--style", "none", "--tag", f"{TAG}=base",
                      *PROGRAMS)
        self.tare("push", "--all", "--db", self.local, "--to", self.server.url())

    def columns(self, table, but=()):
        rows = self.server.sql(
            "SELECT column_name FROM information_schema.columns WHERE is_generated = 'NEVER' AND table_schema = current_schema "
            f"AND table_name = '{table}' ORDER BY ordinal_position")
        return [f'"{name}"' for [name] in rows if name not in but]

    def hosts(self):
        """Descriptions of as many machines; the first is this one."""
        [[number, text]] = self.server.sql("SELECT id, doc FROM host ORDER BY id LIMIT 1")
        here, found = json.loads(text), [number]
        others = self.columns("host", but=("id", "name", "machine", "doc"))
        for machine in range(1, self.options.machines):
            doc = here | {"name": f"node{machine:03}", "machine": f"{machine:016x}"}
            text = json.dumps(doc, separators=(",", ":"))
            more = "".join(f", {column}" for column in others)
            [[made]] = self.server.sql(
                f"INSERT INTO host (name, machine, doc{more}) SELECT '{doc['name']}', '{doc['machine']}', $doc${text}$doc${more} "
                f"FROM host WHERE id = {number} RETURNING id")
            found.append(made)
        return found

    def copy_runs(self, hosts):
        """The rows of `run` and `tag`. Each batch of ten runs has a tag."""
        others = "".join(f", {column}" for column in self.columns("run", but=("id", "uuid", "created_ns", "host_id", "plan")))
        machines = ", ".join(hosts)
        self.server.sql(f"""
            CREATE TABLE bench_copy AS
                SELECT n, md5('run ' || n) AS uuid, bases[1 + n % cardinality(bases)] AS base,
                       hosts[1 + n % cardinality(hosts)] AS host, 'b' || n / 10 AS batch, 0::bigint AS made
                FROM generate_series(0, {self.options.runs - BASES - 1}) AS n,
                     (SELECT array_agg(id ORDER BY id) AS bases FROM run) AS b, (SELECT ARRAY[{machines}]::bigint[] AS hosts) AS h;
            INSERT INTO run (uuid, created_ns, host_id, plan{others})
                SELECT c.uuid, run.created_ns - 600000000000 * (1 + c.n), c.host,
                       replace(plan::text, '"{TAG}":"base"', '"{TAG}":"' || c.batch || '"'){others.replace(', "', ', run."')}
                FROM bench_copy AS c JOIN run ON run.id = c.base ORDER BY c.n;
            UPDATE bench_copy SET made = run.id FROM run WHERE run.uuid = bench_copy.uuid;
            INSERT INTO tag (run_id, key, value) SELECT made, '{TAG}', batch FROM bench_copy;
            CREATE INDEX ON bench_copy (n);
        """, timeout=3600)

    def copy_rows(self):
        """The rows of all tables that belong to runs."""
        tables = [name for [name] in self.server.sql(
            "SELECT table_name FROM information_schema.columns WHERE column_name = 'run_id' AND table_schema = current_schema "
            "AND table_name NOT IN ('tag', 'claim') AND table_name IN (SELECT tablename FROM pg_tables) ORDER BY table_name")]
        began, all_ = time.monotonic(), self.options.runs - BASES
        for first in range(0, all_, AT_ONCE):
            for table in tables:
                columns = ", ".join(self.columns(table, but=("run_id",)))
                there = ", ".join(f"t.{column}" for column in columns.split(", "))
                # The rows are copies of valid ones: no keys of other tables need to be looked up.
                self.server.sql(f"""
                    SET session_replication_role = replica;
                    INSERT INTO "{table}" (run_id, {columns}) SELECT c.made, {there}
                        FROM bench_copy AS c JOIN "{table}" AS t ON t.run_id = c.base
                        WHERE c.n >= {first} AND c.n < {first + AT_ONCE}""", timeout=3600)
            done = min(first + AT_ONCE, all_)
            if done % 200 < AT_ONCE:
                note(f"{done} of {all_} runs copied, {time.monotonic() - began:.0f} s")
        self.server.sql("DROP TABLE bench_copy")
        self.server.sql("VACUUM ANALYZE", timeout=3600)

    # Figures

    def size(self):
        """Samples, runs, machines; bytes in all tables of the store, and in those of samples."""
        [counts] = self.server.sql("SELECT (SELECT count(*) FROM sample), (SELECT count(*) FROM run), "
                                   "(SELECT count(DISTINCT machine) FROM host)")
        sizes = {name: (int(bytes_), int(data)) for name, bytes_, data in self.server.sql(
            "SELECT relname, pg_total_relation_size(oid), pg_table_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = current_schema::regnamespace ORDER BY 2 DESC")}
        return [int(count) for count in counts], sizes

    def seconds(self, *words):
        """Median and largest time of a command, and the first line that it printed; once beforehand, for the server's cache."""
        taken = []
        for _ in range(self.options.times + 1):
            began = time.monotonic()
            printed = self.tare(*words)
            taken.append(time.monotonic() - began)
        return taken[0], statistics.median(taken[1:]), max(taken[1:]), printed

    def commands(self):
        url, middle = self.server.url(), self.options.runs // 2
        [[run]] = self.server.sql(f"SELECT uuid FROM run ORDER BY id OFFSET {middle} LIMIT 1")
        first, second = f"tag:{TAG}=b{middle // 10}", f"tag:{TAG}=b{middle // 10 + 1}"
        local = json.loads(self.tare("list", "--db", self.local, "--json"))[0]["uuid"]
        return {
            "`tare list`, the newest 20": ("list", "--db", url),
            f"`tare list --tag {TAG}=…`, 10 runs": ("list", "--db", url, "--tag", first.removeprefix("tag:")),
            f"`tare list --limit {self.options.runs}`, all runs": ("list", "--db", url, "--limit", self.options.runs),
            f"`tare show RUN`, {self.each} samples": ("show", run, "--db", url),
            f"`tare compare tag:… tag:…`, 2 × {self.each} samples": ("compare", first, second, "--no-store", "--across-machines", "--db", url),
            f"`tare show RUN` of a local store (SQLite), {self.each} samples": ("show", local, "--db", self.local),
        }

    def print(self):
        (samples, runs, machines), sizes = self.size()
        everything = sum(size for size, _ in sizes.values())
        print("## A lab's central store\n")
        print(f"PostgreSQL {self.server.sql('SHOW server_version')[0][0].split()[0]} on the same machine, reached by its socket; generated data: "
              f"{samples:,} samples in {runs:,} runs of {machines} machines (`bench/lab.py`). Each command was executed once, then "
              f"{self.options.times} times; the times are of the whole process.\n")
        print("| command | first, s | median, s | largest, s | wanted |\n| --- | ---: | ---: | ---: | ---: |")
        over = []
        for name, words in self.commands().items():
            first, median, largest, _ = self.seconds(*words)
            wanted = "" if "local" in name or "--limit" in name else f"< {WANTED:g}"
            print(f"| {name} | {first:.2f} | {median:.2f} | {largest:.2f} | {wanted} |", flush=True)
            over += [name] if wanted and median >= WANTED else []
        print(f"\nA sample takes {everything / samples:,.0f} bytes, with its daemons, indices and share of everything else; "
              f"{self.local.stat().st_size / (BASES * self.each):,.0f} bytes in a local store (SQLite).\n")
        print("| table | bytes a sample | of it indices |\n| --- | ---: | ---: |")
        for name, (size, data) in sizes.items():
            if size > everything / 1000:
                print(f"| `{name}` | {size / samples:,.1f} | {(size - data) / samples:,.1f} |")
        return over


def arguments():
    parser = argparse.ArgumentParser(description="Measures a lab's commands on a large central store; prints Markdown.")
    parser.add_argument("--tare", default=os.environ.get("TARE", ROOT / "target/release/tare"))
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--times", type=int, default=5, help="executions of each command (5)")
    parser.add_argument("--keep", metavar="FOLDER", help="write to this folder, which must not exist, and keep it")
    options = parser.parse_args()
    options.tare = pathlib.Path(options.tare).resolve()
    if not os.access(options.tare, os.X_OK):
        parser.error(f"there is no program {options.tare}; build it with `make build`")
    if options.runs < 40 or options.samples < options.runs * 2 * len(PROGRAMS):
        parser.error("expected at least 40 runs, and 4 samples for each")
    return options


def main():
    options = arguments()
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="lab-bench-")).resolve()
    folder.mkdir(exist_ok=not options.keep)
    # The server runs as another user.
    folder.chmod(0o755)
    free = shutil.disk_usage(folder).free
    if free < options.samples * ROOM:
        sys.exit(f"{folder} has {free / 1e9:.0f} GB free, {options.samples * ROOM / 1e9:.0f} are needed: fewer --samples, or another TMPDIR")
    bench = None
    try:
        bench = Bench(options, folder)
        bench.measure()
        bench.copy_runs(bench.hosts())
        bench.copy_rows()
        over = bench.print()
    except Failed as failure:
        sys.exit(f"bench/lab.py: {failure}")
    finally:
        if bench:
            bench.server.stop()
        if not options.keep:
            shutil.rmtree(folder)
    if over:
        sys.exit(f"slower than wanted: {', '.join(over)}")


if __name__ == "__main__":
    main()
