// The result of a run at a glance: sentences, intervals on one axis, and where the time went.

import type { AccountBar, Axis, Estimate, Overview, OverviewRow } from "./data";
import { bdi, h, uid } from "./dom";
import { scale } from "./scales";
import { type Range, padded } from "./ticks";

const VERDICTS: Record<NonNullable<OverviewRow["verdict"]>, string> = {
  faster: "faster",
  slower: "slower",
  same: "same",
  undecided: "undecided",
  reference: "reference",
  control: "control",
  pass: "pass",
  regression: "regression",
  improvement: "improvement",
  inconclusive: "inconclusive",
  failed: "failed",
};
/** Width for which the ticks of an interval plot are chosen, px. */
const PIXELS = 330;
/** Above this number, rows are drawn in one line each. */
const ROOMY = 4;
const SVG = "http://www.w3.org/2000/svg";

export function overviewView(of: Overview): HTMLElement {
  const answers = of.answers.map((text) => h("p", { class: "answer" }, bdi(text)));
  const element = h("section", { class: "overview", "aria-label": "Result" }, ...answers, intervals(of));
  if (of.accounts.length > 0) element.append(accounts(of.accounts));
  element.append(h("p", { class: "note" }, bdi(of.note)));
  return element;
}

/** Positions on a shared axis, in per cent of its width. */
interface Shared {
  at: (value: number) => number;
  ticks: { at: number; label: string }[];
  title: string;
}

function shared(axis: Axis, estimates: Estimate[], also: number[]): Shared | null {
  const { place, kind } = scale(axis, axis.scales[0]!, false);
  const values = [...estimates.flatMap((e) => [e.low ?? e.value, e.value, e.high ?? e.value]), ...also];
  const places = values.map(place).filter(Number.isFinite);
  if (estimates.length === 0 || places.length === 0) return null;
  const range: Range = padded([Math.min(...places), Math.max(...places)], 0.08);
  const percent = (p: number): number => ((p - range[0]) / (range[1] - range[0])) * 100;
  const { at, labels, unit } = kind.ticks(range, PIXELS);
  return {
    at: (value) => percent(place(value)),
    ticks: at.map((p, i) => ({ at: percent(p), label: labels[i] ?? "" })),
    title: unit === "" ? axis.title : `${axis.title} [${unit}]`,
  };
}

function axisOf(title: string, quantity: Axis["quantity"], name: "linear" | "log"): Axis {
  return { title, quantity, scales: [name], floor: null, shown: null };
}

function intervals(of: Overview): HTMLElement {
  const known = (pick: (r: OverviewRow) => Estimate | null): Estimate[] =>
    of.rows.map(pick).filter((e): e is Estimate => e !== null);
  const means = shared(
    axisOf(of.measure, "time", "linear"),
    known((r) => r.mean),
    [],
  );
  const ratios = shared(
    axisOf("ratio", "ratio", "log"),
    [...known((r) => r.ratio), ...known((r) => r.alone ?? null)],
    [1, ...of.rows.flatMap((r) => r.limit ?? [])],
  );
  const head = (title: string, name: string): HTMLElement => h("th", { scope: "col", class: name }, title);
  const heads = [head(of.what, "who"), head(`${of.measure} and 95% interval`, "mean"), head("", "plot")];
  if (ratios) heads.push(head("ratio", "ratio"), head("", "plot"), head("verdict", "verdict"));
  const many = of.rows.length > ROOMY;
  const body = of.rows.map((row) => line(of, row, means, ratios));
  const foot = [h("td", { colspan: 2 }), axisCell(means)];
  if (ratios) foot.push(h("td", { class: "ratio" }), axisCell(ratios), h("td", {}));
  const table = h(
    "table",
    { class: `intervals${of.compared ? " compared" : ""}${many ? " many" : ""}`, "aria-label": "Result" },
    h("thead", {}, h("tr", {}, ...heads)),
    h("tbody", {}, ...body),
    h("tfoot", { "aria-hidden": "true" }, h("tr", {}, ...foot)),
  );
  return table;
}

function line(of: Overview, row: OverviewRow, means: Shared | null, ratios: Shared | null): HTMLElement {
  const title = of.compared ? h("a", { href: `#${encodeURIComponent(row.plot)}` }, bdi(row.title)) : bdi(row.title);
  const cells = [
    h("th", { scope: "row", class: "who", title: `${row.title}: ${row.samples}` }, title, h("small", {}, row.samples)),
    figureCell(row.mean, "mean"),
    h("td", { class: "plot" }, plot(row.mean, null, means, null, null)),
  ];
  if (ratios) {
    const { verdict } = row;
    const none = verdict === "reference" ? "1" : "";
    const limit = row.limit === undefined ? null : ratios.at(row.limit);
    const alone = row.alone ?? null;
    const basis = row.basis !== "" && row.basis !== row.samples ? h("small", {}, row.basis) : null;
    const figures = figureCell(row.ratio, "ratio", none);
    if (alone) figures.append(h("small", { class: "alone" }, `alone ${alone.text} `, bdi(alone.interval)));
    cells.push(
      figures,
      h("td", { class: "plot of-ratio", title: tooltip(row) }, plot(row.ratio, alone, ratios, ratios.at(1), limit)),
      h("td", { class: `verdict ${verdict ?? ""}` }, verdict ? (VERDICTS[verdict] ?? "") : "", basis),
    );
  }
  return h("tr", { class: row.verdict ?? "" }, ...cells);
}

