// Pages as tare writes them, made up: a run with discards and accounts, a profile with an L, hostile names, and edge cases.

import type { Account, Class, Dual, Level, Measure, Page, Plot, Samples, Table } from "../src/data";
import { type Random, random } from "./random";

export const HOSTILE = [
  "<script>window.hacked = 1</script>",
  '"><img src=x onerror="window.hacked = 2">',
  "\u202edrawkcab\u2066",
  "x".repeat(300),
  "</script><script>window.hacked = 3</script>",
  "&lt;b&gt; ${window.hacked = 4} {{script}} $& $1",
];

const CLASSES: Class[] = [
  { title: "central cluster", role: "good", symbol: "circle" },
  { title: "L-sample", role: "spoiled", symbol: "triangle" },
  { title: "drift", role: "drift", symbol: "diamond" },
  { title: "high in both halves", role: "other", symbol: "square" },
  { title: "failed", role: "failed", symbol: "cross" },
];

const START = 1795252628000;

interface Made {
  et: number[];
  pt: (number | null)[];
  net: (number | null)[];
  kind: number[];
  executions: (number[] | null)[];
}

/** Times around `typical` ns, with rare long daemons if `rare` > 0. */
function make(n: number, typical: number, rare: number, daemons: number, r: Random): Made {
  const made: Made = { et: [], pt: [], net: [], kind: [], executions: [] };
  for (let i = 0; i < n; i++) {
    const drift = typical * 0.006 * Math.sin((i / n) * 7);
    const net = typical * (1 + 0.002 * r.normal()) + drift;
    const tare = typical * 0.004 * r.exponential();
    const hit = r.next() < rare;
    const long = hit ? typical * (0.04 + 0.25 * r.exponential()) : 0;
    const spent = new Map<number, number>(hit ? [[0, Math.round(long * 0.97)]] : []);
    for (let k = r.below(5); k > 0; k--) {
      spent.set(1 + r.below(Math.max(1, daemons - 1)), Math.round(typical * 1e-4 * r.exponential()));
    }
    made.et.push(Math.round(net + tare + long));
    made.pt.push(i % 977 === 976 ? null : Math.round(net + tare * 0.3));
    made.net.push(i % 977 === 976 ? null : Math.round(net));
    made.kind.push(hit ? 1 : Math.abs(drift) > typical * 0.0058 ? 2 : 0);
    made.executions.push([...spent].sort((a, b) => b[1] - a[1]).flat());
  }
  return made;
}

function measure(id: Measure["id"], title: string, values: (number | null)[], bins: number): Measure {
  const known = values.filter((v) => v !== null);
  const mean = known.reduce((a, b) => a + b, 0) / Math.max(1, known.length);
  const sd = Math.sqrt(known.reduce((a, b) => a + (b - mean) ** 2, 0) / Math.max(1, known.length - 1));
  const lines =
    known.length > 1
      ? [
          { title: "mean", value: mean },
          { title: "− 2 s.d.", value: mean - 2 * sd },
          { title: "+ 2 s.d.", value: mean + 2 * sd },
        ]
      : [];
  return { id, title, values, bins, lines };
}

/** Levels by halves of the reach, as members of the pairs that lie below. */
function dual(et: number[]): Dual {
  const odd: number[] = [];
  const even: number[] = [];
  for (let i = 0; i + 1 < et.length; i += 2) {
    odd.push(i);
    even.push(i + 1);
  }
  const sorted = [...et].sort((a, b) => a - b);
  const low = sorted[0] ?? 0;
  const central = sorted[Math.floor(sorted.length * 0.9)] ?? 1;
  const top = sorted.at(-1) ?? 1;
  const bounds = [top, low + (top - low) / 10, central].filter((b, i, all) => i === 0 || b < all[i - 1]!);
  const high = odd.map((o, p) => Math.max(et[o]!, et[even[p]!]!));
  const level = high.map((v) => bounds.reduce((deepest, b, l) => (v <= b ? l : deepest), 0));
  const range = (of: number[]): [number, number] => [Math.min(...of), Math.max(...of)];
  const levels = bounds.map((bound, l): Level => {
    const members = odd.map((_, p) => p).filter((p) => level[p]! >= l);
    const title =
      l === 0 ? "everything" : l === bounds.length - 1 ? "central cluster" : `up to ${(bound / 1e6).toFixed(1)} ms`;
    // Not by spreading: 50,000 arguments are too many.
    const ends = (half: number[]): [number, number] =>
      members.length > 5000
        ? members.reduce<[number, number]>(
            (e, p) => [Math.min(e[0], et[half[p]!]!), Math.max(e[1], et[half[p]!]!)],
            [Infinity, -Infinity],
          )
        : range(members.map((p) => et[half[p]!]!));
    return { title, members: members.length, x: ends(odd), y: ends(even) };
  });
  return { measure: "et", odd, even, level, levels };
}

