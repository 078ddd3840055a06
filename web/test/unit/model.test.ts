import { describe, expect, it } from "vitest";
import type { Quiet } from "../../src/data";
import { Unreadable, checked } from "../../src/load";
import { PlotModel, worse } from "../../src/model";
import { page, plot, run } from "../fixtures";
import { quiet } from "../quieted";

describe("classes of pairs", () => {
  const classes = [
    { title: "good", role: "good", symbol: "circle" },
    { title: "also good", role: "good", symbol: "circle" },
    { title: "drift", role: "drift", symbol: "diamond" },
    { title: "spoiled", role: "spoiled", symbol: "triangle" },
    { title: "failed", role: "failed", symbol: "cross" },
    { title: "other", role: "other", symbol: "square" },
  ] as const;
  it("are those of the worse half", () => {
    expect(worse(classes, 0, 3)).toBe(3);
    expect(worse(classes, 3, 0)).toBe(3);
    expect(worse(classes, 2, 3)).toBe(3);
    expect(worse(classes, 4, 3)).toBe(4);
    expect(worse(classes, 5, 0)).toBe(5);
  });
  it("are the first half's if both are as good", () => {
    expect(worse(classes, 1, 0)).toBe(1);
    expect(worse(classes, 3, 3)).toBe(3);
  });
});

describe("a plot", () => {
  const data = plot("a", "a", { n: 1000, account: true });
  const model = new PlotModel(data);
  it("has pairs with the times of its samples", () => {
    const { pairs } = model;
    expect(pairs?.points.x[3]).toBe(data.measures[0]?.values[6]);
    expect(pairs?.points.y[3]).toBe(data.measures[0]?.values[7]);
  });
  it("keeps what is absent absent", () => {
    expect(model.measure("pt")?.values[976]).toBeNaN();
    expect(model.account(976)).toBeNull();
  });
  it("has accounts that add up", () => {
    const sum = model.account(0)?.reduce((total, e) => total + e.time, 0);
    expect(sum).toBe(data.measures[0]?.values[0]);
  });
  it("finds daemons by a part of their name, in any case", () => {
    const found: number[] = [];
    model.ran("UPDATE", (i) => found.push(i));
    expect(found).toEqual([...model.kind.keys()].filter((i) => model.kind[i] === 1));
  });
});

describe("broken data", () => {
  const broken = (change: (p: ReturnType<typeof run>) => unknown): string => {
    const value = run(6);
    value.plots[1]!.quiet = quiet(6, 20);
    try {
      checked(change(value) ?? value);
    } catch (error) {
      if (error instanceof Unreadable) return error.message;
      throw error;
    }
    return "";
  };
  it("is told in a sentence", () => {
    expect(broken((p) => void ((p as { version: number }).version = 2))).toContain("version 2");
    expect(broken((p) => void p.plots[0]?.samples.start.pop())).toContain("plot 1");
    expect(broken((p) => void p.plots[1]?.samples.class.fill(77))).toContain("plot 2");
    expect(broken((p) => void delete (p as Partial<typeof p>).tables)).toContain("no tables");
    expect(broken(() => [])).toContain("not a report");
    expect(broken(() => 5)).toContain("not a report");
    expect(broken((p) => void p.plots[1]!.quiet!.figures[0]!.curves[0]!.y.pop())).toContain("plot 2 has a curve");
    expect(broken((p) => void delete (p.plots[1]!.quiet as Partial<Quiet>).parts)).toContain("incomplete quiet time");
    expect(broken((p) => p)).toBe("");
    expect(broken(() => page("run", []))).toBe("");
  });
});
