import { describe, expect, it } from "vitest";
import type { Axis, ScaleName } from "../../src/data";
import { share } from "../../src/format";
import { logit, oddsTicks, saying, scale } from "../../src/scales";

const axis = (quantity: Axis["quantity"], floor: number | null = null): Axis => ({
  title: "t",
  quantity,
  scales: ["linear", "log", "logit"],
  floor,
  shown: null,
});

describe("scale", () => {
  it("leads there and back", () => {
    for (const name of ["linear", "log", "logit"] as ScaleName[]) {
      const s = scale(axis("share"), name, true);
      for (const p of [1e-7, 0.001, 0.3, 0.5, 0.97, 1 - 1e-7]) expect(s.value(s.place(p))).toBeCloseTo(p, 12);
    }
  });
  it("draws what is beyond the floor there", () => {
    const odds = scale(axis("share", 1e-4), "logit", true);
    expect([odds.place(0), odds.place(1)]).toEqual([logit(1e-4), logit(1 - 1e-4)]);
    expect(scale(axis("share", 1e-3), "log", true).place(0)).toBeCloseTo(-3, 12);
    // Without one it has no place.
    expect(scale(axis("share"), "log", true).place(0)).toBe(-Infinity);
  });
  it("by odds has round shares and as many nines", () => {
    expect(oddsTicks([-4.5, 4.5], 12).labels).toEqual([
      "0.01 %",
      "0.1 %",
      "1 %",
      "10 %",
      "50 %",
      "90 %",
      "99 %",
      "99.9 %",
      "99.99 %",
    ]);
    const few = oddsTicks([-7, 7], 5);
    expect(few.labels).toEqual(["1e−6", "0.1 %", "50 %", "99.9 %", "99.9999 %"]);
    few.at.forEach((at, i) => i > 0 && expect(at).toBeGreaterThan(few.at[i - 1]!));
    // Zoomed in, round shares.
    expect(oddsTicks([logit(0.3), logit(0.5)], 5).labels).toEqual(["30 %", "35 %", "40 %", "45 %", "50 %"]);
  });
  it("has ticks of its quantity", () => {
    const labels = (q: Axis["quantity"], name: ScaleName, range: [number, number]): string[] =>
      scale(axis(q), name, false).kind.ticks(range, 500).labels;
    expect(labels("count", "log", [0, 6])).toEqual(["1", "10", "100", "1000", "10k", "100k", "1M"]);
    expect(labels("ratio", "linear", [1, 1.004])[1]).toBe("1.001");
    expect(labels("share", "log", [-6, 0])[0]).toBe("1e−6");
    expect(labels("time", "log", [3, 6])[0]).toBe("1 µs");
  });
});

describe("saying", () => {
  it("tells nearly all from all", () => {
    expect([0, 3.2e-7, 0.012, 0.5, 1].map(share)).toEqual(["0", "3.2e−7", "1.2 %", "50 %", "100 %"]);
    expect(share(0.99999)).toBe("99.9990 %");
    expect(share(0.9999996)).toBe("99.999960 %");
    const says = (value: number, quantity: Axis["quantity"], scales: ScaleName[]): string =>
      saying(value, { ...axis(quantity), scales });
    expect(says(1_000_234, "time", ["log"])).toBe("1.00 ms");
    expect(says(1_000_234, "time", ["linear", "log"])).toBe("1.000234 ms");
    expect([says(100_000, "count", ["log"]), says(1.00012, "ratio", ["linear"])]).toEqual(["100\u202f000", "1.0001"]);
  });
});
