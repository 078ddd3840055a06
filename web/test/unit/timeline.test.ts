import { describe, expect, it } from "vitest";
import { checked } from "../../src/load";
import { TimelineModel } from "../../src/timeline-model";
import { timeline, trace } from "../timelines";

const all = (): boolean => true;

describe("a timeline", () => {
  const model = new TimelineModel(timeline(200));
  it("finds the period at a time, or the nearest within reach that is shown", () => {
    const [start, end] = [model.start[4]!, model.end[4]!];
    expect(model.at((start + end) / 2, 0, all)).toBe(4);
    expect(model.at(start - 100, 200, all)).toBe(4);
    expect(model.at(start - 100, 50, all)).toBe(-1);
    expect(model.at(end + 100, 200, all)).toBe(4);
    expect(model.at((start + end) / 2, 1e9, (i) => i !== 4)).not.toBe(4);
    expect(model.at((start + end) / 2, 1e9, () => false)).toBe(-1);
    expect(model.at(-1e9, 10, all)).toBe(-1);
  });
  it("returns the kernel events within a period", () => {
    const gap = Array.from(model.cause).indexOf(0);
    const told = model.within(model.start[gap]!, model.end[gap]!);
    expect(told.map((t) => t.class)).toEqual(["timer", "task"]);
    const quiet = Array.from(model.cause).indexOf(2);
    expect(model.within(model.start[quiet]!, model.end[quiet]!)).toEqual([]);
  });
  it("agrees with a search through all", () => {
    for (let k = 0; k < 400; k++) {
      const ns = (k / 400) * model.length;
      const away = (i: number): number => Math.max(model.start[i]! - ns, ns - model.end[i]!, 0);
      const best = Array.from({ length: model.size }, (_, i) => away(i)).reduce((a, b) => Math.min(a, b));
      const found = model.at(ns, 1e9, all);
      expect(away(found)).toBe(best);
    }
  });
});

describe("the data of a timeline", () => {
  it("is refused where its columns do not agree", () => {
    expect(checked(trace(timeline(40))).timeline?.start.length).toBeGreaterThan(3);
    const broken = [
      { ...timeline(40), duration: [1] },
      { ...timeline(40), cause: timeline(40).cause.map(() => 7) },
      { ...timeline(40), events: { what: [], kind: [0], start: [1], end: [2] } },
      { ...timeline(40), length: Number.NaN },
    ];
    for (const t of broken) expect(() => checked(trace(t))).toThrow("timeline");
  });
});
