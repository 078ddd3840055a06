// Finds points by position, over typed arrays: fast enough for every frame with 100,000 points.

import type { Range } from "./ticks";

export interface Box {
  x: Range;
  y: Range;
}

export interface Points {
  x: Float64Array;
  y: Float64Array;
  /** Class of each point. */
  kind: Uint8Array;
}

/** A box from two corners in any order. */
export function box(ax: number, ay: number, bx: number, by: number): Box {
  return { x: [Math.min(ax, bx), Math.max(ax, bx)], y: [Math.min(ay, by), Math.max(ay, by)] };
}

/** Calls `found` for every shown point in the box, its edges included. A point without a value (NaN) is nowhere. */
export function inBox(points: Points, hidden: Uint8Array, area: Box, found: (i: number) => void): void {
  const { x, y, kind } = points;
  const [x0, x1] = area.x;
  const [y0, y1] = area.y;
  for (let i = 0; i < x.length; i++) {
    const px = x[i]!;
    const py = y[i]!;
    if (px >= x0 && px <= x1 && py >= y0 && py <= y1 && hidden[kind[i]!] !== 1) found(i);
  }
}

/** The shown point nearest to (`x`, `y`), at most `reach` pixels away; -1 if there is none. Scales: pixels per unit. */
export function nearest(
  points: Points,
  hidden: Uint8Array,
  at: { x: number; y: number },
  scale: { x: number; y: number },
  reach: number,
): number {
  const { x, y, kind } = points;
  let best = -1;
  let least = reach * reach;
  for (let i = 0; i < x.length; i++) {
    const dx = (x[i]! - at.x) * scale.x;
    const dy = (y[i]! - at.y) * scale.y;
    const distance = dx * dx + dy * dy;
    if (distance <= least && hidden[kind[i]!] !== 1) {
      least = distance;
      best = i;
    }
  }
  return best;
}

/** Smallest and largest value; `null` if there is none. */
export function extent(values: Float64Array): [number, number] | null {
  let lo = Infinity;
  let hi = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const v = values[i]!;
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return lo <= hi ? [lo, hi] : null;
}

/** Counts of values in `bins` equal parts of the range; what is outside is not counted. */
export function histogram(
  values: Float64Array,
  range: Range,
  bins: number,
  counts: (i: number) => boolean,
): Float64Array {
  const result = new Float64Array(bins);
  const [lo, hi] = range;
  const scale = bins / (hi - lo);
  for (let i = 0; i < values.length; i++) {
    const v = values[i]!;
    if (v >= lo && v <= hi && counts(i)) {
      const bin = Math.min(bins - 1, Math.floor((v - lo) * scale));
      result[bin]! += 1;
    }
  }
  return result;
}