function account(made: Made, r: Random): Account {
  const titles = [
    "net",
    "waited for sh",
    "stolen by the hypervisor",
    "launch, until exec",
    "interrupts: local_timer",
    "reaping",
    "page cache",
    "rest",
  ];
  const values: (number | null)[][] = titles.map(() => []);
  made.et.forEach((gross, i) => {
    const net = made.net[i] ?? null;
    let left = gross - (net ?? 0);
    titles.forEach((_, e) => {
      if (net === null) return values[e]!.push(null);
      if (e === 0) return values[e]!.push(net);
      const part = e === titles.length - 1 ? left : Math.round(left * (0.35 + 0.4 * r.next()));
      left -= part;
      return values[e]!.push(part);
    });
  });
  const entries = titles.map((title, i) => ({ title, role: i === 0 ? ("net" as const) : ("tare" as const) }));
  return { entries, values, retained: made.et.map((_, i) => i) };
}

function samplesOf(made: Made, names: string[], withAccount: boolean, r: Random): Samples {
  const n = made.et.length;
  const start: number[] = [];
  let now = START;
  for (let i = 0; i < n; i++) {
    start.push(now);
    now += Math.round(made.et[i]! / 1e6) + 40;
  }
  return {
    number: Array.from({ length: n }, (_, i) => i + 1),
    start,
    classes: CLASSES,
    class: made.kind,
    reasons: ["above the cutoff of updatedb", "outside mean ± 2 s.d. (check 2)"],
    reason: made.kind.map((k) => (k === 1 ? r.below(2) : -1)),
    daemons: names,
    executions: made.executions,
    account: withAccount ? account(made, r) : null,
  };
}

export interface Options {
  n: number;
  seed?: number;
  typical?: number;
  rare?: number;
  daemons?: string[];
  account?: boolean;
  dual?: boolean;
}

const DAEMONS = [
  "updatedb",
  "sh",
  "kworker (kernel)",
  "kdamond (kernel)",
  "rcu_preempt (kernel)",
  "systemd-journald",
  "cron",
  "tare (tare itself)",
];

export function plot(id: string, title: string, options: Options): Plot {
  const r = random(options.seed ?? 1);
  const names = options.daemons ?? DAEMONS;
  const made = make(options.n, options.typical ?? 294e6, options.rare ?? 0.05, names.length, r);
  const measures = [
    measure("et", "Elapsed time (ET)", made.et, 60),
    measure("pt", "CPU time (PT)", made.pt, 60),
    measure("net", "Net time", made.net, 60),
  ];
  const samples = samplesOf(made, names, options.account ?? false, r);
  return {
    id,
    title,
    note: `${options.n} samples; the class says what was discarded, and why.`,
    measures,
    samples,
    dual:
      options.dual === false
        ? "No dual-execution scatter plot: the programs ran in rounds, so that successive samples are not of one program."
        : dual(made.et),
    tables: [daemonTable(samples), discardTable(samples)],
  };
}

function daemonTable(samples: Samples): Table {
  const rows = samples.daemons.map((name, d) => {
    const ran: number[] = [];
    let sum = 0;
    let most = 0;
    samples.executions.forEach((flat, i) => {
      for (let k = 0; flat && k < flat.length; k += 2) {
        if (flat[k] !== d) continue;
        if (ran.at(-1) !== i) ran.push(i);
        sum += flat[k + 1]!;
        most = Math.max(most, flat[k + 1]!);
      }
    });
    const time = (ns: number): string =>
      ns >= 1e9
        ? `${(ns / 1e9).toPrecision(3)} s`
        : ns >= 1e6
          ? `${(ns / 1e6).toPrecision(3)} ms`
          : `${(ns / 1e3).toPrecision(3)} µs`;
    const cells = [
      name,
      `${ran.length} of ${samples.number.length}`,
      ran.length > 0 ? time(sum / ran.length) : "-",
      ran.length > 0 ? time(most) : "-",
    ];
    return { cells, samples: ran };
  });
  const columns = ["daemon", "ran in", "mean PT", "largest PT"].map((title, i) => ({ title, right: i > 0 }));
  return { title: "Daemons", note: "What ran beside the samples, by process time.", columns, rows };
}

function discardTable(samples: Samples): Table {
  const rows = samples.reasons.map((reason, k) => {
    const positions = samples.reason.flatMap((value, i) => (value === k ? [i] : []));
    return { cells: [reason, String(positions.length)], samples: positions };
  });
  return {
    title: "Discarded",
    note: "",
    columns: [
      { title: "reason", right: false },
      { title: "samples", right: true },
    ],
    rows,
  };
}

