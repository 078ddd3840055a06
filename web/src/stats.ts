// The only figures that the page computes itself: of the selected samples.

export interface Stats {
  n: number;
  mean: number;
  median: number;
  /** With n - 1; NaN below two values. */
  sd: number;
}

/** Of the values whose mask is set; those without a value (NaN) are ignored. `null` if there are none. */
export function stats(values: Float64Array, mask: Uint8Array): Stats | null {
  const kept = new Float64Array(values.length);
  let n = 0;
  for (let i = 0; i < values.length; i++) {
    const v = values[i]!;
    if (mask[i] === 1 && v === v) kept[n++] = v;
  }
  if (n === 0) return null;
  const sorted = kept.subarray(0, n).sort();
  let sum = 0;
  for (let i = 0; i < n; i++) sum += sorted[i]!;
  const mean = sum / n;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += (sorted[i]! - mean) ** 2;
  const half = n >> 1;
  const median = n % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
  return { n, mean, median, sd: n > 1 ? Math.sqrt(squares / (n - 1)) : NaN };
}
