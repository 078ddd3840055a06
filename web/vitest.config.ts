import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // A browser is started for each file, and waits a while for each frame: two CPUs serve three of them.
    maxWorkers: 3,
    minWorkers: 1,
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"] } },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/browser/setup.ts"],
          // A shared machine may be slow; nothing here is measured by the clock.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
