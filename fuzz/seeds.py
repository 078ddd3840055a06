#!/usr/bin/env python3
"""Generates the seeds of the fuzz targets (fuzz/seeds/) again, after a change of a format: fuzz/seeds.py TARE.

Documents come from runs of the command, without data that identifies the machine; the kernel's records are built here.
"""
import copy
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SEEDS = pathlib.Path(__file__).resolve().parent / "seeds"


def put(target, name, data):
    (SEEDS / target).mkdir(parents=True, exist_ok=True)
    (SEEDS / target / name).write_bytes(data)


def padded(data, to):
    return data.ljust((len(data) + to - 1) // to * to, b"\0")


def proc_stat():
    put("proc_stat", "stat", b"1331 (cat) R 1322 1322 1348 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 99028 3133440 388 "
        b"18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
    put("proc_stat", "stat_name", b"7 (a) b\n(c) S 1 7 7 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 42 0 0\n")
    put("proc_stat", "schedstat", b"1234567 890 12\n")
    put("proc_stat", "steal", b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n")
    put("proc_stat", "mountinfo", b"25 1 0:23 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        b"40 25 0:39 / /sys/fs/a\\040b rw,relatime shared:1 - cgroup2 cgroup2 rw\n")
    put("proc_stat", "cgroup", b"9:name=systemd:/\n0::/user.slice/x\n")
    put("proc_stat", "cpu_stat", b"usage_usec 12\nuser_usec 7\nsystem_usec 5\npopulated 0\n")
    put("proc_stat", "interrupts", b"           CPU0       CPU1       \n 24:          1          0  IO-APIC   5-edge      "
        b"ACPI:Ged\n 36:          0     160104 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
        b"LOC:      20738      17482   Local timer interrupts\nERR:          7\n")
    put("proc_stat", "cpu_list", b"0-2,5, 7-7,8-65535\n")


def dirents():
    def entry(name):
        record = padded(struct.pack("=QqHB", 1, 2, 0, 4) + name + b"\0", 8)
        return record[:16] + struct.pack("=H", len(record)) + record[18:]

    names = [b".", b"..", b"1", b"acpi", b"4194304", b"99999999999"]
    put("dirents", "proc", b"".join(map(entry, names)))


def taskstats():
    def attribute(kind, payload):
        return padded(struct.pack("=HH", len(payload) + 4, kind) + payload, 4)

    def message(kind, payload):
        return struct.pack("=IHHII", len(payload) + 16, kind, 0, 1, 0) + payload

    stats = bytearray(416)
    for form, at, value in [("H", 0, 13), ("B", 8, 0x20), ("Q", 72, 5_000_000), ("4s", 80, b"a)\n\xff"), ("i", 132, 9),
                            ("I", 136, 1_700_000_000), ("Q", 144, 7000), ("Q", 152, 4000), ("Q", 160, 1000), ("i", 368, 41)]:
        struct.pack_into("=" + form, stats, at, value)

    def record(group, kind):
        return attribute(group | 0x8000, attribute(kind, struct.pack("=i", 42)) + attribute(3, bytes(stats)))

    put("taskstats", "exit", message(30, bytes([2, 1, 0, 0]) + record(4, 1) + record(5, 2)))
    put("taskstats", "error", message(2, struct.pack("=i", -3) + bytes(16)))
    family = attribute(2, b"TASKSTATS\0") + attribute(1, struct.pack("=H", 30))
    put("taskstats", "family", message(0x10, bytes([1, 2, 0, 0]) + family))


def names():
    texts = [b"bash", b"a\x1b[31m\n\\(b) \xff<script>", "\u202ex é 漢 \\u{41}\\x41".encode(), b"\\x+1\\u{+41}"]
    for number, text in enumerate(texts):
        put("name", str(number), text)


def without_machine(document):
    """The document without what is of this machine, and with few daemons."""
    document["run"]["host"].update(
        name="host", machine="0123456789abcdef", boot={"value": "b"}, kernel="6.1.0", kernel_version="#1",
        distribution={"value": "Linux"}, cpu={"value": "CPU"})
    document["run"]["plan"]["cwd"] = "/tmp"
    document["run"]["factors"] = document["run"]["factors"][:3]
    # The longest lists of a note are readings of the machine's factors.
    for note in document["run"]["notes"]:
        note.update({key: value[:3] for key, value in note.items() if isinstance(value, list)})
    document["samples"] = document["samples"][:8]
    document["duets"] = document.get("duets", [])[:4]
    names = {"user": "rustc", "kernel": "kworker/0:1-events", "tare": "tare"}
    for sample in document["samples"]:
        daemons = sample["daemons"].get("value", {"list": []})
        daemons["list"] = daemons["list"][:2]
        for daemon in daemons["list"]:
            daemon["name"] = names[daemon["kind"]]
    return document


def probed(document):
    """The document of one program with ten samples of which probes say that the clock was slower in every second one."""
    document = copy.deepcopy(document)
    document.update(version=6, duets=[])
    document["run"]["notes"] = []
    gate = {"busy": 1.12, "stop_after": 2, "continue_after": 3, "limit": 1_500_000_000}
    document["run"]["plan"]["probes"] = {"period": 2_000_000, "gate": gate, "correct": True}
    counted = next(s for s in document["samples"] if s["phase"] == "counted")

    def sample(number):
        slower = 1.0 + 0.01 * (1 + number) if number % 2 else 1.0
        pt = int(2e7 * slower) + 1_000 * (number % 3)
        start = {**counted["start"], "monotonic": counted["start"]["monotonic"] + number * 10**9}
        wakes = [{"at": 2_000_000 * i, "ticks": [int(4_000 * slower) * (1 + kind) + i for kind in range(11)]} for i in range(8)]
        paused = [{"at": -1_000_000, "latency": 4_000, "issue": 12_000}, {"at": 7_000_000, "latency": 4_000, "issue": 8_000}]
        cpus = [{"cpu": 1, "wakes": wakes, "kept_every": 1, "paused": paused}]
        record = {"waited": 1_000_000, "stops": number % 4, "paused": 500_000, "limit_reached": number == 3}
        probes = {"revision": 4, "cpus": cpus, "gate": record, "cost": {"cpu": 90_000, "wakes": 10, "late": 1}}
        total = {"value": {"user": pt, "system": 0, "total": pt}}
        absent = {"absent": {"reason": "not_asked", "detail": "x"}}
        times = {"source": "wait4", "cgroup": absent, "task_clock": absent, "exit_records": absent, "wait4": total}
        return {**counted, "seq": number, "index": number, "start": start, "steal": {"value": 0},
                "end": {**start, "monotonic": start["monotonic"] + pt + 500_000}, "process_times": {"value": times},
                "outcome": {"kind": "exited", "code": 0}, "probes": {"value": probes}}

    document["samples"] = [sample(number) for number in range(10)]
    hostile = copy.deepcopy(document)
    cost = {"cpu": -1, "wakes": 2**64 - 1, "late": 2**64 - 1}
    for changed, change in zip(hostile["samples"], [{"revision": 7}, {"cpus": []}, {"cost": cost}]):
        changed["probes"]["value"].update(change)
    cpu = hostile["samples"][3]["probes"]["value"]["cpus"][0]
    cpu.update(cpu=2**32 - 1, kept_every=0)
    for place, value in enumerate([0, 2**32 - 1, 1]):
        cpu["wakes"][place]["ticks"] = [value] * 11
        cpu["wakes"][place]["at"] = (-2**63, 2**63 - 1, 0)[place]
    hostile["samples"][4]["probes"]["value"]["gate"].update(stops=2**32 - 1, paused=2**63 - 1, waited=-2**63)
    hostile["samples"][5]["probes"] = {"absent": {"reason": "failed", "detail": "a\x1b[31m\u202e"}}
    hostile["run"]["plan"]["probes"].update(period=-2**63, gate={**gate, "busy": -1e308, "limit": 2**63 - 1})
    return document, hostile


def documents(tare):
    runs = [
        ["-r", "3", "--tag", "a=b", "--", "true"],
        ["-r", "2", "-i", "--reference", "true", 'sh -c "exit 3"', 'sh -c "exit 127"', "sleep 0.00{n}", "-L", "n", "1,2"],
        ["-r", "6", "true", "sleep 0.001", "--timeout", "1s", "--sigma", "1", "-p", "true"],
        ["--precision", "0.5", "-m", "2", "-M", "3", "--", "true"],
        ["--order", "duet", "-r", "3", "-w", "1", "seq 20000", "seq 40000"],
    ]
    made = []
    with tempfile.TemporaryDirectory() as work:
        for number, arguments in enumerate(runs, 1):
            store = f"{work}/{number}.db"
            subprocess.run([tare, "run", "--db", store, "--style", "none", *arguments], check=False)
            text = subprocess.run([tare, "export", "--db", store], check=True, stdout=subprocess.PIPE).stdout
            made.append(without_machine(json.loads(text)))
    hostile = copy.deepcopy(made[0])
    hostile["run"]["plan"]["programs"][0]["label"] = "a\x1b[31m\u202e漢字\n<b>|"
    hostile["samples"][0]["outcome"] = {"kind": "timed_out", "limit": 5}
    hostile["samples"][0]["process_times"] = {"absent": {"reason": "not_asked", "detail": "x"}}
    hostile["samples"][1]["outcome"] = {"kind": "signaled", "signal": 9}
    duets = copy.deepcopy(made[-1])
    assert len(duets["duets"]) >= 2, "the last run made no duets"
    for duet, weight in zip(duets["duets"], [{"kind": "nice", "value": -128}, {"kind": "cgroup", "value": 0}]):
        duet["sides"][0].update(weight=weight, together={"absent": {"reason": "not_asked", "detail": "x"}})
        duet["sides"][1]["outcome"] = {"kind": "signaled", "signal": 9}
        duet["sides"][1]["process_times"] = {"absent": {"reason": "not_asked", "detail": "x"}}
        # It ends before it starts.
        side = duet["sides"][1]
        side["start"], side["end"] = side["end"], side["start"]
    named = {f"run{i}": d for i, d in enumerate(made, 1)} | {"hostile": hostile, "empty": {**made[0], "samples": []}}
    named["hostile_duets"] = duets
    named["probed"], named["hostile_probes"] = probed(made[0])
    for number, (name, document) in enumerate(named.items()):
        text = json.dumps(document, separators=(",", ":")).encode()
        put("archive_json", f"{name}.json", text)
        # The first byte chooses how to draw.
        put("report", f"{name}.json", bytes([number * 13 % 128]) + text)


def profiles():
    """Built here: what a profile rests on, in both ways of learning, with one daemon that comes every eighth sample."""
    def part(number, length):
        def observation(i):
            ran = {"kworker": [300_000 + i], "<b>\x1b": [1000]}
            late = 50_000_000 if i % 8 == 3 else 0
            if late:
                ran["check"] = [late - i]
            return {"number": i + 1, "start": 10**18 + i * length, "elapsed": length + i * 7 % 500 + late,
                    "process_time": length - 100, "executions": {"value": ran}, "incomplete": i == 5}
        return {"length": length, "runs": ["ab" * 16], "observations": [observation(i) for i in range(number)]}

    common = {"name": "p", "version": 1, "created": 10**18, "machine": "m", "host": "h", "kernel": "6.1", "cpus": 2,
              "tool": "0.1.0", "cutoffs": [{"daemon": "check", "short": 1.5, "task_time_limit": 7, "long": None}]}
    active = {**common, "method": "active", "short": part(28, 10**8), "long": part(12, 10**9)}
    watched = {**common, "method": "watched", "short": part(14, 10**9), "long": None}
    for name, profile in {"active": active, "watched": watched}.items():
        document = {"format": "tare-profile", "version": 1, "profile": profile}
        put("profile_json", f"{name}.json", json.dumps(document, separators=(",", ":")).encode())


def benchmarks():
    """Built here: every standing, clock and state of the caches, and an archive of the document that they become."""
    def row(name, counts, cpu=None, clock="counter", hz=2.3e9, cache="warm", compensation=None, **changes):
        trials = [{"count": c, "cpu": cpu, "ticks": 2, "preemptions": 0, "waits": None} for c in counts]
        compensation = {"value": compensation} if compensation else {"absent": {"reason": "not_asked", "detail": "x"}}
        timing = {"clock": clock, "hz": hz, "cache": cache, "repetitions": 10, "compensation": compensation,
                  "parameters": {"k": 3, "epsilon": 0.001, "most": 30, "least": 0}, "overhead": 46,
                  "less_overhead": False, "trials": trials}
        return {"name": name, "timing": {**timing, **changes}}

    def bench(*rows):
        machine = {"name": "host", "kernel": "6.1.0", "architecture": "x86_64", "cpu": {"value": "CPU"}, "cpus": 2}
        return {"format": "tare-bench", "version": 1, "tool": "0.1.0", "name": "sorts", "created": 10**18,
                "machine": machine, "rows": rows}

    plain = bench(row("add", [2300000, 2300100, 2300200]))
    hostile = bench(
        row("a\x1b[31m\u202e\u6f22\n<b>|", [23000000, 23500000, 24000000], cache={"cold": {"bytes": 1 << 26}}),
        row("sliced", [39100000] * 3, cpu=5001000, repetitions=1),
        row("short", [300, 300, 0], repetitions=1),
        row("less", [23000000] * 4, compensation={"cost": 11500.0, "period": 9.2e6}, less_overhead=True),
        row("cpu", [5000000], clock="thread_cpu", hz=1e9))
    head = {"kind": "bench", "number": 0, "uuid": "ab" * 16, "title": "sorts", "created": 10**18, "status": "finished",
            "tool": "0.1.0", "machine": "host"}
    archive = {"format": "tare-document", "version": 1, "head": head, "doc": plain,
               "parts": [{"doc": [1, 2.5, None], "blob": "00abff"}]}
    for name, document in {"plain": plain, "hostile": hostile, "archive": archive}.items():
        put("bench_json", f"{name}.json", json.dumps(document, separators=(",", ":")).encode())


def fingerprint(host):
    """As crates/core/src/machine/conditions.rs has it, without factors."""
    parts = [host["cpu"]["value"], host["microcode"]["value"], str(host["cpus"]), str(host["memory"]["value"] >> 26),
             host["architecture"], host["kernel"], host["kernel_version"], host["hypervisor"]["value"],
             host["clock_source"]["value"], "", "", ""]
    found = 0xCBF29CE484222325
    for byte in b"".join(struct.pack("<Q", len(p.encode())) + p.encode() for p in parts):
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return f"{found:016x}"


def comparisons():
    """Built here: a pair of runs with a history, ratios to a common reference, programs of one run; a gate of each verdict."""
    def value(v):
        return {"value": v}

    def interval(v, share=0.01):
        return {"Ok": {"low": v * (1 - share), "high": v * (1 + share), "level": 0.95}}

    def times(measure, median):
        return {"measure": measure, "samples": 10, "median": median, "interval": interval(median)}

    def side(run, label, pt, against=None):
        return {"run": run, "series": 0, "label": label, "program": label, "times": [times("et", pt * 1.1), times("pt", pt)],
                "against": against}

    def block(ratio, basis="duets"):
        return {"measure": "pt", "basis": basis, "ratio": ratio, "interval": interval(ratio, 0.005), "pairs": 12}

    few = {"Err": {"kind": "too_few", "have": 3, "need": 6}}
    host = {"name": "h", "machine": "m", "boot": value("b"), "kernel": "6.1", "kernel_version": "#1", "architecture": "x86_64",
            "distribution": value("Linux"), "cpu": value("CPU"), "microcode": value("0x1"), "cpus": 2, "memory": value(1 << 32),
            "hypervisor": value("KVM"), "clock_source": value("tsc"), "cycle_counter_hz": value(2.1e9)}

    def run(number, **changes):
        conditions = {"host": {**host, **changes}, "fingerprint": "", "factors": []}
        return {"run": number, "uuid": f"{number:032x}", "created": 10**18 + number * 10**13, "status": "finished",
                "conditions": conditions}

    def past(number):
        ratios = [{"reference": "r", "measure": "pt", "basis": "duets", "log": 0.001 * number}]
        series = [{"program": "gzip", "medians": [{"measure": "pt", "median": 3e8 + 1e6 * number}], "ratios": ratios}]
        return {"uuid": f"{number:032x}", "created": 10**18 - number * 10**15, "machine": "m", "fingerprint": fingerprint(host),
                "series": series}

    def pair(program, reference, blocks=()):
        return {"program": program, "reference": reference, "blocks": list(blocks), "paired_in_time": True}

    def comparison(runs, sides, pairs, **more):
        return {"plan": {"measure": None, "across_machines": False}, "runs": runs, "sides": sides, "pairs": pairs,
                "left_out": [], "history": [], **more}

    def against(ratio):
        return {"label": "r", "program": "r", "times": [times("pt", 1e8)], "ratios": [block(ratio), block(ratio, "alone")]}

    two = [run(12), run(15)]
    hostile = side(1, "a\x1b[31m\u202e\u6f22\n<b>|", 4e8)
    hostile["times"][1].update(median=0.0, interval=few)
    named = {
        "medians": comparison(two, [side(0, "gzip", 3e8), side(1, "gzip", 3.9e8)], [pair(1, 0)],
                              history=[past(n) for n in range(1, 6)]),
        "ratios": comparison(two, [side(0, "gzip", 3e8, against(3.0)), side(1, "gzip", 3.9e8, against(3.3))], [pair(1, 0)],
                             history=[past(n) for n in range(1, 6)]),
        "same_run": comparison(two[:1], [side(0, "gzip", 3e8), side(0, "xz", 1e8)], [pair(1, 0, [block(0.3)])]),
        "across": comparison([run(12), run(15, kernel="6.2", memory=value(1 << 33))], [side(0, "gzip", 3e8), hostile],
                             [pair(1, 0), pair(0, 1)], left_out=[{"run": 0, "label": "<b>\x1b"}],
                             plan={"measure": "net", "across_machines": True}),
    }

    def archive(kind, title, doc):
        head = {"kind": kind, "number": 0, "uuid": "ab" * 16, "title": title, "created": 10**18, "status": "finished",
                "tool": "0.1.0", "machine": "h"}
        return {"format": "tare-document", "version": 3, "head": head, "doc": doc}

    def build(name):
        return {"folder": "/w/" + name, "commit": "ab" * 20, "name": name, "committed": 10**18, "subject": "Sort <b>\x1b",
                "modified": name == "head"}

    def benchmark(name):
        return {"name": name, "command": "./prog " + name, "threshold": 0.02, "weight": 1.0, "measure": None, "budget": None}

    def measured(shift, failed=None):
        logs = [] if failed else [shift + 0.001 * (i % 5 - 2) for i in range(24)]
        alone = {"measure": "pt", "base": 1e8, "base_interval": few, "head": 1e8 * (1 + shift), "head_interval": interval(1e8),
                 "samples": 3}
        return {"run": 3, "run_uuid": "cd" * 16, "basis": "duets", "measure": "pt", "no_duets": None, "logs": logs,
                "control_logs": [0.001 * (i % 3 - 1) for i in range(len(logs))], "times": [alone], "failed": failed,
                "took": 10**9}

    suite = {"slower": measured(0.05), "same": measured(0.0), "faster": measured(-0.05), "between\n": measured(0.015),
             "failed": measured(0.0, "it exited with code 1")}
    quiet = {"value": 1e8, "interval": interval(1e8)["Ok"], "uncorrected": 1.1e8}
    sides = {"base": quiet, "head": {**quiet, "value": 1.005e8}}
    suite["rounds"] = {**measured(0.02), "basis": "alone", "corrected": sides}
    plan = {"suite": "s", "base": build("base"), "head": build("head"), "benchmarks": [benchmark(n) for n in suite],
            "budget": 10**11, "max_blocks": 54, "control": True, "family_error": 0.01}
    found = {name: archive("comparison", name, doc) for name, doc in named.items()}
    found["gate"] = archive("gate", "s", {"plan": plan, "measured": list(suite.values())})
    for name, document in found.items():
        put("compare_json", f"{name}.json", json.dumps(document, separators=(",", ":")).encode())


def noise_files():
    put("noise_files", "durations", b"# FWQ\n2000\n2010\n 9000 # late\n")
    put("noise_files", "micros", b"1.5\n0.001\n20\n")
    put("noise_files", "detours", b"# start, length\n1500\t250\n10000.5\t20\n900000\t0")
    # Three durations over 2000, and two events: crates/core/src/noise/blob.rs.
    put("noise_files", "stored", bytes([1, 0xD0, 0x0F, 3, 0, 10, 0x90, 0x4E]))
    put("noise_files", "events", bytes([2, 2, 3, 0x80, 1, 10, 10, 2, 20, 20, 10]))


def bsp():
    def job(ranks, phases):
        head = ["tare-bsp 1", "mpi Open MPI v4.1.4", "created 2026-11-21T20:00:00Z", "clock CLOCK_MONOTONIC", "unit ns",
            "grain 1000", "iterations 2500", "calibrations 100", f"phases {phases}", f"ranks {ranks}"]
        for r in range(ranks):
            head += [f"rank {r}", f"host n{r // 2}", f"cpu {r % 2}", "allowed 1", "per_iteration 0.4", "overhead 20",
                "rows start alone work whole empty"]
            head += [f"{i * 2000} {1000 + i % 7 * (1 + i % 40)} {1000 + i % 5} {1500 + i % 9} {300 + i % 3}"
                for i in range(phases)]
        return "\n".join(head + ["end", ""]).encode()

    put("bsp", "one", job(1, 12))
    put("bsp", "four", job(4, 20))
    put("bsp", "intervals", job(2, 60))


def journals():
    def text(*records):
        return "".join(json.dumps({"boot": "b0", "record": r}, separators=(",", ":")) + "\n" for r in records).encode()

    header = {"kind": "header", "format": "tare-journal", "version": 1, "pid": 7, "start": 1000, "created": 1_700_000_000}
    value = {"kind": "change", "change": "value", "factor": "swappiness", "target": {"kind": "file", "name": "proc/sys/vm/swappiness"},
        "old": "60", "new": "1", "survives_reboot": False}
    moved = {"kind": "change", "change": "moved", "processes": [[41, 9]], "from": "a", "to": "b"}
    whole = [header, value, {"kind": "change", "change": "group", "path": "tare"}, moved, {"kind": "seen", "index": 1, "value": "1"},
        {"kind": "refused", "index": 2}, {"kind": "complete"}, {"kind": "restoring"}]
    put("journal", "whole", text(*whole))
    put("journal", "without_header", text(*whole[1:]))
    put("journal", "cut", text(*whole)[:-9])


def histograms():
    def stored(counts):
        head = struct.pack(">IIIIQQd", 0x1C849313, len(counts), 0, 3, 1, 2047, 1.0)
        return head + counts

    # Counts in ZigZag LEB128; a negative one stands for so many zeros.
    put("histogram", "empty", stored(b""))
    put("histogram", "counts", stored(bytes([2, 9, 4, 0x80, 0x01, 2])))


def main():
    tare = os.path.abspath(sys.argv[1])
    proc_stat()
    dirents()
    taskstats()
    names()
    profiles()
    benchmarks()
    comparisons()
    bsp()
    noise_files()
    journals()
    histograms()
    documents(tare)


main()
