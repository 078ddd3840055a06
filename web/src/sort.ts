// Sorting the rows of a table: by the numbers that the data carries, else by text.

/** Whether a cell says that there is nothing. */
export function isAbsent(cell: string): boolean {
  return /^\s*[-–—]?\s*$/u.test(cell);
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/**
 * The order of cells: by their numbers in a column that has some, else by text. What is absent, or has no
 * number in a column of numbers, comes last either way. Stable.
 */
export function sortedOrder(
  cells: readonly string[],
  descending: boolean,
  values: readonly (number | null | undefined)[] = [],
): number[] {
  const order = cells.map((_, i) => i);
  if (values.some((v) => typeof v === "number")) {
    const positions = Int32Array.from(order);
    return Array.from(sortByValue(positions, (i) => values[i] ?? NaN, descending));
  }
  const sign = descending ? -1 : 1;
  return order.sort((a, b) => {
    const [x, y] = [cells[a] ?? "", cells[b] ?? ""];
    const gone = Number(isAbsent(x)) - Number(isAbsent(y));
    if (gone !== 0 || isAbsent(x)) return gone || a - b;
    return collator.compare(x, y) * sign || a - b;
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
