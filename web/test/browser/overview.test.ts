// The first view of a run: its result, above everything else.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Estimate, Overview, OverviewRow } from "../../src/data";
import { launch } from "../chromium";
import { HOSTILE, run } from "../fixtures";
import { type Opened, frames, open, tare } from "./open";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

function estimate(value: number, half: number): Estimate {
  return { value, low: value - half, high: value + half, text: `T${value}`, interval: `[I${value - half}]` };
}

function row(title: string, plot: string, mean: number, ratio: number | null): OverviewRow {
  const verdict = ratio === null ? "reference" : ratio < 1 ? "faster" : "slower";
  const of = ratio === null ? null : estimate(ratio, ratio / 10);
  const basis = of ? "10 pairs" : "";
  return { title, plot, mean: estimate(mean, mean / 20), ratio: of, basis, verdict, samples: "10 samples" };
}

/** Programs whose means are 1, 2, 3, … ms, the first being the reference. */
function overview(titles: string[]): Overview {
  const plot = (i: number): string => (i % 2 === 0 ? "gzip" : "xz");
  return {
    answers: [`${titles[0]} is 2.58 times as fast as ${titles[1] ?? "nothing"}.`],
    note: "Means.",
    what: "program",
    measure: "CPU time (PT)",
    compared: true,
    rows: titles.map((title, i) => row(title, plot(i), (i + 1) * 1e6, i === 0 ? null : i + 1)),
    accounts: titles.map((title, i) => ({
      title,
      plot: plot(i),
      gross: (i + 1) * 4e6,
      text: `A${i}`,
      parts: [
        { kind: "net", title: "net", time: (i + 1) * 3e6, text: "75 %" },
        { kind: "asleep", title: "asleep", time: (i + 1) * 1e6, text: "25 %" },
        { kind: "stolen", title: "stolen by the hypervisor", time: 0, text: "0" },
      ],
    })),
  };
}

const page = (titles: string[]): unknown => ({ ...run(40), overview: overview(titles) });

const clean = ({ troubles, requests }: Opened): void => {
  expect(troubles).toEqual([]);
  expect(requests).toEqual([]);
};

/** Middles of the points of a column of intervals, px. */
async function points(on: Page, column: string): Promise<number[]> {
  return on.locator(`.intervals ${column} circle`).evaluateAll((all) =>
    all.map((e) => {
      const box = e.getBoundingClientRect();
      return box.left + box.width / 2;
    }),
  );
}

it("stands above the fold, before the programs and the conditions", async () => {
  for (const count of [2, 10]) {
    const titles = Array.from({ length: count }, (_, i) => `program ${i}`);
    const opened = await open(browser, page(titles), { viewport: { width: 1280, height: 800 } });
    const bottom = async (what: string): Promise<number> => {
      const box = await opened.page.locator(what).last().boundingBox();
      return box!.y + box!.height;
    };
    expect(await bottom(".overview .row")).toBeLessThan(800);
    expect(await bottom(".overview")).toBeLessThanOrEqual(await bottom(".tabs"));
    expect(await bottom(".tabs")).toBeLessThan(await bottom(".conditions"));
    clean(opened);
    await opened.close();
  }
});

it("draws means on one linear axis and ratios on a logarithmic one, with their intervals", async () => {
  const opened = await open(browser, page(["a", "b", "c", "d"]), { viewport: { width: 1280, height: 800 } });
  const means = await points(opened.page, "td.plot:not(.of-ratio)");
  expect(means.length).toBe(4);
  const step = means[1]! - means[0]!;
  expect(step).toBeGreaterThan(10);
  for (const [i, at] of means.entries()) expect(at).toBeCloseTo(means[0]! + i * step, 0);
  const ratios = await points(opened.page, "td.of-ratio");
  expect(ratios.length).toBe(3);
  expect((ratios[2]! - ratios[0]!) / (ratios[1]! - ratios[0]!)).toBeCloseTo(Math.log(4 / 2) / Math.log(3 / 2), 1);
  // Half of an interval is a twentieth of its mean, and the means are 1 ms apart.
  const bars = await opened.page
    .locator("td.plot:not(.of-ratio) .bar")
    .evaluateAll((all) =>
      all.map((e) => Number.parseFloat(e.getAttribute("x2")!) - Number.parseFloat(e.getAttribute("x1")!)),
    );
  expect(bars[3]! / bars[0]!).toBeCloseTo(4, 1);
  const texts = await opened.page.locator(".intervals tbody tr").nth(1).innerText();
  for (const text of ["b", "T2000000", "[I1900000]", "T2", "slower"]) expect(texts).toContain(text);
  clean(opened);
  await opened.close();
});

