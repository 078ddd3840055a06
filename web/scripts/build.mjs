// Builds the page into one file: `node scripts/build.mjs [--check | --to FILE]`.
//
// Without options it goes to dist/report.html and to the place from which tare takes it. `--check` only compares with that.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const asset = join(web, "..", "crates", "report", "assets", "report.html");
const LIMIT = 250_000;

/** Script and style, made by Vite in memory. */
async function bundle() {
  const result = await build({
    root: web,
    configFile: false,
    logLevel: "warn",
    define: { "process.env.NODE_ENV": '"production"' },
    esbuild: { legalComments: "none" },
    build: {
      write: false,
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      chunkSizeWarningLimit: 1000,
      rollupOptions: {
        input: join(web, "src", "main.ts"),
        output: { format: "iife", inlineDynamicImports: true },
      },
    },
  });
  const output = (Array.isArray(result) ? result : [result]).flatMap((r) => r.output);
  const script = output.find((o) => o.type === "chunk").code.trim();
  const style = output
    .find((o) => o.fileName.endsWith(".css"))
    .source.toString()
    .trim();
  return { script, style };
}

/** What the licences of the bundled libraries ask to keep. */
function notices() {
  const require = createRequire(import.meta.url);
  const uplot = dirname(dirname(require.resolve("uplot")));
  const licence = readFileSync(join(uplot, "LICENSE"), "utf8").trim();
  const parts = ["The page of tare: MIT or Apache-2.0. It contains uPlot:", licence];
  return `/*!\n${parts.join("\n\n").replaceAll("*/", "* /")}\n*/`;
}

function assemble({ script, style }) {
  // In a script, the end tag and what opens a comment would end it early or hide it.
  const code = `${notices()}\n${script}`.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const hash = createHash("sha256").update(code, "utf8").digest("base64");
  const csp = [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = { csp, style: style.replaceAll("</style", "<\\/style"), script: code };
  return readFileSync(join(web, "template.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

/** What tare relies on. */
function verify(html) {
  const once = [
    '<script id="tare-data" type="application/json">"TARE-DATA"</script>',
    '"TARE-DATA"',
    "<title>tare</title>",
  ];
  for (const text of once) {
    const times = html.split(text).length - 1;
    if (times !== 1) fail(`The page contains ${text} ${times} times, not once.`);
  }
  const size = Buffer.byteLength(html);
  if (size > LIMIT) fail(`The page has ${size} bytes, more than ${LIMIT}.`);
  return size;
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

function write(file, html) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, html);
}

function same(html) {
  try {
    return readFileSync(asset, "utf8") === html;
  } catch {
    return false;
  }
}

const [option, target] = process.argv.slice(2);
const html = assemble(await bundle());
const size = verify(html);
if (option === "--check") {
  const name = relative(web, asset);
  if (!same(html)) fail(`${name} is not what the sources here build: run \`npm run build\` in web and commit it.`);
  console.log(`${name} is up to date (${size} bytes).`);
} else if (option === "--to") {
  write(target, html);
} else {
  write(join(web, "dist", "report.html"), html);
  write(asset, html);
  console.log(`${relative(web, asset)}: ${size} bytes`);
}
