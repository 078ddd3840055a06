// A program beside which probes ran, as tare writes it, made up.

import type { Figure, Page, Quiet } from "../src/data";
import { HOSTILE, run } from "./fixtures";
import { random } from "./random";

type Curve = Figure["curves"][number];

/** Samples of a program before and after the correction, and the course of its probes in so many wake-ups. */
export function quiet(samples = 10, wakes = 400): Quiet {
  const r = random(9);
  const numbers = Array.from({ length: samples }, (_, i) => i + 1);
  const at = Array.from({ length: wakes }, (_, i) => i * 2e6);
  const points = (title: string, look: number, x: number[], y: (i: number) => number): Curve => ({
    title,
    look,
    thin: false,
    join: "points",
    x,
    y: x.map((_, i) => y(i)),
    band: null,
  });
  const value: Curve = {
    ...points("corrected value", 2, [1, samples], () => 286.4e6),
    join: "straight",
    band: { title: "95% interval", low: [285.9e6, 285.9e6], high: [286.9e6, 286.9e6] },
  };
  const axis = (title: string, quantity: Figure["x"]["quantity"]): Figure["x"] => ({
    title,
    quantity,
    scales: ["linear"],
    floor: null,
    shown: null,
  });
  return {
    answer: "CPU time on the quiet machine: 286.40 ms, 95% interval 285.90 to 286.90; corrected by −2.6 %.",
    note: "Short pieces of exactly fixed work ran on the program's CPU.",
    parts: [
      { title: "clock of the core", share: -0.019, text: "−1.9 %" },
      { title: "sibling hyper-thread", share: -0.007, text: "−0.7 %" },
      { title: HOSTILE[1]!, share: 0.002, text: "+0.2 %" },
    ],
    doubts: [`In 3 samples ${HOSTILE[0]} ran.`],
    figures: [
      {
        id: "quiet-samples-1",
        title: "Samples before and after the correction",
        note: "A point is a sample.",
        x: axis("Sample", "count"),
        y: axis("CPU time", "time"),
        curves: [
          points("as measured", 0, numbers, () => 294e6 + 4e6 * r.normal()),
          points("corrected", 1, numbers, () => 286.4e6 + 0.4e6 * r.normal()),
          value,
        ],
      },
      {
        id: "quiet-course-1",
        title: "What the probes saw",
        note: "1 is quiet.",
        x: axis("Time of the samples, one after the other", "time"),
        y: axis("Slower than quiet", "ratio"),
        curves: [
          points("latency (clock)", 0, at, () => 1.02 + 0.005 * r.normal()),
          points("issue ratio (sibling)", 1, at, (i) => (i % 100 < 30 ? 1.8 : 1)),
        ],
      },
    ],
    tables: [
      {
        title: "Correction",
        note: "",
        columns: ["corrected", "uncorrected"].map((title) => ({ title, right: true })),
        rows: [{ cells: ["286.40 ms", "294.10 ms"], samples: [] }],
      },
    ],
  };
}

/** Two programs, of which the first has probes. */
export function quieted(of: Quiet = quiet()): Page {
  const page = run(40);
  page.plots[0]!.quiet = of;
  return page;
}