it("draws the ratio of executions alone paler beside that of the duets", async () => {
  const of = overview(["a", "b"]);
  of.rows[1] = { ...of.rows[1]!, ratio: estimate(1.01, 0.003), alone: estimate(1.05, 0.06), basis: "12 duets" };
  const opened = await open(browser, { ...run(40), overview: of });
  const row = opened.page.locator(".intervals tbody tr").nth(1);
  for (const text of ["T1.01", "alone T1.05", "12 duets"]) expect(await row.innerText()).toContain(text);
  expect(await row.locator(".of-ratio").getAttribute("title")).toContain("12 duets: T1.01");
  const widths = async (what: string): Promise<number> => {
    const bar = row.locator(`.of-ratio ${what} .bar`).first();
    const [from, to] = [await bar.getAttribute("x1"), await bar.getAttribute("x2")];
    return Number.parseFloat(to!) - Number.parseFloat(from!);
  };
  // Its interval is twenty times as wide, on the same axis.
  expect((await widths(".paler")) / (await widths("svg >"))).toBeGreaterThan(15);
  expect(await row.locator(".of-ratio circle").count()).toBe(2);
  expect(await opened.page.locator(".intervals tbody tr").nth(0).locator(".paler").count()).toBe(0);
  clean(opened);
  await opened.close();
});

it("names every verdict, that of a control and of programs within the margin too", async () => {
  const titles = ["a", "b", "c"];
  const of = overview(titles);
  of.rows[1] = { ...of.rows[1]!, verdict: "same" };
  of.rows[2] = { ...of.rows[2]!, verdict: "control" };
  const opened = await open(browser, { ...run(40), overview: of });
  const said = await opened.page.locator(".intervals tbody td.verdict").allInnerTexts();
  expect(said.map((text) => text.split("\n")[0])).toEqual(["reference", "same", "control"]);
  clean(opened);
  await opened.close();
});

it("stacks the account of each program on one axis", async () => {
  const opened = await open(browser, page(["a", "b"]));
  const wide = (what: string): Promise<number[]> =>
    opened.page.locator(what).evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width));
  const [first, second] = await wide(".stack");
  expect(second! / first!).toBeCloseTo(2, 1);
  const [net, asleep] = await wide(".row:last-child .stack .part");
  expect(net! / asleep!).toBeCloseTo(3, 1);
  // What took no time has no place in the legend.
  expect(await opened.page.locator(".keys .key").allInnerTexts()).toEqual(["net", "asleep"]);
  expect(await opened.page.locator(".stack").first().getAttribute("aria-label")).toContain("net 75 %; asleep 25 %");
  clean(opened);
  await opened.close();
});

it("leads to the programs, by the keyboard too", async () => {
  const opened = await open(browser, page(["gzip", "xz"]));
  expect(await tare(opened.page, (t) => t.plot)).toBe("gzip");
  await opened.page.locator(".intervals a").nth(1).focus();
  await opened.page.keyboard.press("Enter");
  await frames(opened.page);
  expect(await tare(opened.page, (t) => t.plot)).toBe("xz");
  clean(opened);
  await opened.close();
});

it("shows hostile names as text, in the dark and narrow, and does not widen the page", async () => {
  for (const width of [1280, 390]) {
    const options = { viewport: { width, height: 844 }, colorScheme: "dark" as const };
    const opened = await open(browser, page([...HOSTILE, "a\nb\u0000\ufffd"]), options);
    expect(await opened.page.evaluate(() => window.hacked)).toBeUndefined();
    expect(await opened.page.locator(".overview img, .overview script, .overview b").count()).toBe(0);
    const text = await opened.page.locator(".overview").evaluate((e) => e.textContent);
    for (const name of HOSTILE) expect(text).toContain(name);
    const over = await opened.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(over).toBe(0);
    clean(opened);
    await opened.close();
  }
});

it("without a time or an interval says why", async () => {
  const of = overview(["a", "b"]);
  of.rows[0] = { ...of.rows[0]!, mean: null, samples: "no successful sample" };
  of.rows[1]!.ratio = { value: 2, low: null, high: null, text: "2", interval: "too few samples" };
  const opened = await open(browser, { ...run(40), overview: of });
  const rows = opened.page.locator(".intervals tbody tr");
  expect(await rows.nth(0).innerText()).toContain("no successful sample");
  expect(await rows.nth(0).locator("circle").count()).toBe(0);
  expect(await rows.nth(1).innerText()).toContain("too few samples");
  expect(await rows.nth(1).locator(".of-ratio .bar").count()).toBe(0);
  clean(opened);
  await opened.close();
});

it("points from the top to warnings that stand below", async () => {
  const opened = await open(browser, page(["a", "b"]));
  const warnings = await opened.page.locator(".remarks .warning").count();
  expect(await opened.page.locator("button.warnings").innerText()).toContain(`${warnings} warning`);
  clean(opened);
  await opened.close();
});

it("is printed with its plots, and without what can only be pressed", async () => {
  const opened = await open(browser, page(["a", "b"]), { colorScheme: "dark" });
  await opened.page.emulateMedia({ media: "print" });
  await frames(opened.page);
  expect(await opened.page.locator(".intervals circle").first().isVisible()).toBe(true);
  expect(await opened.page.locator(".stack .part").first().isVisible()).toBe(true);
  expect(await opened.page.locator("button.warnings").isVisible()).toBe(false);
  clean(opened);
  await opened.close();
});
