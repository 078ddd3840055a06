// What the page shows, and that it keeps to itself.

import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch } from "../chromium";
import { HOSTILE, fixedTimes, hostile, page as pageOf, plot, profile, run } from "../fixtures";
import { type Opened, frames, open, openHtml, tare } from "./open";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const clean = ({ troubles, requests }: Opened): void => {
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
};

describe("a run", () => {
  it("shows head, plots, tables, and foot, without a word on the console or to the network", async () => {
    const opened = await open(browser, run(200));
    const { page } = opened;
    expect(await page.title()).toBe("tare: a run");
    expect(await page.textContent("h1")).toBe("gzip and xz");
    expect(await page.locator(".remarks .warning").textContent()).toContain("⚠ Warning: The machine changed");
    expect(await page.locator(".chart").count()).toBe(3);
    expect(await page.locator("table.data").count()).toBe(5);
    expect(await page.textContent("footer")).toContain("tare 0.9.0");
    expect(await page.locator(".legend .entry").first().textContent()).toMatch(/^central cluster\d+$/);
    clean(opened);
    await opened.close();
  });
  it("goes from program to program by tab, key, and address", async () => {
    const opened = await open(browser, run(60), {}, "#xz");
    const { page } = opened;
    expect(await tare(page, (t) => t.plot)).toBe("xz");
    expect(await page.textContent("figure.scatter")).toContain(
      "No dual-execution scatter plot: the programs ran in rounds",
    );
    await page.getByRole("tab", { name: "gzip" }).click();
    expect(await tare(page, (t) => t.plot)).toBe("gzip");
    expect(page.url()).toMatch(/#gzip$/);
    await page.keyboard.press("ArrowRight");
    expect(await tare(page, (t) => t.plot)).toBe("xz");
    await page.evaluate(() => (location.hash = "#gzip"));
    await frames(page);
    expect(await tare(page, (t) => t.plot)).toBe("gzip");
    clean(opened);
    await opened.close();
  });
  it("with 500 programs has a list and draws one of them", async () => {
    const plots = Array.from({ length: 500 }, (_, i) => plot(`p${i}`, `program ${i}`, { n: 4, seed: i }));
    const opened = await open(browser, pageOf("run", plots));
    const { page } = opened;
    expect(await page.getByRole("tab").count()).toBe(0);
    expect(await page.locator(".chart").count()).toBe(3);
    await page.locator(".chooser select").selectOption({ label: "program 417" });
    expect(await tare(page, (t) => t.plot)).toBe("p417");
    await page.getByRole("button", { name: "next program" }).click();
    expect(await tare(page, (t) => t.plot)).toBe("p418");
    expect(await page.locator(".chart").count()).toBe(3);
    clean(opened);
    await opened.close();
  });
});

describe("samples that are not steady", () => {
  it("have their places and lines in the sequence, by number and by time", async () => {
    const data = run(40);
    const measure = data.plots[0]!.measures[0]!;
    measure.places = [{ title: "step", number: 21 }];
    measure.lines = [{ title: "drift", value: 100e6, end: 131e6 }];
    const { page, troubles, close } = await open(browser, data, {}, "#gzip");
    const about = page.locator(".chart.sequence");
    const id = await about.getAttribute("aria-describedby");
    const said = await page.locator(`#${id}`).textContent();
    expect(said).toContain("Lines: drift 100 ms to 131 ms, step at sample 21.");
    await page.getByRole("button", { name: "time" }).first().click();
    await frames(page);
    expect(troubles).toEqual([]);
    await close();
  });
});

describe("hostile names", () => {
  it("are shown as text and make nothing", async () => {
    const opened = await open(browser, hostile());
    const { page } = opened;
    await page.locator(".chart.scatter").focus();
    for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowRight");
    await frames(page);
    expect(await page.evaluate(() => window.hacked)).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("main script, main b").count()).toBe(0);
    const text = await page.locator("main").evaluate((e) => e.textContent);
    for (const name of HOSTILE) expect(text).toContain(name);
    const shown = await page.locator(".given table").first().textContent();
    for (const name of HOSTILE) expect(shown).toContain(name);
    clean(opened);
    await opened.close();
  });
  it("do not widen the page", async () => {
    for (const width of [1360, 360]) {
      const opened = await open(browser, hostile(), { viewport: { width, height: 900 } });
      const wide = await opened.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(wide).toBe(0);
      await opened.close();
    }
  });
});

