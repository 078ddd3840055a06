// Positions and labels of an axis's ticks. Axes are linear in the drawn values: a logarithmic one draws log10.

import { MINUS, fixed, localClock, localDate, unitOf } from "./format";

export type Range = readonly [number, number];

export interface Ticks {
  at: number[];
  labels: string[];
  /** Unit of the numbers; may be empty. */
  unit: string;
}

/** 1, 2 or 5 times a power of ten, so that about `wanted` ticks fit. */
export function niceStep(span: number, wanted: number): number {
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((f) => f * power >= raw * 0.999) ?? 10;
  return factor * power;
}

/** Multiples of `step` in the range. */
export function multiples([lo, hi]: Range, step: number): number[] {
  const at: number[] = [];
  const slack = step * 1e-6;
  for (let i = Math.ceil((lo - slack) / step); i * step <= hi + slack && at.length < 200; i++) at.push(i * step);
  return at;
}

export function decimalsOfStep(step: number): number {
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
}

/** An axis of plain numbers: counts, sample numbers. Its ticks are whole numbers. */
export function wholeTicks(range: Range, wanted: number): Ticks {
  const step = Math.max(1, niceStep(range[1] - range[0], wanted));
  const at = multiples(range, step);
  return { at, labels: at.map((v) => fixed(v, 0).replace(/\B(?=(\d{3})+$)/g, v < 10000 ? "" : "\u202f")), unit: "" };
}

/** An axis of times in ns, in one unit. */
export function timeTicks(range: Range, wanted: number): Ticks {
  const unit = unitOf(Math.max(Math.abs(range[0]), Math.abs(range[1])));
  const step = niceStep((range[1] - range[0]) / unit.nanos, wanted);
  const values = multiples([range[0] / unit.nanos, range[1] / unit.nanos], step);
  const decimals = decimalsOfStep(step);
  return { at: values.map((v) => v * unit.nanos), labels: values.map((v) => fixed(v, decimals)), unit: unit.sign };
}

/** A logarithmic axis of times: `range` is log10 of ns. Powers of ten, with 2 and 5 where they fit, else linear steps. */
export function logTicks(range: Range, wanted: number): Ticks {
  return decades(range, wanted, timeTicks, ownUnit);
}

/** A logarithmic axis: `range` is log10 of what `label` writes; if it is narrow, the ticks are those of `narrow`. */
export function decades(
  range: Range,
  wanted: number,
  narrow: (range: Range, wanted: number) => Ticks,
  label: (value: number) => string,
): Ticks {
  const span = range[1] - range[0];
  const values: [number, number] = [10 ** range[0], 10 ** range[1]];
  if (span < 0.7) {
    const linear = narrow(values, wanted);
    return { ...linear, at: linear.at.map(Math.log10) };
  }
  const factors = span < wanted / 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(span / wanted));
  const at: number[] = [];
  const labels: string[] = [];
  for (let p = Math.floor(range[0]); p <= range[1]; p++) {
    if (factors.length === 1 && ((p % every) + every) % every !== 0) continue;
    for (const factor of factors) {
      const v = factor * 10 ** p;
      if (v < values[0] * 0.999999 || v > values[1] * 1.000001) continue;
      at.push(Math.log10(v));
      labels.push(label(v));
    }
  }
  return { at, labels, unit: "" };
}

/** A round number in its most suitable unit: a logarithmic axis spans too much for a single unit. */
function ownUnit(ns: number): string {
  const unit = unitOf(ns);
  return `${String(Number((ns / unit.nanos).toPrecision(3))).replace("-", MINUS)} ${unit.sign}`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CLOCK_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((s) => s * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * MINUTE),
  ...[1, 2, 3, 6, 12].map((x) => x * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((d) => d * DAY),
];

/** An axis of local time, in ms since 1970. The first tick of a day says the day. */
export function clockTicks(range: Range, wanted: number): Ticks {
  const raw = (range[1] - range[0]) / Math.max(1, wanted);
  const step = CLOCK_STEPS.find((s) => s >= raw) ?? DAY * 2000;
  // Steps are aligned to the local midnight, not to that of UTC.
  const offset = new Date(range[0]).getTimezoneOffset() * MINUTE;
  const shift = Number.isFinite(offset) ? offset : 0;
  const at = multiples([range[0] - shift, range[1] - shift], step).map((v) => v + shift);
  let day = "";
  const labels = at.map((v) => {
    const date = localDate(v);
    const clock = localClock(v, step < SECOND ? 3 : 0);
    const text = step >= DAY ? date : step >= MINUTE ? clock.slice(0, 5) : clock;
    const label = date === day || step >= DAY ? text : `${text}\n${date}`;
    day = date;
    return label;
  });
  return { at, labels, unit: "" };
}

/** Widens a range by a share on both sides; one without width gets some. */
export function padded([lo, hi]: Range, share = 0.04): [number, number] {
  if (!(lo <= hi)) return [0, 1];
  if (lo === hi) {
    const by = lo === 0 ? 1 : Math.max(Math.abs(lo) * 0.05, 1e-3);
    return [lo - by, hi + by];
  }
  return [lo - (hi - lo) * share, hi + (hi - lo) * share];
}