function wholeTables(plots: Plot[]): Table[] {
  const columns = ["program", "PT ± s.d. [ms]", "ET [ms]", "ratio [95%]", "verdict"];
  const protocol = [
    ["✓ v1", "daemons off, PT used", "CPU time used; none of the known non-critical ones runs"],
    ["✗ v2", "NTP on", "not synchronised, and no NTP daemon runs"],
    ["? v3", "clock speed fixed", "not available: a virtual machine cannot see or set the clock speed"],
    ["✓ v6", "10 samples or more", "10 or more in every series"],
  ];
  return [
    {
      title: "Comparison",
      note: "Ratio: PT of the program divided by PT of program 1; median of pairs, 95% sign-test interval.",
      columns: columns.map((title, i) => ({ title, right: i > 0 && i < 4 })),
      rows: plots.map((p, i) => ({
        cells: [
          p.title,
          `${294 - i} ± 31`,
          `${307 - i}`,
          i === 0 ? "1" : "0.387 [0.365, 0.400]",
          i === 0 ? "reference" : "faster",
        ],
        samples: [],
      })),
    },
    {
      title: "Protocol",
      note: "Reaches EMPv1 (2 of 6 steps held).",
      columns: ["step", "what", "found"].map((title) => ({ title, right: false })),
      rows: protocol.map((cells) => ({ cells, samples: [] })),
    },
  ];
}

export function page(kind: Page["kind"], plots: Plot[], more: Partial<Page> = {}): Page {
  return {
    format: "tare-page",
    version: 1,
    kind,
    title: kind === "run" ? "gzip and xz" : "Profile of vm",
    subtitle:
      kind === "run"
        ? "run 1 · 2026-11-21 09:17 UTC · 2 programs"
        : "profile 3 · 2026-11-21 09:17 UTC · short and long part",
    facts: [
      ["command", "gzip -6 -k -c numbers.txt"],
      ["machine", "vm · 2 × Intel(R) Xeon(R) Processor · virtual (KVM) · Linux 6.18.44 x86_64"],
      ["clock", "ET from CLOCK_MONOTONIC · clock source tsc · cycle counter 2.300 GHz"],
      ["PT source", "cgroup v2 cpu.stat; misses nothing"],
      ["check 1", "above the cutoffs of profile 3"],
      ["check 2", "outside mean ± 2 s.d. of the samples that check 1 retained"],
    ],
    remarks: [
      {
        warning: true,
        text: "The machine changed during the measurement: 30 ms of CPU time were stolen by the hypervisor.",
      },
      { warning: false, text: "The samples of all programs ran in rounds." },
    ],
    plots,
    tables: wholeTables(plots.slice(0, 60)),
    foot: "tare 0.9.0 · 2026-11-21 09:31:07 UTC",
    ...more,
  };
}

export function run(n: number): Page {
  return page("run", [
    plot("gzip", "gzip", { n, rare: 0.08, account: true, seed: 3 }),
    plot("xz", "xz", { n, typical: 111e6, dual: false, account: true, seed: 4 }),
  ]);
}

export function profile(n: number): Page {
  return page("profile", [
    plot("short", "Short part: INC1, 1000 samples", { n, typical: 1.0e9, seed: 5 }),
    plot("long", "Long part: INC4, 20 pairs", { n: 40, typical: 64e9, rare: 0.1, seed: 6 }),
  ]);
}

export function hostile(): Page {
  const [first = "", second = ""] = HOSTILE;
  const one = plot(`"><b id="hash">`, `${second} & co`, { n: 60, daemons: HOSTILE, rare: 0.4, account: true });
  one.samples.classes = CLASSES.map((c, i) => ({ ...c, title: HOSTILE[i] ?? c.title }));
  one.samples.reasons = [first, HOSTILE[3] ?? ""];
  one.samples.account?.entries.forEach((e, i) => (e.title = HOSTILE[i % HOSTILE.length] ?? ""));
  one.note = HOSTILE[4] ?? "";
  const facts = HOSTILE.map((text): [string, string] => [text.slice(0, 40), text]);
  const remarks = HOSTILE.map((text, i) => ({ warning: i % 2 === 0, text }));
  return page("run", [one, plot("b", HOSTILE[3] ?? "", { n: 10 })], {
    title: first,
    subtitle: second,
    facts,
    remarks,
    foot: first,
  });
}

/** One program whose samples have the given times. */
export function fixedTimes(times: (number | null)[], withDual = true): Page {
  const base = plot("one", "one", { n: times.length, rare: 0 });
  base.measures = base.measures.map((m) => measure(m.id, m.title, times, 10));
  if (!withDual || times.length < 2) base.dual = "No dual-execution scatter plot: fewer than 2 samples.";
  else base.dual = { measure: "et", odd: [0], even: [1], level: [0], levels: [] };
  return page("run", [base]);
}

/** What tare does with the template. */
export function fill(template: string, data: unknown, title = "tare: a run"): string {
  const marks: Record<string, string> = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
  };
  const json = JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (c) => marks[c] ?? c);
  return template.replace('"TARE-DATA"', () => json).replace("<title>tare</title>", () => `<title>${title}</title>`);
}