/** What the plot of a ratio shows. */
function tooltip({ ratio, alone, basis }: OverviewRow): string | undefined {
  if (!ratio) return undefined;
  const own = `${basis === "" ? "ratio" : basis}: ${ratio.text} ${ratio.interval}`;
  return alone ? `${own}; executions alone: ${alone.text} ${alone.interval}` : own;
}

function figureCell(of: Estimate | null, name: string, none = ""): HTMLElement {
  if (!of) return h("td", { class: name }, none);
  return h("td", { class: name }, h("strong", {}, of.text), h("small", {}, bdi(of.interval)));
}

function draw(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** A point with its interval, over the lines of the axis, and below it a paler one; widths in per cent follow the window. */
function plot(
  of: Estimate | null,
  paler: Estimate | null,
  axis: Shared | null,
  one: number | null,
  limit: number | null,
): SVGElement | null {
  if (!axis) return null;
  const svg = draw("svg", { class: "interval", width: "100%", height: 26, "aria-hidden": "true" });
  svg.append(...axis.ticks.map((tick) => upright(tick.at, "tick", 0, 26)));
  if (one !== null) svg.append(upright(one, "one", 0, 26));
  if (limit !== null) svg.append(upright(limit, "limit", 3, 23));
  if (of && paler) svg.append(...interval(of, axis, 8, 4), palerGroup(interval(paler, axis, 20, 3)));
  else if (of) svg.append(...interval(of, axis, 13, 5));
  return svg;
}

function upright(at: number, name: string, from: number, to: number): SVGElement {
  return draw("line", { class: name, x1: `${at}%`, x2: `${at}%`, y1: from, y2: to });
}

/** At a height, with caps that reach so far up and down. */
function interval(of: Estimate, axis: Shared, y: number, reach: number): SVGElement[] {
  const point = draw("circle", { class: "point", cx: `${axis.at(of.value)}%`, cy: y, r: reach > 3 ? 4 : 3 });
  if (of.low === null || of.high === null) return [point];
  const [low, high] = [axis.at(of.low), axis.at(of.high)];
  const bar = draw("line", { class: "bar", x1: `${low}%`, x2: `${high}%`, y1: y, y2: y });
  return [bar, upright(low, "cap", y - reach, y + reach), upright(high, "cap", y - reach, y + reach), point];
}

function palerGroup(parts: SVGElement[]): SVGElement {
  const group = draw("g", { class: "paler" });
  group.append(...parts);
  return group;
}

function axisCell(axis: Shared | null): HTMLElement {
  if (!axis) return h("td", {});
  const labels = axis.ticks
    .filter((tick) => tick.at >= 0 && tick.at <= 100)
    .map((tick) => h("span", { style: `left:${tick.at.toFixed(2)}%` }, tick.label));
  return h("td", { class: "plot axis" }, h("div", { class: "ticks" }, ...labels), h("small", {}, axis.title));
}

/** Stacked bars over one axis: a program's gross time is its net time and the parts of its tare. */
function accounts(bars: AccountBar[]): HTMLElement {
  const most = Math.max(...bars.map((bar) => bar.gross));
  const used = new Map<string, string>();
  const rows = bars.map((bar) => {
    const parts = bar.parts.filter((part) => part.time > 0);
    const whole = Math.max(
      parts.reduce((sum, part) => sum + part.time, 0),
      bar.gross,
    );
    const pieces = parts.map((part) => {
      used.set(part.kind, part.title);
      const width = ((part.time / whole) * 100).toFixed(4);
      return h("span", { class: `part ${part.kind}`, style: `width:${width}%`, title: `${part.title}: ${part.text}` });
    });
    const said = `${bar.title}: gross ${bar.text}; ${parts.map((p) => `${p.title} ${p.text}`).join("; ")}`;
    const stack = h("div", { class: "stack", role: "img", "aria-label": said }, ...pieces);
    stack.style.width = `${((bar.gross / most) * 100).toFixed(3)}%`;
    return h(
      "div",
      { class: "row" },
      h("span", { class: "who" }, bdi(bar.title)),
      h("div", { class: "track" }, stack),
      h("span", { class: "sum" }, bar.text),
    );
  });
  const order = [...new Set(bars.flatMap((bar) => bar.parts.map((part) => part.kind)))];
  const legend = order
    .filter((kind) => used.has(kind))
    .map((kind) => h("span", { class: "key" }, h("span", { class: `part ${kind}` }), used.get(kind) ?? ""));
  const id = uid("account");
  return h(
    "div",
    { class: "accounts", role: "group", "aria-labelledby": id },
    h("h3", { id }, "Elapsed time: gross = net + tare"),
    h("div", { class: "keys" }, ...legend),
    ...rows,
  );
}
