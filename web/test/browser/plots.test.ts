// The linked plots, by pointer and keyboard.

import type { Browser, Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Page } from "../../src/data";
import { launch } from "../chromium";
import { profile, run } from "../fixtures";
import { type Opened, drag, frames, open, place, tare } from "./open";

let browser: Browser;
let data: Page;
let opened: Opened;
let page: Tab;
const first = () => data.plots[0]!;
const dual = () => {
  const d = first().dual;
  if (typeof d === "string") throw new Error(d);
  return d;
};
const et = (i: number): number => first().measures[0]!.values[i]!;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

async function start(of: Page): Promise<void> {
  data = of;
  opened = await open(browser, data);
  page = opened.page;
}

async function end(): Promise<void> {
  expect(opened.troubles).toEqual([]);
  expect(opened.requests).toEqual([]);
  await opened.close();
}

/** Pairs whose times lie in the box, by a plain search. */
function pairsIn(x: [number, number], y: [number, number]): number[] {
  const { odd, even } = dual();
  return odd.flatMap((o, p) => {
    const e = even[p]!;
    const inside = et(o) >= x[0] && et(o) <= x[1] && et(e) >= y[0] && et(e) <= y[1];
    return inside ? [o, e] : [];
  });
}

const selection = (): Promise<number[]> => tare(page, (t) => t.selection);

describe("zooming", () => {
  it("goes to a level by its button, and says so", async () => {
    await start(profile(600));
    const { levels } = dual();
    expect(levels.length).toBeGreaterThan(2);
    for (const [i, level] of levels.entries()) {
      await page.getByRole("button", { name: `level ${i + 1} of` }).click();
      await frames(page);
      const { x, y } = (await tare(page, (t) => t.ranges))["scatter"]!;
      expect(x[0]).toBeLessThanOrEqual(level.x[0]);
      expect(x[1]).toBeGreaterThanOrEqual(level.x[1]);
      expect(x[1] - x[0]).toBeLessThan((level.x[1] - level.x[0]) * 1.2);
      expect(y[1] - y[0]).toBeLessThan((level.y[1] - level.y[0]) * 1.2);
      expect(await page.textContent(".level")).toContain(`level ${i + 1} of ${levels.length}: ${level.members} pairs`);
    }
    await page.locator("figure.scatter").getByRole("button", { name: "reset" }).click();
    const { x, y } = (await tare(page, (t) => t.ranges))["scatter"]!;
    expect(x).toEqual(y);
    await end();
  });
  it("by the wheel keeps what is under the pointer, and scrolls the page when there is no more to show", async () => {
    await start(run(300));
    for (const name of ["scatter", "sequence", "histogram"]) {
      const before = (await tare(page, (t) => t.ranges))[name]!;
      const middle = (r: readonly [number, number]): number => r[0] + (r[1] - r[0]) * 0.3;
      const at = await place(page, name, middle(before.x), middle(before.y));
      await page.mouse.move(at.x, at.y);
      await page.mouse.wheel(0, -240);
      await frames(page);
      const after = (await tare(page, (t) => t.ranges))[name]!;
      expect(after.x[1] - after.x[0]).toBeLessThan((before.x[1] - before.x[0]) * 0.9);
      if (name === "scatter") expect(after.y[1] - after.y[0]).toBeLessThan((before.y[1] - before.y[0]) * 0.9);
      const still = await place(page, name, middle(before.x), 0);
      expect(Math.abs(still.x - at.x)).toBeLessThan(1.5);
    }
    await page.evaluate(() => window.scrollTo(0, 0));
    const { x, y } = (await tare(page, (t) => t.ranges))["scatter"]!;
    const at = await place(page, "scatter", (x[0] + x[1]) / 2, (y[0] + y[1]) / 2);
    const scrolled = (): Promise<number> => page.evaluate(() => window.scrollY);
    const before = await scrolled();
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, 240);
    await frames(page);
    expect(await scrolled()).toBe(before);
    await page.locator("figure.scatter").getByRole("button", { name: "reset" }).click();
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, 240);
    await frames(page);
    expect(await scrolled()).toBeGreaterThan(before);
    await end();
  });
  it("keeps places under a logarithmic scale", async () => {
    await start(run(300));
    const before = (await tare(page, (t) => t.ranges))["scatter"]!;
    await page.getByRole("button", { name: "log", exact: true }).click();
    await frames(page);
    const after = (await tare(page, (t) => t.ranges))["scatter"]!;
    expect(after.x[0]).toBeGreaterThan(before.x[0] * 0.5);
    expect(after.x).toEqual(after.y);
    const top = Math.max(...first().samples.number.map((_, i) => et(i)));
    await drag(page, "scatter", [after.x[0] * 1.001, after.y[0] * 1.001], [after.x[1] * 0.999, after.y[1] * 0.999]);
    expect(after.x[1]).toBeGreaterThan(top);
    expect((await selection()).length).toBe(300);
    await end();
  });
});

