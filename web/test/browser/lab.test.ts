// The lab's web application, as `tare lab serve` shows it, with a PostgreSQL server of its own.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "../chromium";

const HOSTILE = `<script>window.hacked = 1</script>"><img src=x onerror="window.hacked = 2">`;
/** Longer than any screen, without a place to break it. */
const LONG = "x".repeat(180);
const command = process.env["TARE"] ?? resolve(import.meta.dirname, "../../../target/debug/tare");
const folder = mkdtempSync(join(tmpdir(), "tare-lab-"));
const url = `postgresql://postgres@/postgres?host=${folder}`;
const VERSIONS = "/usr/lib/postgresql";
const bin = existsSync(VERSIONS)
  ? readdirSync(VERSIONS)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(VERSIONS, version, "bin"))
      .find((path) => existsSync(join(path, "initdb")))
  : undefined;
let browser: Browser;
let server: ChildProcess;
let address = "";

/** A tool of PostgreSQL, which does not run as root. */
function postgres(tool: string, ...args: string[]): void {
  const path = join(bin!, tool);
  const user = ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--reset-env", path];
  const [file, all] = process.getuid?.() === 0 ? ["setpriv", [...user, ...args]] : [path, args];
  // The server keeps its output open.
  execFileSync(file, all, { cwd: "/", stdio: "ignore" });
}

function run(...args: string[]): string {
  const env = { ...process.env, TARE_DB: url, XDG_DATA_HOME: folder, HOME: folder };
  return execFileSync(command, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** A campaign of a quick program on any machine. */
function submit(name: string, program: string, repeat: number): void {
  const file = join(folder, "campaign.toml");
  const quoted = (text: string): string => JSON.stringify(text);
  const lines = [
    `name = ${quoted(name)}`,
    "samples = 4",
    "[machines]",
    "count = 1",
    "[repeat]",
    `times = ${repeat}`,
    "[[program]]",
    `command = ${quoted(program)}`,
  ];
  writeFileSync(file, lines.join("\n"));
  run("lab", "submit", file);
}

beforeAll(async () => {
  if (!bin) return;
  browser = await launch();
  chmodSync(folder, 0o1777);
  const data = join(folder, "data");
  postgres("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D", data);
  const options = `-c listen_addresses='' -c unix_socket_directories='${folder}' -c fsync=off`;
  postgres("pg_ctl", "start", "-w", "-D", data, "-l", join(folder, "log"), "-o", options);
  run("lab", "init", url);
  submit("plain", "true", 2);
  for (const name of [HOSTILE, LONG]) {
    run("lab", "agent", "--once", "--name", name, "--tag", `note=${name}`, "--poll", "1s");
  }
  submit(HOSTILE, "true", 3);
  submit(LONG, "true", 3);
  server = spawn(command, ["lab", "serve", "--db", url, "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: server.stdout! })) {
    address = line.replace("listening on ", "").replace(/\/$/, "");
    break;
  }
});

afterAll(async () => {
  server?.kill("SIGTERM");
  await browser?.close();
  if (bin) postgres("pg_ctl", "stop", "-m", "immediate", "-D", join(folder, "data"));
  rmSync(folder, { recursive: true, force: true });
});

interface Seen {
  page: Page;
  troubles: string[];
  close: () => Promise<void>;
}

async function open(path: string, width: number, options: { javaScriptEnabled?: boolean } = {}): Promise<Seen> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") troubles.push(m.text());
  });
  page.on("pageerror", (e) => troubles.push(String(e)));
  page.on("request", (r) => {
    if (!r.url().startsWith(address) && !r.url().startsWith("data:")) troubles.push(`asked for ${r.url()}`);
  });
  await page.goto(address + path);
  return { page, troubles, close: () => context.close() };
}

async function looksRight(page: Page, where: string): Promise<void> {
  const wide = await page.evaluate(() => {
    const root = document.documentElement;
    return [root.scrollWidth, root.clientWidth] as const;
  });
  expect(wide[0], `${where} is wider than the window`).toBeLessThanOrEqual(wide[1]);
  expect(await page.evaluate(() => (window as { hacked?: unknown }).hacked), where).toBeUndefined();
  expect(await page.locator("img").count(), where).toBe(0);
}

const paths = [
  "/",
  "/campaign/1",
  "/campaign/2",
  "/campaign/3?state=waiting",
  "/campaign/1/nodes",
  `/machine/${encodeURIComponent(HOSTILE)}`,
  `/machine/${LONG}`,
  "/results",
  "/compare",
  "/history",
  "/nowhere",
];

test.skipIf(!bin).each([1280, 390])("all pages fit in a window of %i pixels, and show names as text", async (width) => {
  for (const path of paths) {
    const { page, troubles, close } = await open(path, width);
    await looksRight(page, path);
    // The browser itself reports that a page was not found.
    expect(
      troubles.filter((t) => path !== "/nowhere" || !t.includes("404")),
      path,
    ).toEqual([]);
    await close();
  }
  const { page, close } = await open("/", width);
  expect(await page.locator("#campaigns").getByText(HOSTILE, { exact: true }).count()).toBeGreaterThan(0);
  expect(await page.locator("#machines").getByText(HOSTILE, { exact: true }).count()).toBeGreaterThan(0);
  await close();
});

test.skipIf(!bin)("links can be touched on a phone, and the theme is kept", async () => {
  const { page, troubles, close } = await open("/", 390);
  for (const link of await page.locator(".bar a, .bar button:visible, #campaigns td a").all()) {
    const box = await link.boundingBox();
    expect(box!.height).toBeGreaterThanOrEqual(40);
  }
  await page.getByRole("button", { name: "Light or dark" }).click();
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
  await page.goto(`${address}/results`);
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
  expect(troubles).toEqual([]);
  await close();
});

test.skipIf(!bin)("a change is shown without reading the page again", async () => {
  const { page, troubles, close } = await open("/campaign/2", 1280);
  await page.evaluate(() => ((window as { kept?: boolean }).kept = true));
  await expect.poll(() => page.locator("#live").innerText(), { timeout: 30_000 }).toBe("live");
  run("lab", "pause", "2");
  await expect.poll(() => page.locator("#summary .state").innerText(), { timeout: 30_000 }).toBe("paused");
  run("lab", "continue", "2");
  await expect.poll(() => page.locator("#summary .state").innerText(), { timeout: 30_000 }).not.toBe("paused");
  expect(await page.evaluate(() => (window as { kept?: boolean }).kept)).toBe(true);
  expect(troubles).toEqual([]);
  await close();
});

test.skipIf(!bin)("without a script the pages can be read and read again", async () => {
  const { page, close } = await open("/", 390, { javaScriptEnabled: false });
  await page.getByRole("link", { name: "Refresh" }).click();
  expect(await page.locator("h1").innerText()).toBe("Lab");
  expect(await page.locator("#campaigns tbody tr").count()).toBe(3);
  await close();
});

test.skipIf(!bin)("the report of a run works behind the application's headers", async () => {
  const { page, troubles, close } = await open("/run/1", 1280);
  expect(await page.title()).toContain("Run 1");
  // The report is drawn by its script, which the policy must let run.
  await expect.poll(() => page.locator("svg").count()).toBeGreaterThan(0);
  expect(troubles).toEqual([]);
  await close();
});
