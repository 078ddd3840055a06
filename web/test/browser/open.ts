// Opens a page made of data in the browser, and keeps an eye on it.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect, inject } from "vitest";
import type { TareApi } from "../../src/api";
import { fill } from "../fixtures";

export interface Opened {
  page: Page;
  /** Console errors and warnings, and errors that nothing caught. */
  troubles: string[];
  /** What was asked for beside the page itself. */
  requests: string[];
  close: () => Promise<void>;
}

let serial = 0;

export async function open(
  browser: Browser,
  data: unknown,
  options: BrowserContextOptions = {},
  hash = "",
): Promise<Opened> {
  const template = inject("template");
  const html = fill(readFileSync(template, "utf8"), data);
  return openHtml(browser, html, options, hash);
}

export async function openHtml(
  browser: Browser,
  html: string,
  options: BrowserContextOptions = {},
  hash = "",
): Promise<Opened> {
  serial += 1;
  const file = join(dirname(inject("template")), `page-${process.pid}-${serial}.html`);
  writeFileSync(file, html);
  const url = pathToFileURL(file).href;
  const context = await browser.newContext({ viewport: { width: 1360, height: 1000 }, ...options });
  const page = await context.newPage();
  const troubles: string[] = [];
  const requests: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") troubles.push(m.text());
  });
  page.on("pageerror", (e) => troubles.push(String(e)));
  page.on("request", (r) => {
    if (r.url().split("#")[0] !== url && !r.url().startsWith("data:")) requests.push(r.url());
  });
  await page.goto(url + hash);
  await frames(page);
  return { page, troubles, requests, close: () => context.close() };
}

/** Lets what was asked for per frame, or a little later, be drawn. */
export async function frames(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((done) => {
        setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done())), 160);
      }),
  );
}

export async function tare<T>(page: Page, read: (api: TareApi) => T): Promise<T> {
  return page.evaluate(`(${read.toString()})(window.tare)`) as Promise<T>;
}

export async function place(page: Page, chart: string, x: number, y: number): Promise<{ x: number; y: number }> {
  await page.locator(`.chart.${chart}`).scrollIntoViewIfNeeded();
  const at = await page.evaluate(([c, px, py]) => window.tare.place(c, px, py), [chart, x, y] as const);
  expect(at).not.toBeNull();
  return at!;
}

/** Drags from one place in a chart to another. */
export async function drag(page: Page, chart: string, from: [number, number], to: [number, number]): Promise<void> {
  const a = await place(page, chart, ...from);
  const b = await place(page, chart, ...to);
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, (a.y + b.y) / 2, { steps: 3 });
  await page.mouse.move(b.x, b.y);
  await page.mouse.up();
  await frames(page);
}

declare global {
  interface Window {
    tare: TareApi;
    hacked?: unknown;
  }
}
