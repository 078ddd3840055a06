// The time on the quiet machine: its value, its parts as bars, its doubts, and the plots of samples and probes.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch } from "../chromium";
import { HOSTILE } from "../fixtures";
import { quiet, quieted } from "../quieted";
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

const ids = (page: Page): Promise<string[]> => tare(page, (t) => t.curves.map((c) => c.id));

it("is a section of its program, below the samples", async () => {
  const opened = await open(browser, quieted());
  const section = opened.page.locator("section.quiet-time");
  expect(await section.count()).toBe(1);
  expect(await section.locator(".answer").textContent()).toContain("286.40 ms");
  const top = async (what: string): Promise<number> => (await opened.page.locator(what).first().boundingBox())!.y;
  expect(await top("section.quiet-time")).toBeGreaterThan(await top(".views"));
  expect(await ids(opened.page)).toEqual(["quiet-samples-1", "quiet-course-1"]);
  expect(await opened.page.getByRole("table", { name: "Correction" }).innerText()).toContain("294.10 ms");
  clean(opened);
  await opened.close();
});

it("draws what each cause takes from the time to the left, and what it adds to the right", async () => {
  const opened = await open(browser, quieted());
  const boxes = await opened.page.locator(".quiet-time .parts li").evaluateAll((rows) =>
    rows.map((row) => {
      const [bar, track] = [".bar", ".track"].map((name) => row.querySelector(name)!.getBoundingClientRect());
      const middle = track!.left + track!.width / 2;
      return { left: bar!.left - middle, right: bar!.right - middle, share: row.lastElementChild!.textContent };
    }),
  );
  expect(boxes.map((b) => b.share)).toEqual(["−1.9 %", "−0.7 %", "+0.2 %"]);
  const [clock, sibling, other] = boxes.map((b) => ({ left: Math.round(b.left), right: Math.round(b.right) }));
  expect([clock!.right, sibling!.right, other!.left]).toEqual([0, 0, 0]);
  expect(clock!.left).toBeLessThan(sibling!.left);
  expect(other!.right).toBeGreaterThan(0);
  clean(opened);
  await opened.close();
});

it("says the values of its plots to keys, and ends pointing with Escape", async () => {
  const opened = await open(browser, quieted());
  await opened.page.locator('[data-figure="quiet-samples-1"]').focus();
  await opened.page.keyboard.press("Home");
  const said = opened.page.locator(".quiet-time [role=status]");
  expect(await said.textContent()).toContain("as measured: 1,");
  await opened.page.keyboard.press("ArrowDown");
  expect(await said.textContent()).toContain("corrected: 1,");
  await opened.page.keyboard.press("Escape");
  expect(await tare(opened.page, (t) => t.curves[0]!.focus)).toBeNull();
  clean(opened);
  await opened.close();
});

it("goes with its program, and comes back with it", async () => {
  const opened = await open(browser, quieted());
  await opened.page.getByRole("tab", { name: "xz" }).click();
  await frames(opened.page);
  expect(await opened.page.locator("section.quiet-time").count()).toBe(0);
  expect(await ids(opened.page)).toEqual([]);
  await opened.page.getByRole("tab", { name: "gzip" }).click();
  await frames(opened.page);
  expect(await ids(opened.page)).toEqual(["quiet-samples-1", "quiet-course-1"]);
  clean(opened);
  await opened.close();
});

it("shows hostile names as text, narrow, in the dark, with as many points as there may be", async () => {
  const options = { colorScheme: "dark" as const, viewport: { width: 420, height: 900 } };
  const opened = await open(browser, quieted(quiet(4000, 4000)), options);
  const text = await opened.page.locator(".quiet-time").evaluate((e) => e.textContent);
  for (const name of HOSTILE.slice(0, 2)) expect(text).toContain(name);
  expect(await opened.page.evaluate(() => window.hacked)).toBeUndefined();
  expect(await opened.page.locator(".quiet-time img, .quiet-time script").count()).toBe(0);
  expect(await opened.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(420);
  clean(opened);
  await opened.close();
});

it("without a correction has no bars and no doubts", async () => {
  const refused = { ...quiet(), answer: "The CPU time is not corrected: the machine was never seen quiet." };
  const opened = await open(browser, quieted({ ...refused, parts: [], doubts: [], figures: [], tables: [] }));
  const section = opened.page.locator("section.quiet-time");
  expect(await section.textContent()).toContain("never seen quiet");
  expect(await section.locator(".parts, .remarks, figure, table").count()).toBe(0);
  clean(opened);
  await opened.close();
});

it("is light on paper, each plot in one picture", async () => {
  const opened = await open(browser, quieted(), { colorScheme: "dark" });
  await opened.page.emulateMedia({ media: "print", colorScheme: "dark" });
  await frames(opened.page);
  expect(await opened.page.locator(".quiet-time .chart .copy").count()).toBe(2);
  clean(opened);
  await opened.close();
});
