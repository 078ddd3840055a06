// Where the elapsed time of a sample went: gross = net + tare, as a bar and as a table.

import { bdi, h } from "./dom";
import { nanos, percent, time } from "./format";

export interface Entry {
  title: string;
  role: "net" | "tare";
  time: number;
}

/** Entries below this share of the time are one segment of the bar. */
const SMALLEST = 0.004;
const TONES = 6;

export function accountView(entries: Entry[]): HTMLElement {
  const gross = entries.reduce((sum, e) => sum + e.time, 0);
  const net = entries.filter((e) => e.role === "net").reduce((sum, e) => sum + e.time, 0);
  const ordered = [
    ...entries.filter((e) => e.role === "net"),
    ...entries.filter((e) => e.role === "tare").sort((a, b) => b.time - a.time),
  ];
  const sum = h(
    "p",
    { class: "sum" },
    ...["gross ", exact(gross), " = net ", exact(net), " + tare ", exact(gross - net)],
    gross > 0 ? ` (${percent((gross - net) / gross)})` : null,
  );
  return h("div", { class: "account" }, sum, bar(ordered, gross), table(ordered, gross));
}

function exact(ns: number): HTMLElement {
  return h("span", { class: "time", title: nanos(ns) }, time(ns));
}

/** The tone of an entry: one for net; tare from strong to faint. */
function tone(entry: Entry, nth: number): string {
  return entry.role === "net" ? "net" : `tare-${Math.min(nth, TONES)}`;
}

/** Each entry with its tone, by the order of the tare. */
function toned(entries: Entry[]): { entry: Entry; tone: string }[] {
  let nth = 0;
  return entries.map((entry) => ({ entry, tone: tone(entry, entry.role === "net" ? 0 : ++nth) }));
}

function bar(entries: Entry[], gross: number): HTMLElement {
  const element = h("div", {
    class: "stack",
    role: "img",
    "aria-label": "Shares of the elapsed time; the table names them",
  });
  let rest = 0;
  for (const { entry, tone } of toned(entries)) {
    const share = gross > 0 ? Math.max(0, entry.time / gross) : 0;
    if (share < SMALLEST) {
      rest += share;
      continue;
    }
    const segment = h("span", { class: tone, title: `${entry.title}: ${time(entry.time)}` });
    segment.style.flexGrow = String(share);
    element.append(segment);
  }
  if (rest > 0) {
    const segment = h("span", { class: `tare-${TONES}`, title: "smaller entries" });
    segment.style.flexGrow = String(rest);
    element.append(segment);
  }
  return element;
}

function table(entries: Entry[], gross: number): HTMLElement {
  const rows = toned(entries).map(({ entry, tone }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: `swatch ${tone}`, "aria-hidden": "true" }), bdi(entry.title)),
      h("td", { class: "right", title: nanos(entry.time) }, time(entry.time)),
      h("td", { class: "right" }, gross > 0 ? percent(entry.time / gross) : "–"),
    ),
  );
  return h("table", { class: "mini" }, h("tbody", {}, ...rows));
}
