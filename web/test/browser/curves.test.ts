// The page of noise: its figures by pointer and keyboard, their scales and values, names as text, light, dark, narrow, paper.

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TareApi } from "../../src/api";
import { launch } from "../chromium";
import { HOSTILE } from "../fixtures";
import { distribution, noise } from "../noises";
import { type Opened, frames, open, tare } from "./open";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const clean = ({ troubles, requests }: Opened): void => {
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
};

/** A picture for people to look at, if a folder is named. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["TARE_PICTURES"];
  if (!folder) return;
  mkdirSync(dirname(`${folder}/${name}`), { recursive: true });
  await page.screenshot({ path: `${folder}/${name}`, fullPage: true });
}

type Shown = Omit<TareApi["curves"][number], "place">;

async function shown(page: Page, id: string): Promise<Shown> {
  const all = await tare(page, (t) => t.curves.map(({ id, view, focus }) => ({ id, view, focus })));
  const found = all.find((c) => c.id === id);
  expect(found).toBeDefined();
  return found!;
}

async function at(page: Page, id: string, x: number, y: number): Promise<{ x: number; y: number }> {
  await page.locator(`[data-figure="${id}"]`).scrollIntoViewIfNeeded();
  return page.evaluate(([i, a, b]) => window.tare.curves.find((c) => c.id === i)!.place(a, b), [id, x, y] as const);
}

/** How many pixels of a figure are not of its ground. */
async function inked(page: Page, id: string): Promise<number> {
  return page.evaluate((i) => {
    const canvas = document.querySelector<HTMLCanvasElement>(`[data-figure="${i}"] canvas`)!;
    // Read from a copy: the page's own is not made for it, and the browser would say so.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let n = 0;
    for (let p = 3; p < data.length; p += 4) if (data[p]! > 0) n += 1;
    return n;
  }, id);
}

const IDS = ["distribution", "survival", "delayed", "slowdown"].map((what) => `grain-10us-${what}`);

