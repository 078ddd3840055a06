// Sorting the cells of a table, which are text: as numbers with a unit if all of a column are.

const UNITS: Record<string, number> = {
  ns: 1,
  µs: 1e3,
  μs: 1e3,
  us: 1e3,
  ms: 1e6,
  s: 1e9,
  min: 60e9,
  h: 3600e9,
  d: 86400e9,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
  Hz: 1,
  kHz: 1e3,
  MHz: 1e6,
  GHz: 1e9,
  "%": 1,
  ppm: 1,
  "×": 1,
};

const NUMBER =
  /^\s*[[(]?\s*[<>≤≥≈~]?\s*([+\-−]?)((?:\d{1,3}(?:[ \u2009\u202f\u00a0,']\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-zµμ%×]+)?\s*(?:$|±|…|of\s|[[(,;·]|–\s)/u;

/** Whether a cell says that there is nothing. */
export function isAbsent(cell: string): boolean {
  return /^\s*[-–—]?\s*$/u.test(cell);
}

/** The number that a cell starts with, in the base of its unit; `null` if it is text. */
export function numberOf(cell: string): number | null {
  const match = NUMBER.exec(cell);
  if (!match) return null;
  const [, sign = "", digits = "", unit] = match;
  const factor = unit === undefined || unit === "of" ? 1 : UNITS[unit];
  if (factor === undefined) return null;
  const value = Number(digits.replace(/[ \u2009\u202f\u00a0,']/gu, "")) * factor;
  return Number.isFinite(value) ? (sign === "-" || sign === "−" ? -value : value) : null;
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The order of cells: numbers if all are, else text; what is absent comes last either way. Stable. */
export function sortedOrder(cells: readonly string[], descending: boolean): number[] {
  const numbers = cells.map((cell) => (isAbsent(cell) ? NaN : numberOf(cell)));
  const numeric = numbers.every((n) => n !== null) && numbers.some((n) => !Number.isNaN(n));
  const sign = descending ? -1 : 1;
  const order = cells.map((_, i) => i);
  return order.sort((a, b) => {
    const [x, y] = [cells[a] ?? "", cells[b] ?? ""];
    const gone = Number(isAbsent(x)) - Number(isAbsent(y));
    if (gone !== 0 || isAbsent(x)) return gone || a - b;
    const by = numeric ? numbers[a]! - numbers[b]! : collator.compare(x, y);
    return by * sign || a - b;
  });
}

/** Sorts positions by a value each; those without one (NaN) come last either way. */
export function sortByValue(positions: Int32Array, value: (i: number) => number, descending: boolean): Int32Array {
  const sign = descending ? -1 : 1;
  const keys = new Float64Array(positions.length);
  positions.forEach((p, i) => (keys[i] = value(p)));
  const order = Int32Array.from(positions, (_, i) => i);
  order.sort((a, b) => {
    const [x, y] = [keys[a]!, keys[b]!];
    if (x === y) return a - b;
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return (x - y) * sign;
  });
  return order.map((i) => positions[i]!);
}