describe("selecting", () => {
  it("by a box in the scatter plot selects its pairs everywhere", async () => {
    await start(run(400));
    const before = await tare(page, (t) => t.renders);
    const x: [number, number] = [300e6, 420e6];
    const y: [number, number] = [285e6, 320e6];
    await drag(page, "scatter", [x[0], y[0]], [x[1], y[1]]);
    const wanted = pairsIn(x, y).sort((a, b) => a - b);
    expect(wanted.length).toBeGreaterThan(4);
    expect(await selection()).toEqual(wanted);
    expect(await page.getByRole("status").textContent()).toContain(`${wanted.length} of 400 selected`);
    expect(await page.textContent(".samples h3")).toBe(`Selected samples (${wanted.length})`);
    const numbers = await page.locator(".samples tbody tr td:first-child").allTextContents();
    expect(numbers).toEqual(wanted.map((i) => String(i + 1)));
    const after = await tare(page, (t) => t.renders);
    expect(after["sequence"]!.chosen).toBeGreaterThan(before["sequence"]!.chosen);
    expect(after["histogram"]!.axes).toBeGreaterThan(before["histogram"]!.axes);
    const mean = wanted.reduce((sum, i) => sum + et(i), 0) / wanted.length;
    expect(await page.getByRole("status").textContent()).toContain(`mean ${(mean / 1e6).toFixed(0)} ms`);
    await page.keyboard.press("Escape");
    await frames(page);
    expect(await selection()).toEqual([]);
    await end();
  });
  it("by the sequence, the histogram, and in addition", async () => {
    await start(run(200));
    await drag(page, "sequence", [10.5, 280e6], [20.5, 600e6]);
    expect(await selection()).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    await page.keyboard.down("Control");
    await drag(page, "sequence", [30.5, 280e6], [32.5, 600e6]);
    await page.keyboard.up("Control");
    expect((await selection()).slice(-2)).toEqual([30, 31]);
    await drag(page, "histogram", [400e6, 1], [500e6, 2]);
    const wanted = first().samples.number.flatMap((_, i) => (et(i) >= 400e6 && et(i) <= 500e6 ? [i] : []));
    expect(wanted.length).toBeGreaterThan(0);
    expect(await selection()).toEqual(wanted);
    await end();
  });
  it("by a row of a table, with pointer and Enter, and marks the rows", async () => {
    await start(run(200));
    const rows = page.locator(".given").first().locator("tbody tr");
    await rows.nth(0).click();
    await frames(page);
    const daemons = first().tables[0]!.rows;
    expect(await selection()).toEqual(daemons[0]!.samples);
    expect(await rows.nth(0).getAttribute("data-mark")).toBe("all");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await frames(page);
    expect(await selection()).toEqual(daemons[1]!.samples);
    expect(await rows.nth(1).getAttribute("data-mark")).toBe("all");
    expect(await rows.nth(0).getAttribute("data-mark")).not.toBe("all");
    await end();
  });
  it("by the name of a daemon", async () => {
    await start(run(200));
    await page.getByRole("searchbox").fill("JOURNAL");
    await frames(page);
    const wanted = first().tables[0]!.rows.find((r) => r.cells[0]!.includes("journal"))!.samples;
    expect(await selection()).toEqual(wanted);
    await page.getByRole("searchbox").fill("");
    await frames(page);
    expect(await selection()).toEqual([]);
    await end();
  });
  it("leaves out a class that is switched off", async () => {
    await start(run(200));
    await page.locator(".legend .entry").nth(1).click();
    await drag(page, "sequence", [0.2, 280e6], [199.8, 650e6]);
    const kinds = new Set((await selection()).map((i) => first().samples.class[i]));
    expect(kinds.has(1)).toBe(false);
    expect(kinds.has(0)).toBe(true);
    await end();
  });
});

