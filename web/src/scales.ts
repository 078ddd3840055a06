// Axes of figures: where a value is drawn on a linear scale, a logarithmic one, or one of odds, and how it is written.

import { type AxisKind, axis, timeAxis, wholeAxis } from "./axes";
import type { Axis, Quantity, ScaleName } from "./data";
import { MINUS, count, fixed, precise, ratio, share, time } from "./format";
import { type Range, type Ticks, decades, decimalsOfStep, multiples, niceStep } from "./ticks";

/** A scale of an axis: values to what is drawn, and back. */
export interface Scale {
  place: (value: number) => number;
  value: (place: number) => number;
  kind: AxisKind;
  linear: boolean;
}

export function scale(of: Axis, name: ScaleName, upright: boolean): Scale {
  const floor = of.floor ?? 0;
  const kind = axisKind(of, name, upright);
  if (name === "log") {
    return { place: (v) => Math.log10(Math.max(v, floor)), value: (at) => 10 ** at, kind, linear: false };
  }
  if (name === "logit") {
    const place = (v: number): number => logit(Math.max(floor, Math.min(1 - floor, v)));
    return { place, value: odds, kind, linear: false };
  }
  return { place: (v) => v, value: (at) => at, kind, linear: true };
}

/** log10 of the odds. */
export function logit(p: number): number {
  return Math.log10(p / (1 - p));
}

function odds(at: number): number {
  return at > 0 ? 1 / (1 + 10 ** -at) : 10 ** at / (1 + 10 ** at);
}

/** A value of an axis in words. Times that are spread evenly are close to each other. */
export function saying(value: number, { quantity, scales }: Axis): string {
  return quantity === "time" && scales[0] === "linear" ? precise(value) : written(value, quantity);
}

function written(value: number, quantity: Quantity): string {
  if (quantity === "time") return time(value);
  if (quantity === "share") return share(value);
  return quantity === "count" ? count(value) : ratio(value);
}

function axisKind({ title, quantity }: Axis, name: ScaleName, upright: boolean): AxisKind {
  if (quantity === "time") return timeAxis(title, name === "log", upright);
  if (quantity === "count" && name === "linear") return wholeAxis(title, upright);
  const apart = upright ? 40 : 66;
  const linear = quantity === "share" ? shareTicks : ratioTicks;
  if (name === "logit") return axis(title, oddsTicks, apart, 44);
  if (name === "linear") return axis(title, linear, apart, 44);
  const label = quantity === "share" ? roundShare : (v: number): string => (v >= 1e4 ? short(v) : plain(v));
  return axis(title, (range, wanted) => decades(range, wanted, linear, label), apart, 44);
}

/** A round number in few signs. */
function short(n: number): string {
  return n >= 1e6 ? `${count(n / 1e6)}M` : `${count(n / 1e3)}k`;
}

function plain(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** A round share. */
function roundShare(p: number): string {
  return p < 9e-5 ? Number(p.toPrecision(2)).toExponential().replace("-", MINUS) : `${plain(p * 100)} %`;
}

function shareTicks(range: Range, wanted: number): Ticks {
  const step = niceStep((range[1] - range[0]) * 100, wanted);
  const values = multiples([range[0] * 100, range[1] * 100], step);
  const labels = values.map((v) => `${fixed(v, Math.min(12, decimalsOfStep(step)))} %`);
  return { at: values.map((v) => v / 100), labels, unit: "" };
}

function ratioTicks(range: Range, wanted: number): Ticks {
  const step = niceStep(range[1] - range[0], wanted);
  const at = multiples(range, step);
  return { at, labels: at.map((v) => fixed(v, Math.min(12, decimalsOfStep(step)))), unit: "" };
}

/** Powers of ten and their complements, and half; round shares where the range is narrow. */
export function oddsTicks(range: Range, wanted: number): Ticks {
  const span = range[1] - range[0];
  if (span < 0.7) {
    const linear = shareTicks([odds(range[0]), odds(range[1])], wanted);
    return { ...linear, at: linear.at.map(logit) };
  }
  const factors = span < wanted / 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(span / wanted));
  const at: number[] = [];
  const labels: string[] = [];
  const put = (place: number, label: string): void => {
    if (place < range[0] || place > range[1]) return;
    at.push(place);
    labels.push(label);
  };
  for (let p = 12; p > 0; p--) {
    if (p % every === 0)
      for (const f of factors) if (f !== 5 || p > 1) put(logit(f * 10 ** -p), roundShare(f * 10 ** -p));
  }
  put(0, "50 %");
  for (let p = 1; p <= 12; p++) {
    if (p % every !== 0) continue;
    for (const f of [...factors].reverse()) {
      // From the small complement, whose digits are all there.
      const rest = f * 10 ** -p;
      if (f !== 5 || p > 1) put(-logit(rest), `${fixed(100 - 100 * rest, Math.max(0, p - 2))} %`);
    }
  }
  return { at, labels, unit: "" };
}
