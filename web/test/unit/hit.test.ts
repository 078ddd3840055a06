import { describe, expect, it } from "vitest";
import { drawingOrder } from "../../src/cloud";
import { box, extent, histogram, inBox, nearest } from "../../src/hit";
import { stepped } from "../../src/step";
import { random } from "../random";

const points = {
  x: Float64Array.from([0, 1, 2, 3, NaN]),
  y: Float64Array.from([0, 1, 2, 3, 1]),
  kind: Uint8Array.from([0, 0, 1, 1, 0]),
};
const shown = new Uint8Array(2);

describe("hit tests", () => {
  const inside = (area: ReturnType<typeof box>, hidden = shown): number[] => {
    const found: number[] = [];
    inBox(points, hidden, area, (i) => found.push(i));
    return found;
  };
  it("find what is in a box, its edges included, drawn in any direction", () => {
    expect(inside(box(1, 1, 2, 2))).toEqual([1, 2]);
    expect(inside(box(2, 2, 1, 1))).toEqual([1, 2]);
    expect(inside(box(-9, -9, 9, 9))).toEqual([0, 1, 2, 3]);
  });
  it("leave out hidden classes", () => {
    expect(inside(box(0, 0, 3, 3), Uint8Array.from([0, 1]))).toEqual([0, 1]);
  });
  it("agree with a plain search", () => {
    const r = random(7);
    const many = { x: new Float64Array(500), y: new Float64Array(500), kind: new Uint8Array(500) };
    for (let i = 0; i < 500; i++) [many.x[i], many.y[i]] = [r.next(), r.next()];
    for (let round = 0; round < 50; round++) {
      const area = box(r.next(), r.next(), r.next(), r.next());
      const found: number[] = [];
      inBox(many, shown, area, (i) => found.push(i));
      const plain = [...many.x.keys()].filter(
        (i) => many.x[i]! >= area.x[0] && many.x[i]! <= area.x[1] && many.y[i]! >= area.y[0] && many.y[i]! <= area.y[1],
      );
      expect(found).toEqual(plain);
    }
  });
  it("find the nearest point within reach, in pixels", () => {
    const scale = { x: 10, y: 10 };
    expect(nearest(points, shown, { x: 1.1, y: 1.1 }, scale, 14)).toBe(1);
    expect(nearest(points, shown, { x: 1.5, y: 0 }, scale, 5)).toBe(-1);
    expect(nearest(points, Uint8Array.from([1, 0]), { x: 1, y: 1 }, scale, 100)).toBe(2);
  });
});

describe("bars", () => {
  const values = Float64Array.from([0, 1, 2, 3, 4, NaN]);
  it("count every visible value once, the last edge included", () => {
    expect([...histogram(values, [0, 4], 4, () => true)]).toEqual([1, 1, 1, 2]);
    expect([...histogram(values, [1, 2], 2, () => true)]).toEqual([1, 1]);
    expect([...histogram(values, [0, 4], 2, (i) => i !== 4)]).toEqual([2, 2]);
  });
  it("have ends only if there are values", () => {
    expect(extent(values)).toEqual([0, 4]);
    expect(extent(Float64Array.from([NaN]))).toBeNull();
  });
});

describe("order and steps", () => {
  it("draws the worse classes on top", () => {
    expect([...drawingOrder(Uint8Array.from([2, 0, 1, 0]), (k) => k)]).toEqual([1, 3, 2, 0]);
  });
  it("steps over hidden ones and stops at the ends", () => {
    const odd = (i: number): boolean => i % 2 === 1;
    expect(stepped("ArrowRight", -1, 6, odd)).toBe(1);
    expect(stepped("ArrowRight", 1, 6, odd)).toBe(3);
    expect(stepped("ArrowRight", 5, 6, odd)).toBe(5);
    expect(stepped("End", 1, 6, odd)).toBe(5);
    expect(stepped("Home", 5, 6, odd)).toBe(1);
    expect(stepped("ArrowLeft", 1, 6, odd)).toBe(1);
    expect(stepped("ArrowRight", -1, 0, odd)).toBe(-1);
    expect(stepped("x", 1, 6, odd)).toBeNull();
  });
});
