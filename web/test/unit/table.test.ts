import { describe, expect, it } from "vitest";
import { csv, csvCell } from "../../src/csv";
import { numberOf, sortByValue, sortedOrder } from "../../src/sort";

const sorted = (cells: string[], descending = false): string[] => sortedOrder(cells, descending).map((i) => cells[i]!);

describe("numbers in cells", () => {
  it("are read with their unit", () => {
    expect(numberOf("294 ± 31")).toBe(294);
    expect(numberOf("6.40 ms")).toBe(6.4e6);
    expect(numberOf("692 µs")).toBe(692e3);
    expect(numberOf("[266, 338]")).toBe(266);
    expect(numberOf("0.387 [0.365, 0.400]")).toBe(0.387);
    expect(numberOf("9 of 10")).toBe(9);
    expect(numberOf("1 (=0+1)")).toBe(1);
    expect(numberOf("-2.5 %")).toBe(-2.5);
    expect(numberOf("100\u202f000")).toBe(100000);
    expect(numberOf("2.00 MiB")).toBe(2097152);
    expect(numberOf("15×")).toBe(15);
  });
  it("are not seen in text", () => {
    for (const text of ["2026-11-21 09:17:08", "1 gzip", "xz", "3 apples", "v1", "1.2.3"])
      expect(numberOf(text)).toBeNull();
  });
});

describe("sorting", () => {
  it("is numeric across units, with absent cells last either way", () => {
    expect(sorted(["1 s", "-", "20 ms", "300 µs"])).toEqual(["300 µs", "20 ms", "1 s", "-"]);
    expect(sorted(["1 s", "-", "20 ms", "300 µs"], true)).toEqual(["1 s", "20 ms", "300 µs", "-"]);
  });
  it("is by text if one cell is text", () => {
    expect(sorted(["b", "10", "a", "9"])).toEqual(["9", "10", "a", "b"]);
  });
  it("is stable", () => {
    expect(sortedOrder(["1", "1", "0", "1"], false)).toEqual([2, 0, 1, 3]);
    expect(sortedOrder(["1", "1", "0", "1"], true)).toEqual([0, 1, 3, 2]);
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
