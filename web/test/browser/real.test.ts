// Pages that the command itself wrote, of real runs with hostile names.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Page as PageData } from "../../src/data";
import { launch } from "../chromium";
import { openHtml, tare } from "./open";

const HOSTILE = `<script>window.hacked = 1</script>"><img src=x onerror="window.hacked = 2">`;
const command = process.env["TARE"] ?? resolve(import.meta.dirname, "../../../target/debug/tare");
const folder = mkdtempSync(join(tmpdir(), "tare-web-"));
let browser: Browser;

function run(...args: string[]): string {
  const env = { ...process.env, TARE_DB: join(folder, "tare.db"), TARE_CALIBRATION: folder };
  return execFileSync(command, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

beforeAll(async () => {
  browser = await launch();
  run("run", "-r", "20", "--style", "none", "-n", HOSTILE, "-n", "true", `${command} inc 0.01 --quiet`, "true");
  run("profile", "--short", "0.01sx20", "--long", "0.03sx12", "--name", HOSTILE, "--style", "none");
});

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

function written(...args: string[]): string {
  const file = join(folder, "page.html");
  run("report", ...args, "-o", file);
  return readFileSync(file, "utf8");
}

test("a run's page shows its programs, its samples and nothing else", async () => {
  const html = written("1");
  const { page, troubles, requests, close } = await openHtml(browser, html);
  expect(await page.title()).toContain("Run 1");
  expect(await page.getByRole("tab").allInnerTexts()).toEqual([HOSTILE, "true"]);
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("img").count()).toBe(0);
  // As many samples as the store has, and the figures that the terminal shows.
  await page.getByPlaceholder("part of its name").fill("tare");
  await expect.poll(() => tare(page, (t) => t.selection.length)).toBeGreaterThan(0);
  const shown = run("show", "1", "--json");
  const mean = (JSON.parse(shown) as { report: { series: { pt: { value: { mean: number } } }[] } }).report.series[0];
  const first = Number((mean?.pt.value.mean ?? 0) / 1e6).toPrecision(3);
  const figures = page.locator("table", { hasText: "relative error" });
  await expect.poll(() => figures.locator("tr", { hasText: "PT" }).first().innerText()).toContain(first);
  // It opens with the comparison, by the figures of the report.
  const { report } = JSON.parse(shown) as { report: { comparisons: { ratio: number }[] } };
  const data = /<script id="tare-data"[^>]*>(.*?)<\/script>/s.exec(html)![1]!;
  const { overview } = JSON.parse(data) as PageData;
  const ratios = overview!.rows.map((r) => r.ratio?.value).filter((r) => r !== undefined);
  expect(ratios).toEqual(report.comparisons.map((c) => c.ratio));
  expect(await page.locator(".overview .answer").first().innerText()).toContain(HOSTILE);
  expect(await page.locator(".intervals td.ratio strong").innerText()).toBe(
    overview!.rows.find((r) => r.ratio)!.ratio!.text,
  );
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
  await close();
});

test("a profile's page shows its cutoffs first, then both parts", async () => {
  const { page, troubles, requests, close } = await openHtml(browser, written("--profile", HOSTILE));
  // Each part by elapsed time and at equal process times.
  expect(await page.getByRole("tab").count()).toBe(4);
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("h1").innerText()).toContain(HOSTILE);
  const first = await page.locator("section.whole").boundingBox();
  const plot = await page.locator(".chart.scatter").boundingBox();
  expect(first?.y).toBeLessThan(plot?.y ?? 0);
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
  await close();
});

test("a trace's page shows its timeline, which can be zoomed", async () => {
  const file = join(folder, "trace.html");
  const said = run("trace", "--for", "100ms", "--load", "2", "--html", file);
  const { page, troubles, requests, close } = await openHtml(browser, readFileSync(file, "utf8"));
  const periods = said.split("\n").filter((line) => line.startsWith("I")).length;
  expect(await tare(page, (t) => t.timeline!.drawn)).toBe(periods);
  await page.locator(".chart.timeline").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect.poll(() => tare(page, (t) => t.timeline!.range[1] - t.timeline!.range[0])).toBeLessThan(90e6);
  expect(await page.getByRole("table").count()).toBe(2);
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
  await close();
});

test("the page of noise shows what was measured, and its figures can be zoomed", async () => {
  const file = join(folder, "noise.html");
  const args = ["noise", "--grain", "1us,100us", "--phases", "3000", "--calibrations", "30", "--json", "--html", file];
  const said = JSON.parse(run(...args)) as { grains: { rows: { min: number; max: number }[] }[] };
  const { page, troubles, requests, close } = await openHtml(browser, readFileSync(file, "utf8"));
  expect(await page.getByRole("tab").allInnerTexts()).toEqual(["All grains", "Grain 1 µs", "Grain 100 µs"]);
  await page.getByRole("tab", { name: "Grain 100 µs" }).click();
  const id = "grain-100us-distribution";
  const figure = page.locator(`[data-figure="${id}"]`);
  await figure.focus();
  // From the shortest phase to the longest.
  const focus = (): Promise<number | undefined> =>
    tare(page, (t) => t.curves.find((c) => c.id === "grain-100us-distribution")?.focus?.[0]);
  await page.keyboard.press("Home");
  expect(await focus()).toBe(said.grains[1]!.rows[0]!.min);
  await page.keyboard.press("0");
  await page.keyboard.press("End");
  expect(await focus()).toBe(said.grains[1]!.rows[0]!.max);
  const span = (): Promise<number> => tare(page, (t) => t.curves[0]!.view.x[1] - t.curves[0]!.view.x[0]);
  const whole = await span();
  await page.keyboard.press("+");
  await expect.poll(span).toBeLessThan(whole * 0.9);
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
  await close();
});
