// Programs that ran together: the plot of each pair's ratios, and the table of the pairs.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch } from "../chromium";
import { HOSTILE, run } from "../fixtures";
import { duets, overviewWith } from "../together";
import { type Opened, frames, open, tare } from "./open";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const page = (titles: string[], n = 24): unknown => ({ ...run(40), overview: overviewWith(titles, n) });

const clean = ({ troubles, requests }: Opened): void => {
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
};

async function at(on: Page, id: string, x: number, y: number): Promise<{ x: number; y: number }> {
  await on.locator(`[data-figure="${id}"]`).scrollIntoViewIfNeeded();
  return on.evaluate(([i, a, b]) => window.tare.curves.find((c) => c.id === i)!.place(a, b), [id, x, y] as const);
}

/** How many pixels around a place are not of the ground. */
async function inked(on: Page, id: string, x: number, y: number): Promise<number> {
  const spot = await at(on, id, x, y);
  return on.evaluate(
    ([i, px, py]) => {
      const canvas = document.querySelector<HTMLCanvasElement>(`[data-figure="${i}"] canvas`)!;
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true })!;
      copy.drawImage(canvas, 0, 0);
      const box = canvas.getBoundingClientRect();
      const scale = canvas.width / box.width;
      const [left, top] = [Math.round((px - box.left) * scale) - 2, Math.round((py - box.top) * scale) - 2];
      const { data } = copy.getImageData(left, top, 5, 5);
      let n = 0;
      for (let p = 3; p < data.length; p += 4) if (data[p]! > 200) n += 1;
      return n;
    },
    [id, spot.x, spot.y] as const,
  );
}

it("stand between the answer and the programs, with a table of the pairs", async () => {
  const opened = await open(browser, page(["new"]));
  const top = async (what: string): Promise<number> => (await opened.page.locator(what).first().boundingBox())!.y;
  expect(await top(".duets")).toBeGreaterThan(await top(".overview"));
  expect(await top(".duets")).toBeLessThan(await top(".tabs"));
  const table = opened.page.getByRole("table", { name: "Pairs of programs" });
  expect(await table.locator("tbody tr").count()).toBe(1);
  expect(await table.innerText()).toContain("1.0100");
  expect(await tare(opened.page, (t) => t.curves.map((c) => c.id))).toEqual(["duets-2"]);
  clean(opened);
  await opened.close();
});

it("are points around the estimate", async () => {
  const opened = await open(browser, page(["new"]));
  const [points] = duets(["new"]).figures[0]!.curves;
  for (const i of [0, 7, 23]) expect(await inked(opened.page, "duets-2", i + 1, points!.y[i]!)).toBeGreaterThan(8);
  const most = points!.y.indexOf(Math.max(...points!.y));
  expect(await inked(opened.page, "duets-2", most + 1, points!.y[most]!)).toBeGreaterThan(8);
  clean(opened);
  await opened.close();
});

it("say their values to pointers and to keys", async () => {
  const opened = await open(browser, page(["new"]));
  const [points] = duets(["new"]).figures[0]!.curves;
  const spot = await at(opened.page, "duets-2", 5, points!.y[4]!);
  await opened.page.mouse.move(spot.x + 1, spot.y - 1);
  await frames(opened.page);
  const card = opened.page.locator(".duets .tooltip");
  expect(await card.isVisible()).toBe(true);
  expect(await card.textContent()).toContain("a duet");
  await opened.page.locator('[data-figure="duets-2"]').focus();
  await opened.page.keyboard.press("Home");
  const said = opened.page.locator(".duets [role=status]");
  expect(await said.textContent()).toContain("a duet: 1,");
  await opened.page.keyboard.press("ArrowDown");
  expect(await said.textContent()).toContain("estimate: 1, 1.0100, [1.0080, 1.0120]");
  await opened.page.keyboard.press("Escape");
  expect(await tare(opened.page, (t) => t.curves[0]!.focus)).toBeNull();
  clean(opened);
  await opened.close();
});

it("of many pairs are shown one at a time", async () => {
  const titles = Array.from({ length: 9 }, (_, i) => `program ${i}`);
  const opened = await open(browser, page(titles));
  expect(await tare(opened.page, (t) => t.curves.map((c) => c.id))).toEqual(["duets-2"]);
  const select = opened.page.getByLabel("pair", { exact: true });
  await select.selectOption({ label: "program 7" });
  await frames(opened.page);
  expect(await tare(opened.page, (t) => t.curves.map((c) => c.id))).toEqual(["duets-9"]);
  expect(await opened.page.locator(".duets figure").count()).toBe(1);
  expect(await opened.page.locator(".duets table").first().locator("tbody tr").count()).toBe(9);
  clean(opened);
  await opened.close();
});

it("show hostile names as text, in the dark, narrow, and as many points as there may be", async () => {
  const options = { colorScheme: "dark" as const, viewport: { width: 420, height: 900 } };
  const opened = await open(browser, page([...HOSTILE.slice(0, 3)], 3333), options);
  const text = await opened.page.locator(".duets").evaluate((e) => e.textContent);
  for (const name of HOSTILE.slice(0, 3)) expect(text).toContain(name);
  expect(await opened.page.evaluate(() => window.hacked)).toBeUndefined();
  expect(await opened.page.locator(".duets img, .duets script").count()).toBe(0);
  expect(await opened.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(420);
  clean(opened);
  await opened.close();
});

it("are light on paper, each plot in one picture", async () => {
  const opened = await open(browser, page(["a", "b"]), { colorScheme: "dark" });
  await opened.page.emulateMedia({ media: "print", colorScheme: "dark" });
  await frames(opened.page);
  expect(await opened.page.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
  expect(await opened.page.locator(".duets .chart .copy").count()).toBe(2);
  clean(opened);
  await opened.close();
});

it("with missing values are refused in one sentence", async () => {
  const broken = overviewWith(["a"]);
  broken.duets!.figures[0]!.curves[0]!.y.pop();
  const opened = await open(browser, { ...run(6), overview: broken });
  expect(await opened.page.locator("[role=alert]").textContent()).toContain(
    "its duets have a curve with missing values",
  );
  await opened.close();
});
