// The duets of a run as tare writes them, made up.

import type { Duets, Figure, Overview, OverviewRow } from "../src/data";
import { HOSTILE } from "./fixtures";
import { random } from "./random";

/** Ratios around 1.01 of a pair, with their estimate and its interval. */
export function pair(id: number, title: string, n: number): Figure {
  const r = random(id);
  const x = Array.from({ length: n }, (_, i) => i + 1);
  const ends = [1, Math.max(2, n)];
  const line = (name: string, y: number, thin: boolean): Figure["curves"][number] => ({
    title: name,
    look: 1,
    thin,
    join: "straight",
    x: ends,
    y: [y, y],
    band: null,
  });
  return {
    id: `duets-${id}`,
    title,
    note: `${n} duets: 1.0100, 95% interval 1.0080 to 1.0120.`,
    x: { title: "Duet", quantity: "count", scales: ["linear"], floor: null, shown: null },
    y: { title: `CPU time / that of ${HOSTILE[0]}`, quantity: "ratio", scales: ["linear"], floor: null, shown: null },
    curves: [
      {
        title: "a duet",
        look: 0,
        thin: false,
        join: "points",
        x,
        y: x.map(() => 1.01 + 0.004 * r.normal()),
        band: null,
      },
      {
        ...line("estimate", 1.01, false),
        band: { title: "95% interval", low: [1.008, 1.008], high: [1.012, 1.012] },
      },
      line("no difference", 1, true),
    ],
  };
}

export function duets(titles: string[], n = 24): Duets {
  const columns = ["program", "against", "ratio", "what to consider"];
  return {
    note: "In a duet both programs run at the same time.",
    table: {
      title: "Pairs of programs",
      note: "",
      columns: columns.map((title, i) => ({ title, right: i === 2 })),
      rows: titles.map((title) => ({ cells: [title, "base", "1.0100", HOSTILE[1]!], samples: [] })),
    },
    figures: titles.map((title, i) => pair(i + 2, title, n)),
  };
}

/** A result whose programs ran together. */
export function overviewWith(titles: string[], n = 24): Overview {
  const estimate = { value: 1.01, low: 1.008, high: 1.012, text: "1.0100", interval: "[1.0080, 1.0120]" };
  const row = (title: string): OverviewRow => ({
    title,
    plot: "xz",
    mean: { value: 85e6, low: 84e6, high: 86e6, text: "85.0 ms", interval: "[84.0, 86.0]" },
    ratio: estimate,
    alone: { ...estimate, low: 0.97, high: 1.05, interval: "[0.97, 1.05]" },
    basis: `${n} duets`,
    verdict: "slower",
    samples: "10 samples",
  });
  const base: OverviewRow = { ...row("base"), plot: "gzip", ratio: null, basis: "", verdict: "reference" };
  delete base.alone;
  return {
    answers: ["base is 1.0100 times as fast."],
    note: "Means.",
    what: "program",
    measure: "CPU time (PT)",
    compared: true,
    rows: [base, ...titles.map(row)],
    accounts: [],
    duets: duets(titles, n),
  };
}
