import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { count, counted, decimalsFor, fixed, inScale, nanos, percent, scaleOf, time, unitOf } from "../../src/format";

/** What the Rust side's test reads, too. */
interface Cases {
  time: [number, string][];
  percent: [number, string][];
  fixed: [number, number, string][];
  digits: [number, number, string][];
}
const cases = JSON.parse(
  readFileSync(new URL("../../../crates/report/tests/numbers.json", import.meta.url), "utf8"),
) as Cases;

describe("the same text as in the report", () => {
  it.each(cases.time)("for a time of %f ns", (ns, text) => expect(time(ns)).toBe(text));
  it.each(cases.percent)("for a share of %f", (fraction, text) => expect(percent(fraction)).toBe(text));
  it.each(cases.fixed)("for %f with %i decimals", (value, decimals, text) => expect(fixed(value, decimals)).toBe(text));
  it.each(cases.digits)("for %f with %i digits", (value, digits, text) =>
    expect(fixed(value, decimalsFor(value, digits))).toBe(text),
  );
});

describe("times", () => {
  it("go to the next unit when they are rounded to 1000", () => {
    expect(unitOf(999_499).sign).toBe("µs");
    expect(unitOf(999_500).sign).toBe("ms");
  });
  it("never show parts of a nanosecond in a column", () => {
    expect(scaleOf(7)).toMatchObject({ decimals: 0 });
    expect(inScale(1_034_200_000, scaleOf(294e6))).toBe("1034.2");
  });
  it("can be shown in full", () => {
    expect(nanos(294_123_456)).toBe("294\u202f123\u202f456 ns");
    expect(nanos(12)).toBe("12 ns");
    expect(nanos(1234.25)).toBe("1\u202f234.2 ns");
  });
});

describe("other figures", () => {
  it("keep significant digits when rounding adds one", () => {
    expect(decimalsFor(0.0996, 2)).toBe(2);
    expect(decimalsFor(9.9996, 4)).toBe(2);
  });
  it("count", () => {
    expect(count(9999)).toBe("9999");
    expect(count(100000)).toBe("100\u202f000");
    expect(counted(1, "pair")).toBe("1 pair");
    expect(counted(0, "pair")).toBe("0 pairs");
  });
});
