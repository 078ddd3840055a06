import { describe, expect, it, vi } from "vitest";
import { Selection } from "../../src/selection";
import { stats } from "../../src/stats";

const make = (): Selection => new Selection(Uint8Array.from([0, 0, 1, 1, 2]), 3);

describe("the selection", () => {
  it("is replaced, added to, toggled, and cleared", () => {
    const selection = make();
    selection.replace((mark) => [0, 2].forEach(mark));
    expect([...selection.positions()]).toEqual([0, 2]);
    selection.replace((mark) => mark(4), selection.mask.slice());
    expect([...selection.positions()]).toEqual([0, 2, 4]);
    selection.toggle([0, 1]);
    expect([...selection.positions()]).toEqual([0, 1, 2, 4]);
    selection.toggle([0, 1]);
    expect(selection.count).toBe(2);
    selection.clear();
    expect(selection.count).toBe(0);
  });
  it("ignores what is not there", () => {
    const selection = make();
    selection.replace((mark) => [-1, 5, 1].forEach(mark));
    expect([...selection.positions()]).toEqual([1]);
  });
  it("has nothing hidden in it", () => {
    const selection = make();
    selection.replace((mark) => [0, 1, 2, 3, 4].forEach(mark));
    selection.toggleClass(1);
    expect([...selection.positions()]).toEqual([0, 1, 4]);
    selection.replace((mark) => [2, 3, 4].forEach(mark));
    expect([...selection.positions()]).toEqual([4]);
    selection.toggleClass(1);
    expect(selection.hidden[1]).toBe(0);
  });
  it("says how much of a row it has", () => {
    const selection = make();
    selection.replace((mark) => [0, 1].forEach(mark));
    expect(selection.covers([0, 1])).toBe("all");
    expect(selection.covers([1, 2])).toBe("some");
    expect(selection.covers([2])).toBe("none");
    expect(selection.covers([])).toBe("none");
  });
  it("tells of a change of focus once", () => {
    const selection = make();
    const heard = vi.fn();
    selection.on("focus", heard);
    selection.hover({ sample: 1, partner: -1 });
    selection.hover({ sample: 1, partner: -1 });
    expect(heard).toHaveBeenCalledTimes(1);
    selection.pin({ sample: 3, partner: -1 });
    expect(selection.focus.sample).toBe(1);
    selection.hover(null);
    expect(selection.focus.sample).toBe(3);
  });
});

describe("the figures of a selection", () => {
  const values = Float64Array.from([1, 2, 3, 10, NaN]);
  it("are mean, median, and s.d. of the known values", () => {
    const found = stats(values, Uint8Array.from([1, 1, 1, 1, 1]));
    expect(found).toMatchObject({ n: 4, mean: 4, median: 2.5 });
    expect(found?.sd).toBeCloseTo(4.0825, 4);
  });
  it("lack what cannot be computed", () => {
    expect(stats(values, Uint8Array.from([0, 0, 0, 0, 1]))).toBeNull();
    const one = stats(values, Uint8Array.from([0, 0, 0, 1, 0]));
    expect(one).toMatchObject({ n: 1, mean: 10, median: 10 });
    expect(one?.sd).toBeNaN();
  });
});
