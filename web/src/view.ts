// What part of the plane a chart shows, in what is drawn (log10 for logarithmic axes).

import type { Range } from "./ticks";

export interface View {
  x: Range;
  y: Range;
}

/** The narrowest range, as a share of the full one. */
const NARROWEST = 1e-7;

/** `range` moved and narrowed so that it lies within `full`. */
export function within(range: Range, full: Range): Range {
  const whole = full[1] - full[0];
  const span = Math.min(whole, Math.max(range[1] - range[0], whole * NARROWEST));
  const middle = (range[0] + range[1]) / 2;
  const lo = Math.max(full[0], Math.min(full[1] - span, middle - span / 2));
  return span === whole ? full : [lo, lo + span];
}

/** `range` made wider by `factor` around `fixed`. */
export function zoomed(range: Range, factor: number, fixed: number, full: Range): Range {
  return within([fixed - (fixed - range[0]) * factor, fixed + (range[1] - fixed) * factor], full);
}

export function moved(range: Range, by: number, full: Range): Range {
  return within([range[0] + by, range[1] + by], full);
}

/** `range` moved no further than needed to show `value`. */
export function showing(range: Range, value: number, full: Range): Range {
  if (!(value < range[0] || value > range[1])) return range;
  return moved(range, value - (range[0] + range[1]) / 2, full);
}

export function same(a: View, b: View): boolean {
  return a.x[0] === b.x[0] && a.x[1] === b.x[1] && a.y[0] === b.y[0] && a.y[1] === b.y[1];
}