describe("details", () => {
  it("of a hovered pair name the daemons of both samples with their time", async () => {
    await start(run(400));
    const { odd, even } = dual();
    const p = odd.findIndex((o, i) => et(o) > 380e6 && et(even[i]!) < 310e6);
    const at = await place(page, "scatter", et(odd[p]!), et(even[p]!));
    const before = await tare(page, (t) => t.renders);
    await page.mouse.move(at.x - 3, at.y - 3);
    await page.mouse.move(at.x, at.y);
    await frames(page);
    expect(await tare(page, (t) => t.focus)).toEqual({ sample: odd[p], partner: even[p] });
    for (const part of [".tooltip", ".details"]) {
      const text = await page.locator(part).textContent();
      expect(text).toContain(`Sample ${odd[p]! + 1}`);
      expect(text).toContain(`Sample ${even[p]! + 1}`);
      expect(text).toContain("updatedb");
    }
    for (const i of [odd[p]!, even[p]!]) {
      const ran = first().samples.executions[i]!;
      for (let k = 0; k < ran.length; k += 2) {
        const row = page
          .locator(".details table")
          .nth(1)
          .locator("tr", { has: page.getByText(first().samples.daemons[ran[k]!]!, { exact: true }) });
        const exact = await row
          .locator("td")
          .nth(i === odd[p] ? 0 : 1)
          .getAttribute("title");
        expect(exact?.replace(/\D/g, "")).toBe(String(ran[k + 1]));
      }
    }
    expect(await page.locator(".details .account").count()).toBe(2);
    expect(await page.locator(".details .account .sum").first().textContent()).toMatch(/gross .* = net .* \+ tare /);
    // Pointing at things draws no chart anew.
    expect(await tare(page, (t) => t.renders)).toEqual(before);
    await end();
  });
  it("follow the keyboard", async () => {
    await start(run(100));
    await page.locator(".chart.sequence").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await frames(page);
    expect(await tare(page, (t) => t.focus)).toEqual({ sample: 1, partner: -1 });
    expect(await page.textContent(".details")).toContain("Sample 2");
    await page.keyboard.press("Enter");
    expect(await selection()).toEqual([1]);
    await page.keyboard.press("End");
    expect(await tare(page, (t) => t.focus.sample)).toBe(99);
    await page.keyboard.press("Home");
    expect(await tare(page, (t) => t.focus.sample)).toBe(0);
    await page.keyboard.press("Escape");
    expect(await selection()).toEqual([]);
    await page.locator(".chart.scatter").focus();
    await page.keyboard.press("ArrowRight");
    expect(await tare(page, (t) => t.focus)).toEqual({ sample: 2, partner: 3 });
    await page.keyboard.press("Enter");
    expect(await selection()).toEqual([2, 3]);
    await end();
  });
  it("follow the rows of the table of samples", async () => {
    await start(run(300));
    await page.locator(".samples tbody tr").nth(4).focus();
    expect(await tare(page, (t) => t.focus.sample)).toBe(4);
    await page.keyboard.press("ArrowDown");
    expect(await tare(page, (t) => t.focus.sample)).toBe(5);
    await page.locator(".samples").getByRole("button", { name: "ET [ms]", exact: true }).click();
    await page.locator(".samples").getByRole("button", { name: "ET [ms]", exact: true }).click();
    await page.locator(".samples tbody tr").first().click();
    const longest = first()
      .samples.number.map((_, i) => i)
      .sort((a, b) => et(b) - et(a))[0];
    expect(await tare(page, (t) => t.focus.sample)).toBe(longest);
    await page.getByRole("button", { name: "last page" }).click();
    expect(await page.textContent(".samples .pager")).toContain("201–300 of 300");
    await end();
  });
});

