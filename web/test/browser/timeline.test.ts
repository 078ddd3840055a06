// The page of a trace: its timeline by pointer and keyboard, names as text, light and dark.

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Timeline } from "../../src/data";
import { launch } from "../chromium";
import { HOSTILE } from "../fixtures";
import { timeline, trace } from "../timelines";
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

const span = async (page: Page): Promise<number> => tare(page, (t) => t.timeline!.range[1] - t.timeline!.range[0]);

/** A picture for people to look at, if a folder is named. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["TARE_PICTURES"];
  if (!folder) return;
  mkdirSync(dirname(`${folder}/${name}`), { recursive: true });
  await page.screenshot({ path: `${folder}/${name}`, fullPage: true });
}

describe("a trace", () => {
  it("shows its timeline, its causes and its periods, without a word on the console or to the network", async () => {
    const opened = await open(browser, trace(timeline(200)));
    const { page } = opened;
    expect(await page.textContent("h1")).toBe("Activity on CPU 1");
    expect(await page.locator(".chart.timeline canvas").count()).toBe(1);
    expect(await page.locator(".legend .entry").count()).toBe(3);
    expect(await page.locator("table.data").count()).toBe(2);
    expect(await tare(page, (t) => t.timeline!.drawn)).toBe(timeline(200).start.length);
    expect(await tare(page, (t) => t.timeline!.range)).toEqual([0, 200e6]);
    await picture(page, "trace-light.png");
    clean(opened);
    await opened.close();
  });
  it("zooms by wheel, buttons and keys, and back", async () => {
    const opened = await open(browser, trace(timeline(200)));
    const { page } = opened;
    const at = await page.evaluate(() => window.tare.timeline!.place(90e6));
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, -600);
    await frames(page);
    const zoomed = await tare(page, (t) => t.timeline!.range);
    expect(zoomed[1] - zoomed[0]).toBeLessThan(150e6);
    // What is below the pointer stays there.
    const after = await page.evaluate(() => window.tare.timeline!.place(90e6));
    expect(Math.abs(after.x - at.x)).toBeLessThan(1);
    await page.getByRole("button", { name: "+", exact: true }).click();
    await frames(page);
    expect(await span(page)).toBeLessThan(zoomed[1] - zoomed[0]);
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await page.mouse.move(at.x + 200, at.y, { steps: 4 });
    await page.mouse.up();
    await frames(page);
    expect((await tare(page, (t) => t.timeline!.range))[0]).toBeLessThan(zoomed[0] + 20e6);
    await page.locator(".chart.timeline").focus();
    await page.keyboard.press("-");
    await page.keyboard.press("0");
    await frames(page);
    expect(await span(page)).toBe(200e6);
    clean(opened);
    await opened.close();
  });
  it("is gone through with the keyboard, and says what it shows", async () => {
    const opened = await open(browser, trace(timeline(200)));
    const { page } = opened;
    await page.locator(".chart.timeline").focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
    expect(await tare(page, (t) => t.timeline!.focus)).toBe(3);
    const said = page.locator(".trace [role=status]");
    expect(await said.textContent()).toContain(`Inactive period 4 of ${timeline(200).start.length}: preempted by`);
    await page.keyboard.press("Enter");
    await frames(page);
    expect(await span(page)).toBeLessThan(20e6);
    const [low, high] = await tare(page, (t) => t.timeline!.range);
    expect(low).toBeLessThan(9e6);
    expect(high).toBeGreaterThan(12e6);
    await picture(page, "trace-zoomed.png");
    await page.keyboard.press("End");
    await frames(page);
    expect(await tare(page, (t) => t.timeline!.range[1])).toBeGreaterThan(190e6);
    await page.keyboard.press("Escape");
    expect(await tare(page, (t) => t.timeline!.focus)).toBe(-1);
    clean(opened);
    await opened.close();
  });
  it("hides causes, and finds periods by its table", async () => {
    const opened = await open(browser, trace(timeline(200)));
    const { page } = opened;
    const before = await tare(page, (t) => t.timeline!.drawn);
    await page.locator(".legend .entry").nth(1).click();
    await frames(page);
    expect(await tare(page, (t) => t.timeline!.drawn)).toBeLessThan(before);
    const table = page.getByRole("table", { name: "Inactive periods", exact: true });
    await table.getByRole("button", { name: "lasts" }).click();
    await table.getByRole("button", { name: "lasts" }).click();
    await table.locator("tbody tr").first().click();
    await frames(page);
    const gap = await tare(page, (t) => t.timeline!.focus);
    expect(timeline(200).duration[gap]).toBe(3e6);
    expect(await span(page)).toBeLessThan(20e6);
    clean(opened);
    await opened.close();
  });
  it("says what is below the pointer, hostile names as text", async () => {
    const opened = await open(browser, trace(timeline(100)), { colorScheme: "dark" });
    const { page } = opened;
    const at = await page.evaluate(() => window.tare.timeline!.place(10.5e6));
    await page.mouse.move(at.x, at.y);
    await frames(page);
    const card = page.locator(".tooltip");
    expect(await card.isVisible()).toBe(true);
    expect(await card.textContent()).toContain(HOSTILE[1]!);
    expect(await card.textContent()).toContain("3.00 ms");
    // The lane of the other tasks.
    await page.mouse.move(at.x, at.y + 50);
    await frames(page);
    expect(await card.textContent()).toContain(`${HOSTILE[1]} (pid 77)`);
    await picture(page, "trace-dark.png");
    expect(await page.evaluate(() => window.hacked)).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("main script").count()).toBe(0);
    expect(await page.locator(".legend").textContent()).toContain(HOSTILE[0]!);
    clean(opened);
    await opened.close();
  });
  it("without the kernel's record has no lanes for it", async () => {
    const opened = await open(browser, trace(timeline(100, false)));
    const { page } = opened;
    expect(await page.locator(".legend").textContent()).toContain("another process");
    const [less, more] = [page.locator(".chart.timeline"), 200];
    expect((await less.boundingBox())!.height).toBeLessThan(more);
    clean(opened);
    await opened.close();
  });
  const empty = (length: number): Timeline => ({
    ...timeline(0),
    length,
    ...{ causes: [], start: [], duration: [], cause: [], words: [], ticks: [] },
  });
  it.each([
    ["nothing", empty(0)],
    ["no periods", empty(5e7)],
    ["many", timeline(200_000)],
  ])("with %s", async (_, of) => {
    const opened = await open(browser, trace(of));
    const { page } = opened;
    await page.locator(".chart.timeline").focus();
    for (const key of ["ArrowRight", "Enter", "End", "+", "0", "ArrowLeft"]) await page.keyboard.press(key);
    await frames(page);
    clean(opened);
    await opened.close();
  });
  it("fits a window of 360 pixels, and paper", async () => {
    const opened = await open(browser, trace(timeline(100)), { viewport: { width: 360, height: 700 } });
    const { page } = opened;
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide).toBe(0);
    await page.emulateMedia({ media: "print" });
    await frames(page);
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
    expect(await page.locator(".chart.timeline canvas").isVisible()).toBe(true);
    clean(opened);
    await opened.close();
  });
});
