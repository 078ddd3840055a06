// A measurement of noise as tare writes it, made up: two grains, intervals with and without an upper bound, a hostile source.

import type { Curve, Figure, Page, Part } from "../src/data";
import { HOSTILE } from "./fixtures";

const curve = (title: string, look: number, join: Curve["join"], points: [number, number][]): Curve => ({
  title,
  look,
  thin: false,
  join,
  x: points.map((p) => p[0]),
  y: points.map((p) => p[1]),
  band: null,
});

/** A hundred thousand phases: the body within a hundredth of the shortest, the longest ten times that. */
export function distribution(grain: number): [number, number][] {
  const body = Array.from({ length: 120 }, (_, i): [number, number] => {
    const at = -5 + i / 12;
    return [grain * (1 + 0.0001 * (i + 1)), 1 / (1 + 10 ** -at)];
  });
  return [...body, [grain * 10, 1]];
}

export function noiseFigures(grain: number, id: string): Figure[] {
  const cdf = distribution(grain);
  const tail = cdf.map(([x, y], i): [number, number] => [x - grain, i === 0 ? 1 : 1 - cdf[i - 1]![1] || y]);
  const nodes = Array.from({ length: 49 }, (_, i) => Math.round(10 ** (i / 8)));
  const delayed = (p: number): [number, number][] => nodes.map((n) => [n, -Math.expm1(n * Math.log1p(-p))]);
  const chance = curve("1 µs and more: p = 0.1 %", 0, "straight", delayed(0.001));
  chance.band = {
    title: "95 % interval",
    low: delayed(0.0005).map((p) => p[1]),
    high: delayed(0.002).map((p) => p[1]),
  };
  const linear: Curve = {
    ...curve(
      "1 µs and more: p n",
      0,
      "straight",
      nodes.filter((n) => n <= 1000).map((n) => [n, n * 0.001]),
    ),
    thin: true,
  };
  const measured = curve(
    "measured",
    0,
    "straight",
    [1, 10, 100, 1000].map((n, i) => [n, 1.01 + i * 0.5]),
  );
  measured.band = { title: "95 % interval", low: [1.009, 1.4, 1.8, 2.2], high: [1.012, 1.6, 2.3, 3] };
  const beyond = curve("extrapolated by a fitted tail", 1, "straight", [
    [1000, 2.51],
    [10_000, 4],
    [100_000, 9],
    [1_000_000, 30],
  ]);
  beyond.band = { title: "95 % interval", low: [2.2, 3, 5, 8], high: [3, 7, 40, null] };
  const logs = ["log", "linear"] as const;
  return [
    {
      id: `${id}-distribution`,
      title: "Distribution of phases (ICS'05, figure 3)",
      note: "The share of phases that took no longer.",
      x: {
        title: "Duration of a phase",
        quantity: "time",
        scales: ["linear", "log"],
        floor: null,
        shown: [grain, grain * 1.012],
      },
      y: {
        title: "Phases that took no longer",
        quantity: "share",
        scales: ["logit", "linear"],
        floor: 5e-6,
        shown: null,
      },
      curves: [curve("CPU 1", 0, "before", cdf)],
    },
    {
      id: `${id}-survival`,
      title: "Delays (ICS'05, figures 3 and 5)",
      note: `How many of the phases were delayed by so much and more. ${HOSTILE[0]}`,
      x: {
        title: "Delay relative to the shortest phase",
        quantity: "time",
        scales: [...logs],
        floor: null,
        shown: null,
      },
      y: {
        title: "Phases delayed by so much and more",
        quantity: "share",
        scales: [...logs],
        floor: null,
        shown: null,
      },
      curves: [curve("CPU 1", 0, "after", tail), curve(HOSTILE[1]!, 1, "after", tail.slice(0, 60))],
    },
    {
      id: `${id}-delayed`,
      title: "Chance that a phase of a job is delayed (ICS'05, figure 2)",
      note: "d_p(n) = 1 - (1 - p)ⁿ",
      x: { title: "Nodes of the job", quantity: "count", scales: ["log"], floor: null, shown: null },
      y: {
        title: "Phases of the job that are delayed",
        quantity: "share",
        scales: ["linear", "log"],
        floor: null,
        shown: null,
      },
      curves: [chance, linear],
    },
    {
      id: `${id}-slowdown`,
      title: "Slowdown of a job",
      note: "",
      x: { title: "Nodes of the job", quantity: "count", scales: ["log"], floor: null, shown: null },
      y: { title: "Slowdown", quantity: "ratio", scales: [...logs], floor: null, shown: null },
      curves: [measured, beyond],
    },
  ];
}

export function noise(): Page {
  const table = (title: string, cells: string[]): Part["tables"][number] => ({
    title,
    note: "",
    columns: [
      { title: "source", right: false },
      { title: "count", right: true },
    ],
    rows: [{ cells, samples: [] }],
  });
  const part = (title: string, id: string, grain: number): Part => ({
    id,
    title,
    note: "970 iterations of the loop in each phase",
    figures: noiseFigures(grain, id),
    tables: [table("What interrupted the phases (table 3)", [`preempted by ${HOSTILE[0]}`, "7"])],
  });
  return {
    format: "tare-page",
    version: 1,
    kind: "noise",
    title: "Noise n1: 10us,1ms on CPU 1",
    subtitle: "How long a fixed piece of work takes again and again",
    facts: [["Measured", "CPU 1 of host"]],
    remarks: [{ warning: true, text: "Memory could not be locked." }],
    plots: [],
    parts: [part("Grain 10 µs", "grain-10us", 1e4), part("Grain 1 ms", "grain-1ms", 1e6)],
    tables: [table("Durations of phases (ICS'05, table 2)", ["10 µs", "100000"])],
    foot: "tare 0.9.0",
  };
}