describe("many samples", () => {
  /** Frames with wheel and brush, and what was drawn for them. */
  const work = (): Promise<Record<string, { axes: number; points: number; chosen: number }>> =>
    page.evaluate(async () => {
      const host = document.querySelector<HTMLElement>(".chart.scatter")!;
      const frame = host.getBoundingClientRect();
      const spot = { clientX: frame.left + 200, clientY: frame.top + 200, bubbles: true, cancelable: true };
      const next = (): Promise<number> => new Promise(requestAnimationFrame);
      const before = window.tare.renders;
      for (let i = 0; i < 20; i++) {
        // Several events a frame are one drawing.
        for (let k = 0; k < 5; k++) host.dispatchEvent(new WheelEvent("wheel", { ...spot, deltaY: -8 }));
        await next();
      }
      await next();
      const after = window.tare.renders;
      const names = Object.keys(after);
      return Object.fromEntries(
        names.map((n) => [
          n,
          {
            axes: after[n]!.axes - before[n]!.axes,
            points: after[n]!.points - before[n]!.points,
            chosen: after[n]!.chosen - before[n]!.chosen,
          },
        ]),
      );
    });
  it("are drawn once a frame, and only where something changed, for 10,000 as for 1,000", async () => {
    const drawn = [];
    for (const n of [1000, 10_000]) {
      await start(profile(n));
      drawn.push(await work());
      await end();
    }
    for (const counts of drawn) {
      expect(counts["scatter"]!.axes).toBeLessThanOrEqual(22);
      expect(counts["scatter"]!.points).toBeLessThanOrEqual(22);
      expect(counts["sequence"]).toEqual({ axes: 0, points: 0, chosen: 0 });
      expect(counts["histogram"]).toEqual({ axes: 0, points: 0, chosen: 0 });
    }
    expect(drawn[1]).toEqual(drawn[0]);
  });
  it("are selected without drawing all of them anew", async () => {
    await start(profile(10_000));
    const { x, y } = (await tare(page, (t) => t.ranges))["scatter"]!;
    const at = (share: number): [number, number] => [x[0] + (x[1] - x[0]) * share, y[0] + (y[1] - y[0]) * share];
    const before = await tare(page, (t) => t.renders);
    await drag(page, "scatter", at(0.01), at(0.5));
    const after = await tare(page, (t) => t.renders);
    expect((await selection()).length).toBeGreaterThan(1000);
    // Once, as the others turn pale beside the first selected ones.
    expect(after["scatter"]!.points - before["scatter"]!.points).toBeLessThanOrEqual(1);
    expect(after["scatter"]!.axes).toBe(before["scatter"]!.axes);
    expect(after["sequence"]!.axes).toBe(before["sequence"]!.axes);
    await end();
  });
  it("may be 100,000", async () => {
    await start(profile(100_000));
    const { x, y } = (await tare(page, (t) => t.ranges))["scatter"]!;
    const area: [number, number] = [x[0] + (x[1] - x[0]) * 0.2, x[0] + (x[1] - x[0]) * 0.6];
    const high: [number, number] = [y[0], y[0] + (y[1] - y[0]) * 0.15];
    await drag(page, "scatter", [area[0], high[0]], [area[1], high[1]]);
    const wanted = pairsIn(area, high).sort((a, b) => a - b);
    expect(wanted.length).toBeGreaterThan(100);
    expect(await selection()).toEqual(wanted);
    expect(await page.locator(".samples tbody tr").count()).toBe(100);
    await end();
  });
});
