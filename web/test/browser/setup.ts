// Builds the page once for all browser tests, from the sources as they are.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { browserPath } from "../chromium";

declare module "vitest" {
  export interface ProvidedContext {
    template: string;
  }
}

export default function setup(project: TestProject): () => void {
  browserPath();
  const folder = mkdtempSync(join(tmpdir(), "tare-web-"));
  const template = join(folder, "report.html");
  execFileSync(process.execPath, ["scripts/build.mjs", "--to", template], { stdio: "inherit" });
  project.provide("template", template);
  return () => rmSync(folder, { recursive: true, force: true });
}
