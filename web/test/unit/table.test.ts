import { describe, expect, it } from "vitest";
import { csv, csvCell } from "../../src/csv";
import { sortByValue, sortedOrder } from "../../src/sort";

const sorted = (cells: string[], descending = false): string[] => sortedOrder(cells, descending).map((i) => cells[i]!);

describe("sorting", () => {
  const texts = ["1 s", "-", "20 ms", "300 µs", "none"];
  const values = [1e9, null, 20e6, 300e3, null];
  const byNumber = (descending: boolean): string[] => sortedOrder(texts, descending, values).map((i) => texts[i]!);
  it("is by the numbers that the data carries, with cells that have none last either way", () => {
    expect(byNumber(false)).toEqual(["300 µs", "20 ms", "1 s", "-", "none"]);
    expect(byNumber(true)).toEqual(["1 s", "20 ms", "300 µs", "-", "none"]);
  });
  it("is by the numbers even where the texts say otherwise", () => {
    expect(sortedOrder(["9", "1", "5"], false, [1, 2, 3])).toEqual([0, 1, 2]);
  });
  it("is by text where there are no numbers, what is absent last", () => {
    expect(sorted(["b", "–", "10", "a", "9"])).toEqual(["9", "10", "a", "b", "–"]);
    expect(sorted(["b", "–", "10", "a", "9"], true)).toEqual(["b", "a", "10", "9", "–"]);
  });
  it("is stable", () => {
    expect(sortedOrder(["1", "1", "0", "1"], false)).toEqual([2, 0, 1, 3]);
    expect(sortedOrder(["1", "1", "0", "1"], true)).toEqual([0, 1, 3, 2]);
    expect(sortedOrder(["a", "b", "c"], true, [1, 2, 1])).toEqual([1, 0, 2]);
  });
  it("sorts samples by value", () => {
    const values = [3, NaN, 1, 2];
    expect([...sortByValue(Int32Array.from([0, 1, 2, 3]), (i) => values[i]!, false)]).toEqual([2, 3, 0, 1]);
    expect([...sortByValue(Int32Array.from([0, 1, 2, 3]), (i) => values[i]!, true)]).toEqual([0, 3, 2, 1]);
  });
});

describe("CSV", () => {
  it("quotes, and makes no formulas", () => {
    expect(csv([["a,b", 'c"d', "e"]])).toBe('"a,b","c""d",e\r\n');
    expect(csvCell("=1+1")).toBe("'=1+1");
    expect(csvCell("-HYPERLINK")).toBe("'-HYPERLINK");
    expect(csvCell("-2.5")).toBe("-2.5");
  });
});
