// The browser that the tests drive.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** The first is the same browser without windows, which takes half the CPU time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Nothing that the browser does by itself shall reach a network or disturb a measurement. */
const QUIET = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function browserPath(): string {
  const given = process.env["CHROMIUM"];
  if (given) return given;
  for (const name of NAMES) {
    for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // Not here.
      }
    }
  }
  throw new Error(`The browser tests need one of ${NAMES.join(", ")} in PATH, or its path in CHROMIUM.`);
}

export async function launch(): Promise<Browser> {
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath: browserPath(), args: root ? [...QUIET, "--no-sandbox"] : QUIET });
}
