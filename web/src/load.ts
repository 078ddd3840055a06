// Takes the data out of the page, and says in one sentence what is wrong with it.

import type { Figure, Page, Part, Plot, Quiet, Timeline } from "./data";

export class Unreadable extends Error {}

/** The data of the page's own element. */
export function load(source: Document): Page {
  const text = source.getElementById("tare-data")?.textContent ?? "";
  if (text.trim() === "") throw new Unreadable("This page has no data.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Unreadable("The data of this page cannot be read: it is incomplete or was changed.");
  }
  if (typeof value === "string")
    throw new Unreadable("This page has no data: it is the template that tare uses for reports.");
  return checked(value);
}

/** The value as a page, if it has the parts that drawing it relies on. */
export function checked(value: unknown): Page {
  const page = value as Page | null;
  if (typeof page !== "object" || page === null || page.format !== "tare-page") {
    throw new Unreadable("The data of this page is not a report of tare.");
  }
  if (page.version !== 1) {
    throw new Unreadable(`This page can show version 1 of the data, but its data has version ${String(page.version)}.`);
  }
  for (const name of ["facts", "remarks", "plots", "tables"] as const) {
    if (!Array.isArray(page[name])) throw new Unreadable(`The data of this page is incomplete: it has no ${name}.`);
  }
  const { overview } = page;
  if (overview && ![overview.answers, overview.rows, overview.accounts].every(Array.isArray))
    throw new Unreadable("The data of this page is incomplete: a part of its overview is missing.");
  if (overview?.duets) checkFigures(overview.duets, "its duets have");
  page.plots.forEach(checkPlot);
  if (page.timeline) checkTimeline(page.timeline);
  page.parts?.forEach(checkPart);
  return page;
}

function checkPlot(plot: Plot, index: number): void {
  const wrong = (what: string): never => {
    throw new Unreadable(`The data of this page is inconsistent: plot ${index + 1} has ${what}.`);
  };
  const samples = plot?.samples;
  if (!samples || !Array.isArray(samples.number) || !Array.isArray(plot.measures)) return wrong("no samples");
  const n = samples.number.length;
  for (const name of ["start", "class", "reason", "executions"] as const) {
    if (samples[name]?.length !== n) wrong(`${n} samples, but not as many entries of ${name}`);
  }
  if (!Array.isArray(samples.classes) || samples.classes.length > 255) wrong("no classes, or too many");
  if (samples.class.some((c) => samples.classes[c] === undefined)) wrong("samples of an unknown class");
  if (!Array.isArray(samples.daemons) || !Array.isArray(samples.reasons)) wrong("no list of daemons or reasons");
  if (plot.measures.length === 0) wrong("no measure");
  if (plot.measures.some((m) => m.values?.length !== n)) wrong(`${n} samples, but not as many times`);
  if (samples.account?.values.some((v) => v.length !== n)) wrong(`${n} samples, but not as many accounts`);
  if (plot.quiet) checkQuiet(plot.quiet, `plot ${index + 1} has`);
  const dual = plot.dual;
  if (typeof dual === "string") return;
  if (!dual || dual.odd?.length !== dual.even?.length) return wrong("incomplete pairs");
  if ([dual.odd, dual.even].some((half) => half.some((i) => !(i >= 0 && i < n)))) wrong("pairs of unknown samples");
}

function checkQuiet(quiet: Quiet, has: string): void {
  if (![quiet.parts, quiet.doubts, quiet.tables].every(Array.isArray))
    throw new Unreadable(`The data of this page is inconsistent: ${has} an incomplete quiet time.`);
  checkFigures(quiet, has);
}

function checkTimeline(t: Timeline): void {
  const wrong = (what: string): never => {
    throw new Unreadable(`The data of this page is inconsistent: its timeline has ${what}.`);
  };
  const n = t.start?.length;
  if (!(t.length >= 0) || !Array.isArray(t.causes) || !Array.isArray(t.ticks)) wrong("no length, causes or ticks");
  for (const name of ["duration", "cause", "words"] as const) {
    if (t[name]?.length !== n) wrong(`${n} periods, but not as many entries of ${name}`);
  }
  if (t.cause.some((c) => t.causes[c] === undefined)) wrong("periods of an unknown cause");
  const events = t.events;
  if (!events) return;
  if (!Array.isArray(events.what) || [events.start, events.end].some((a) => a?.length !== events.kind?.length))
    wrong("incomplete events");
  if (events.kind.some((k) => events.what[k] === undefined)) wrong("events of an unknown kind");
}

function checkPart(part: Part, index: number): void {
  const has = `part ${index + 1} has`;
  if (!Array.isArray(part?.tables))
    throw new Unreadable(`The data of this page is inconsistent: ${has} no figures or tables.`);
  checkFigures(part, has);
}

function checkFigures({ figures }: { figures: Figure[] }, has: string): void {
  const wrong = (what: string): never => {
    throw new Unreadable(`The data of this page is inconsistent: ${has} ${what}.`);
  };
  if (!Array.isArray(figures)) return wrong("no figures or tables");
  for (const { x, y, curves } of figures) {
    if (!Array.isArray(curves) || [x, y].some((a) => !Array.isArray(a?.scales) || a.scales.length === 0))
      wrong("a figure without curves or axes");
    for (const c of curves) {
      const columns = [c.y, ...(c.band ? [c.band.low, c.band.high] : [])];
      if (columns.some((column) => column?.length !== c.x?.length)) wrong("a curve with missing values");
    }
  }
}