describe("edge cases", () => {
  const cases: [string, unknown][] = [
    ["no samples", fixedTimes([])],
    ["one sample", fixedTimes([5e6])],
    ["equal values", fixedTimes([5e6, 5e6, 5e6])],
    ["no values", fixedTimes([null, null])],
    ["zeros", fixedTimes([0, 0])],
    ["one plot", pageOf("run", [plot("a", "a", { n: 20 })])],
    ["no plots", pageOf("run", [])],
    ["far apart", fixedTimes([1, 9e15, 3])],
  ];
  it.each(cases)("%s", async (_, data) => {
    const opened = await open(browser, data);
    const { page } = opened;
    expect(await page.locator("h1").count()).toBe(1);
    for (const chart of await page.locator(".chart").all()) {
      await chart.focus();
      for (const key of ["ArrowRight", "Enter", "End", "+", "0", "ArrowLeft"]) await page.keyboard.press(key);
    }
    await frames(page);
    clean(opened);
    await opened.close();
  });
  it("an absent time is a dash, not zero", async () => {
    const opened = await open(browser, fixedTimes([null, 5e6]));
    const cell = opened.page.locator(".samples tbody tr").first().locator("td").nth(2);
    expect(await cell.textContent()).toBe("–");
    expect(await cell.locator(".absent").getAttribute("title")).toBe("unknown");
    await opened.close();
  });
  it("broken and absent data are told in one sentence", async () => {
    const template = readFileSync(inject("template"), "utf8");
    const of = (json: string): string => template.replace('"TARE-DATA"', () => json);
    const pages: [string, string][] = [
      [template, "no data: it is the template"],
      [of('{"format":"tare-page"'), "cannot be read"],
      [of('{"format":"tare-page","version":9}'), "version 9"],
      [of("null"), "not a report"],
      [of(""), "no data"],
    ];
    for (const [html, sentence] of pages) {
      const opened = await openHtml(browser, html);
      expect(await opened.page.getByRole("alert").textContent()).toContain(sentence);
      clean(opened);
      await opened.close();
    }
  });
});

describe("looks", () => {
  it("follows the system's light or dark, and the switch", async () => {
    const opened = await open(browser, run(50), { colorScheme: "dark" });
    const { page } = opened;
    const theme = (): Promise<string | undefined> => page.evaluate(() => document.documentElement.dataset["theme"]);
    const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await theme()).toBe("dark");
    const dark = await paper();
    await page.getByRole("button", { name: "light / dark" }).click();
    await frames(page);
    expect(await theme()).toBe("light");
    expect(await paper()).not.toBe(dark);
    clean(opened);
    await opened.close();
  });
  it("prints in light, with charts in one piece and nothing clipped", async () => {
    const opened = await open(browser, profile(400), { colorScheme: "dark" });
    const { page } = opened;
    await page.locator(".given tbody tr").first().click();
    await frames(page);
    await page.emulateMedia({ media: "print" });
    await frames(page);
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
    expect(await page.locator(".chart .copy").count()).toBe(3);
    const clipped = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".frame, .details .body, .chart")]
        .filter((e) => e.offsetParent && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1))
        .filter((e) => getComputedStyle(e).overflow !== "visible")
        .map((e) => e.className),
    );
    expect(clipped).toEqual([]);
    const buttons = await page.locator("button:not(.entry):not([role=tab])").all();
    const seen = await Promise.all(
      buttons.map(async (b) => (await b.isVisible()) && !(await b.evaluate((e) => e.closest("th")))),
    );
    expect(seen.some(Boolean)).toBe(false);
    await page.emulateMedia({ media: "screen" });
    await frames(page);
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    expect(await page.locator(".chart .copy").count()).toBe(0);
    clean(opened);
    await opened.close();
  });
  it("can be saved as a picture", async () => {
    const opened = await open(browser, run(50));
    const { page } = opened;
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator("figure.scatter").getByRole("button", { name: "PNG" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("tare-scatter.png");
    const file = await download.path();
    expect(readFileSync(file).subarray(1, 4).toString()).toBe("PNG");
    expect(readFileSync(file).length).toBeGreaterThan(20_000);
    clean(opened);
    await opened.close();
  });
  it("fits a window of 360 pixels", async () => {
    const opened = await open(browser, run(100), { viewport: { width: 360, height: 700 } });
    const wide = await opened.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(wide).toBe(0);
    await opened.close();
  });
});
