// How fast the built page is with many samples: until its first drawing, and frames a second while zooming and selecting in
// the scatter plot. `node scripts/bench.mjs [TEMPLATE]`: of a page that was built before, to compare with.
//
// The numbers are those of this machine and its load; they are printed, never tested.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createServer } from "vite";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const FRAMES = 90;

const server = await createServer({
  root: web,
  configFile: false,
  logLevel: "error",
  server: { middlewareMode: true, hmr: false, ws: false },
  optimizeDeps: { noDiscovery: true },
});
const { fill, profile } = await server.ssrLoadModule("/test/fixtures.ts");
const { launch } = await server.ssrLoadModule("/test/chromium.ts");

/** In the page: a gesture step per frame; times between frames, and of the work of our own events. */
async function measure({ what, frames }) {
  const host = document.querySelector(".chart.scatter");
  const frame = host.getBoundingClientRect();
  const at = (x, y) => ({
    clientX: frame.left + x,
    clientY: frame.top + y,
    bubbles: true,
    cancelable: true,
    pointerId: 1,
  });
  const next = () => new Promise(requestAnimationFrame);
  const steps = {
    zoom: (i) => host.dispatchEvent(new WheelEvent("wheel", { ...at(120, 420), deltaY: i < frames / 2 ? -30 : 30 })),
    brush: (i) => host.dispatchEvent(new PointerEvent("pointermove", at(80 + i * 4, 500 - i * 4))),
    hover: (i) => host.dispatchEvent(new PointerEvent("pointermove", at(80 + i * 2, 480))),
  };
  // Synthetic pointers cannot be captured.
  host.setPointerCapture = () => undefined;
  if (what === "brush") host.dispatchEvent(new PointerEvent("pointerdown", { ...at(70, 510), button: 0 }));
  const times = [];
  let last = await next();
  for (let i = 0; i < frames; i++) {
    steps[what](i);
    const now = await next();
    times.push(now - last);
    last = now;
  }
  if (what === "brush") host.dispatchEvent(new PointerEvent("pointerup", at(400, 200)));
  times.sort((a, b) => a - b);
  return {
    median: times[frames >> 1],
    slow: times[Math.floor(frames * 0.95)],
    mean: times.reduce((a, b) => a + b, 0) / frames,
  };
}

const folder = mkdtempSync(join(tmpdir(), "tare-web-bench-"));
const browser = await launch();
try {
  const built = join(folder, "report.html");
  const given = process.argv[2];
  if (!given) execFileSync(process.execPath, [join(web, "scripts", "build.mjs"), "--to", built], { stdio: "inherit" });
  const template = readFileSync(given ?? built, "utf8");
  console.log(`page without data: ${(template.length / 1e3).toFixed(0)} kB`);
  console.log("samples  gesture  frames/s  median [ms]  95% [ms]");
  for (const n of [10_000, 100_000]) {
    const file = join(folder, `${n}.html`);
    const html = fill(template, profile(n));
    writeFileSync(file, html);
    const page = await browser.newPage({ viewport: { width: 1360, height: 1000 } });
    const begin = performance.now();
    await page.goto(pathToFileURL(file).href);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const opened = performance.now() - begin;
    for (const what of ["zoom", "brush", "hover"]) {
      const { median, slow, mean } = await page.evaluate(measure, { what, frames: FRAMES });
      const cells = [String(n).padStart(7), what.padEnd(7), (1000 / mean).toFixed(1).padStart(8)];
      console.log([...cells, median.toFixed(1).padStart(11), slow.toFixed(1).padStart(8)].join("  "));
    }
    console.log(`${String(n).padStart(7)}  opened in ${opened.toFixed(0)} ms (${(html.length / 1e6).toFixed(1)} MB)`);
    await page.close();
  }
} finally {
  await browser.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}
