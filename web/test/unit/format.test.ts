import { describe, expect, it } from "vitest";
import { count, counted, decimalsFor, fixed, inScale, nanos, percent, scaleOf, time, unitOf } from "../../src/format";

describe("times", () => {
  it("have one unit and four significant digits", () => {
    expect(time(294_123_456)).toBe("294.1 ms");
    expect(time(1_234_567_890)).toBe("1.235 s");
    expect(time(12_345)).toBe("12.35 µs");
    expect(time(7)).toBe("7 ns");
    expect(time(0)).toBe("0 ns");
    expect(time(64e9)).toBe("64.00 s");
  });
  it("go to the next unit when they are rounded to 1000", () => {
    expect(unitOf(999_940).sign).toBe("µs");
    expect(time(999_960)).toBe("1.000 ms");
    expect(time(999_949_999)).toBe("999.9 ms");
  });
  it("are negative with a minus sign, and never minus zero", () => {
    expect(time(-2_500_000)).toBe("\u22122.500 ms");
    expect(fixed(-0.0001, 2)).toBe("0.00");
  });
  it("never show parts of a nanosecond in a column", () => {
    expect(scaleOf(7)).toMatchObject({ decimals: 0 });
    expect(inScale(1_034_200_000, scaleOf(294e6))).toBe("1034.2");
  });
  it("can be shown in full", () => {
    expect(nanos(294_123_456)).toBe("294\u202f123\u202f456 ns");
    expect(nanos(12)).toBe("12 ns");
    expect(nanos(1234.25)).toBe("1\u202f234.3 ns");
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
  it("are shares", () => {
    expect(percent(0.00381)).toBe("0.38 %");
    expect(percent(0.9963)).toBe("99.6 %");
    expect(percent(1)).toBe("100 %");
  });
});
