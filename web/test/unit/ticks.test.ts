import { describe, expect, it } from "vitest";
import { spread } from "../../src/notes";
import { clockTicks, logTicks, niceStep, padded, timeTicks, wholeTicks } from "../../src/ticks";
import { moved, showing, within, zoomed } from "../../src/view";

describe("ticks", () => {
  it("are at round numbers", () => {
    expect(niceStep(97, 5)).toBe(20);
    expect(niceStep(1, 10)).toBeCloseTo(0.1);
    expect(timeTicks([290e6, 310e6], 5)).toEqual({
      at: [290e6, 295e6, 300e6, 305e6, 310e6],
      labels: ["290", "295", "300", "305", "310"],
      unit: "ms",
    });
  });
  it("count whole things", () => {
    expect(wholeTicks([0, 1], 8).labels).toEqual(["0", "1"]);
  });
  it("have their own unit on a logarithmic axis", () => {
    expect(logTicks([5, 9], 4).labels).toEqual(["100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
  });
  it("name the day of a time once", () => {
    const start = new Date(2026, 10, 21, 23, 59, 58).getTime();
    const { labels } = clockTicks([start, start + 4000], 5);
    expect(labels).toEqual(["23:59:58\n2026-11-21", "23:59:59", "00:00:00\n2026-11-22", "00:00:01", "00:00:02"]);
  });
  it("are few, whatever the range", () => {
    for (const span of [1e-3, 1, 1e9, 1e18]) expect(timeTicks([5, 5 + span], 6).at.length).toBeLessThan(15);
  });
});

describe("views", () => {
  it("have a width even if all values are equal", () => {
    const [lo, hi] = padded([5, 5]);
    expect(lo).toBeLessThan(5);
    expect(hi).toBeGreaterThan(5);
    expect(padded([Infinity, -Infinity])).toEqual([0, 1]);
  });
  it("stay within the full one", () => {
    expect(within([-5, 5], [0, 100])).toEqual([0, 10]);
    expect(zoomed([0, 100], 3, 50, [0, 100])).toEqual([0, 100]);
    expect(zoomed([0, 100], 0.5, 0, [0, 100])).toEqual([0, 50]);
    expect(moved([90, 95], 20, [0, 100])).toEqual([95, 100]);
    expect(showing([0, 10], 50, [0, 100])).toEqual([45, 55]);
    expect(showing([0, 10], 5, [0, 100])).toEqual([0, 10]);
  });
});

describe("notes", () => {
  it("do not lie upon each other and keep their order", () => {
    const places = spread([50, 50, 52], 13, 0, 100);
    expect(places[1]! - places[0]!).toBeGreaterThanOrEqual(13);
    expect(places[2]! - places[1]!).toBeGreaterThanOrEqual(13);
    expect(Math.max(...spread([99, 99], 13, 0, 100))).toBeLessThanOrEqual(100);
  });
});