describe("noise", () => {
  it("shows its figures and tables, without a word on the console or to the network", async () => {
    const opened = await open(browser, noise());
    const { page } = opened;
    expect(await page.textContent("h1")).toBe("Noise n1: 10us,1ms on CPU 1");
    expect(await tare(page, (t) => t.curves.map((c) => c.id))).toEqual(IDS);
    for (const id of IDS) expect(await inked(page, id)).toBeGreaterThan(3000);
    expect(await page.locator("table.data").count()).toBe(2);
    // Table 2 comes before the figures.
    const first = await page.locator("section.whole").boundingBox();
    expect(first!.y).toBeLessThan((await page.locator(`[data-figure="${IDS[0]}"]`).boundingBox())!.y);
    await picture(page, "noise-light.png");
    clean(opened);
    await opened.close();
  });
  it("shows the body first, and everything when it is asked for", async () => {
    const opened = await open(browser, noise());
    const { page } = opened;
    const id = IDS[0]!;
    const body = await shown(page, id);
    expect(body.view.x[1]).toBeLessThan(10_200);
    await page.locator(`[data-figure="${id}"]`).focus();
    await page.keyboard.press("0");
    await frames(page);
    expect((await shown(page, id)).view.x[1]).toBeGreaterThan(100_000);
    await page.getByRole("button", { name: "first view" }).click();
    await frames(page);
    expect((await shown(page, id)).view).toEqual(body.view);
    clean(opened);
    await opened.close();
  });
  it("says the value and the interval below the pointer", async () => {
    const opened = await open(browser, noise());
    const { page } = opened;
    const spot = await at(page, "grain-10us-slowdown", 10_000, 4);
    await page.mouse.move(spot.x + 3, spot.y - 2);
    await frames(page);
    expect((await shown(page, "grain-10us-slowdown")).focus).toEqual([10_000, 4]);
    const card = page.locator(".tooltip");
    expect(await card.isVisible()).toBe(true);
    const text = await card.textContent();
    for (const says of ["extrapolated", "10\u202f000", "4.0000", "[3.0000, 7.0000]"]) expect(text).toContain(says);
    // The last one has no upper bound.
    const last = await at(page, "grain-10us-slowdown", 1_000_000, 30);
    await page.mouse.move(last.x, last.y);
    await frames(page);
    expect(await card.textContent()).toContain("8.0000 and more");
    await page.mouse.move(5, 5);
    expect(await card.isVisible()).toBe(false);
    clean(opened);
    await opened.close();
  });
  it("zooms by wheel and into what is dragged over, and back", async () => {
    const opened = await open(browser, noise());
    const { page } = opened;
    const id = "grain-10us-delayed";
    const whole = (await shown(page, id)).view;
    const spot = await at(page, id, 1000, 0.5);
    await page.mouse.move(spot.x, spot.y);
    await page.mouse.wheel(0, -400);
    await frames(page);
    const zoomed = (await shown(page, id)).view;
    expect(zoomed.x[1] / zoomed.x[0]).toBeLessThan((whole.x[1] / whole.x[0]) * 0.5);
    // What is below the pointer stays there.
    expect(Math.abs((await at(page, id, 1000, 0.5)).x - spot.x)).toBeLessThan(1);
    const [from, to] = [await at(page, id, 300, 0.9), await at(page, id, 3000, 0.2)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
    await frames(page);
    const { x, y } = (await shown(page, id)).view;
    expect(x[0]).toBeGreaterThan(280);
    expect(x[1]).toBeLessThan(3300);
    expect(y[0]).toBeCloseTo(0.2, 1);
    expect(y[1]).toBeCloseTo(0.9, 1);
    await page.mouse.dblclick(spot.x, spot.y);
    await frames(page);
    expect((await shown(page, id)).view).toEqual(whole);
    clean(opened);
    await opened.close();
  });
  it("is gone through with the keyboard, and says what it shows", async () => {
    const opened = await open(browser, noise());
    const { page } = opened;
    const id = "grain-10us-slowdown";
    const said = page.locator(".part [role=status]");
    await page.locator(`[data-figure="${id}"]`).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    expect((await shown(page, id)).focus).toEqual([10, 1.51]);
    expect(await said.textContent()).toContain("measured: 10, 1.5100, [1.4000, 1.6000]");
    await page.keyboard.press("ArrowDown");
    expect((await shown(page, id)).focus).toEqual([1000, 2.51]);
    await page.keyboard.press("End");
    expect((await shown(page, id)).focus).toEqual([1_000_000, 30]);
    await page.keyboard.press("Escape");
    expect((await shown(page, id)).focus).toBeNull();
    clean(opened);
    await opened.close();
  });
  it("has other scales, curves that can be hidden, and a table of the values", async () => {
    const opened = await open(browser, noise());
    const { page } = opened;
    const figure = page.locator("figure", { has: page.locator('[data-figure="grain-10us-distribution"]') });
    const y = figure.getByRole("group", { name: "y" });
    await y.getByRole("button", { name: "linear" }).click();
    await frames(page);
    expect((await shown(page, "grain-10us-distribution")).view.y[0]).toBeLessThan(0);
    await y.getByRole("button", { name: "log odds" }).click();
    await frames(page);
    const before = await inked(page, "grain-10us-survival");
    const other = page.locator("figure", { has: page.locator('[data-figure="grain-10us-survival"]') });
    await other.locator(".legend .entry").nth(0).click();
    await frames(page);
    expect(await inked(page, "grain-10us-survival")).toBeLessThan(before);
    await figure.locator("summary").click();
    const rows = figure.getByRole("table").locator("tbody tr");
    // The table is made when the browser reports the toggle, after the click.
    await rows.first().waitFor();
    expect(await rows.count()).toBe(12);
    await rows.nth(2).click();
    const [value] = (await shown(page, "grain-10us-distribution")).focus!;
    expect(value).toBe(distribution(1e4)[2]![0]);
    await picture(page, "noise-values.png");
    clean(opened);
    await opened.close();
  });
  it("shows one grain at a time, by name", async () => {
    const opened = await open(browser, noise(), {}, "#grain-1ms");
    const { page } = opened;
    expect(await tare(page, (t) => t.plot)).toBe("grain-1ms");
    await page.getByRole("tab", { name: "Grain 10 µs" }).click();
    await frames(page);
    expect(await tare(page, (t) => t.curves.map((c) => c.id))).toEqual(IDS);
    expect(await page.locator("figure").count()).toBe(4);
    clean(opened);
    await opened.close();
  });
  it("shows hostile names as text, in the dark and narrow", async () => {
    const opened = await open(browser, noise(), { colorScheme: "dark", viewport: { width: 420, height: 900 } });
    const { page } = opened;
    expect(await page.locator(".tables").last().textContent()).toContain(`preempted by ${HOSTILE[0]}`);
    expect(await page.locator(".legend").nth(1).textContent()).toContain(HOSTILE[1]!);
    const spot = await at(page, "grain-10us-survival", 10, 0.5);
    await page.mouse.move(spot.x, spot.y);
    await frames(page);
    expect(await page.evaluate(() => window.hacked)).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("main script").count()).toBe(0);
    // Nothing is wider than the window.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(420);
    await picture(page, "noise-dark-narrow.png");
    clean(opened);
    await opened.close();
  });
  it("is light on paper, each chart in one picture", async () => {
    const opened = await open(browser, noise(), { colorScheme: "dark" });
    const { page } = opened;
    await picture(page, "noise-dark.png");
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await frames(page);
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
    expect(await page.locator(".chart .copy").count()).toBe(4);
    await picture(page, "noise-print.png");
    clean(opened);
    await opened.close();
  });
  it("that has nothing says so", async () => {
    const opened = await open(browser, { ...noise(), parts: [] });
    expect(await opened.page.locator("p.instead").textContent()).toContain("nothing to plot");
    clean(opened);
    await opened.close();
  });
  it("with a curve with missing values is refused in one sentence", async () => {
    const broken = noise();
    broken.parts![0]!.figures[0]!.curves[0]!.y.pop();
    const opened = await open(browser, broken);
    expect(await opened.page.locator("[role=alert]").textContent()).toContain("part 1 has a curve with missing values");
    await opened.close();
  });
});
