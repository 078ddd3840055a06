// One program: its plots over one selection, and its tables.

import type { Chart } from "./chart";
import type { Context } from "./context";
import { choice, daemonSearch, named } from "./controls";
import type { Plot } from "./data";
import { describeMeasure, describeScatter } from "./describe";
import { details } from "./details";
import { h, uid } from "./dom";
import { figure } from "./figure";
import { time } from "./format";
import { Histogram } from "./histogram";
import { legend } from "./legend";
import { levels } from "./levels";
import { CloudLook } from "./look";
import { PlotModel } from "./model";
import { QuietView } from "./quiet";
import { samplesTable } from "./samples-table";
import { Scatter } from "./scatter";
import { Selection } from "./selection";
import { Sequence } from "./sequence";
import { type StaticTable, staticTable } from "./static-table";
import { summary } from "./summary";
import { onTheme } from "./theme";
import { type Range, padded } from "./ticks";
import { Tooltip } from "./tooltip";

const HINT =
  "Drag to select, with Ctrl to add, with Shift to move. The wheel zooms; over an axis, that axis. A double-click shows everything.";

export interface PlotView {
  plot: Plot;
  element: HTMLElement;
  context: Context;
  charts: Chart[];
  scatter: Scatter | null;
  /** Of programs beside which probes ran. */
  quiet: QuietView | null;
  /** Once it is in the document. */
  mount: () => void;
  printing: (on: boolean) => void;
  dispose: () => void;
}

function contextOf(plot: Plot): { context: Context; live: HTMLElement } {
  const model = new PlotModel(plot);
  const live = h("p", { class: "hidden-text", "aria-live": "polite" });
  const context: Context = {
    model,
    selection: new Selection(model.kind, model.classes.length),
    options: { measure: model.measures[0]!, byTime: false, log: false, moves: false },
    look: new CloudLook(model.classes),
    tooltip: new Tooltip(model),
    say: (text) => (live.textContent = text),
  };
  return { context, live };
}

interface Views {
  element: HTMLElement;
  dual: Scatter | null;
  bars: Histogram;
  charts: Chart[];
  chooseMeasure: (id: string) => void;
}

/** The three plots in their frames. */
function viewsOf(context: Context): Views {
  const { model, options } = context;
  const ids = { scatter: uid("text"), sequence: uid("text"), histogram: uid("text") };
  const dual = model.pairs ? new Scatter(context, model.pairs, ids.scatter) : null;
  const series = new Sequence(context, ids.sequence);
  const bars = new Histogram(context, ids.histogram);
  const charts = [...(dual ? [dual.chart] : []), series.chart, bars.chart];
  const described = (): string => describeMeasure(model, options.measure);
  const axis = choice("by", named("number", "time"), "number", (by) => {
    options.byTime = by === "time";
    series.rebuilt();
  });
  const figures = [
    figure("Sequence", series.chart, ids.sequence, described(), [axis]),
    figure("Histogram", bars.chart, ids.histogram, described(), []),
  ];
  const chooseMeasure = (id: string): void => {
    options.measure = model.measure(id) ?? options.measure;
    series.rebuilt();
    bars.rebuilt();
    for (const f of figures) f.querySelector("p.hidden-text")!.textContent = described();
  };
  const first = scatterFigure(context, dual, charts, ids.scatter);
  const element = h("div", { class: dual ? "views" : "views no-dual" }, first, ...figures);
  return { element, dual, bars, charts, chooseMeasure };
}

export function plotView(plot: Plot): PlotView {
  const { context, live } = contextOf(plot);
  const { element: views, dual, bars, charts, chooseMeasure } = viewsOf(context);
  const marks = legend(context);
  const search = daemonSearch(context);
  const told = summary(context);
  const table = samplesTable(context);
  const tables = plot.tables.map((t) => staticTable(t, context.selection));
  const measures = controls(context, (id) => {
    chooseMeasure(id);
    told.ask();
  });
  const toolbar = h("div", { class: "toolbar" }, marks.element, ...measures, search.element);
  const head = h("header", {}, h("h2", {}, plot.title), plot.note === "" ? null : h("p", { class: "note" }, plot.note));
  const below = h("div", { class: "below" }, table.element, details(context));
  const given = h("div", { class: "tables" }, ...tables.map((t) => t.element));
  const hint = h("p", { class: "hint usage" }, HINT);
  const quiet = plot.quiet ? new QuietView(plot.quiet) : null;
  const samples = [toolbar, views, hint, told.element, below];
  const element = h("section", { class: "plot" }, head, ...samples, quiet?.element, given, live);
  element.append(context.tooltip.element);
  const unlisten = connect(context, charts, () => bars.recount(), table.now);
  const stops = [unlisten, marks.stop, search.stop, told.stop, table.stop];
  const life = lifetime(element, charts, tables, quiet, stops);
  return { plot, element, context, charts, scatter: dual, quiet, ...life };
}

/** Changes in one view are drawn in the others. */
function connect(context: Context, charts: Chart[], recount: () => void, redrawTable: () => void): () => void {
  const { selection, model } = context;
  let some = false;
  selection.on("selection", () => {
    // The others look different only once a first sample is selected, or the last one no longer is.
    const changed = some !== selection.count > 0;
    some = selection.count > 0;
    for (const chart of charts) {
      const bars = chart.spec.name === "histogram";
      chart.refresh(bars ? "axes" : changed ? "points" : "chosen");
    }
  });
  selection.on("focus", () => {
    for (const chart of charts) chart.drawFocus();
    const { sample } = selection.pinned;
    if (sample < 0 || selection.hovered.sample >= 0) return;
    const times = model.measures.map(
      (m) => `${m.id} ${Number.isNaN(m.values[sample]!) ? "unknown" : time(m.values[sample]!)}`,
    );
    context.say(
      `Sample ${model.number[sample]}: ${times.join(", ")}, ${model.classes[model.kind[sample]!]?.title ?? ""}`,
    );
  });
  selection.on("classes", () => {
    recount();
    for (const chart of charts) chart.refresh("points");
  });
  return onTheme(() => {
    for (const chart of charts) chart.refresh("axes");
    redrawTable();
  });
}

function controls(context: Context, chooseMeasure: (id: string) => void): HTMLElement[] {
  const { model, options } = context;
  const measures = model.measures.map((m): [string, string] => [m.id, m.id === "net" ? "net" : m.id.toUpperCase()]);
  const result = [];
  if (measures.length > 1) result.push(choice("measure", measures, options.measure.id, chooseMeasure));
  const drag = choice(
    "drag",
    [
      ["select", "selects"],
      ["move", "moves"],
    ],
    "select",
    (to) => (options.moves = to === "move"),
  );
  return [...result, drag];
}

function scatterFigure(context: Context, dual: Scatter | null, charts: Chart[], id: string): HTMLElement {
  const title = "Dual executions";
  const { model } = context;
  if (!dual || !model.pairs) {
    const reason = typeof model.plot.dual === "string" ? model.plot.dual : "";
    return h(
      "figure",
      { class: "scatter" },
      h("figcaption", {}, h("h3", {}, title)),
      h("p", { class: "instead" }, reason),
    );
  }
  const pairs = model.pairs;
  let choosing = false;
  const zoom = levels(pairs.levels, pairs.odd.length, (index) => {
    choosing = true;
    dual.level(index);
    choosing = false;
    const level = pairs.levels[index];
    if (level) followLevel(context, charts, [Math.min(level.x[0], level.y[0]), Math.max(level.x[1], level.y[1])]);
  });
  dual.chart.spec.viewed = () => {
    if (!choosing) zoom.leave();
  };
  const scale = choice("scale", named("linear", "log"), "linear", (to) => {
    dual.setLog(to === "log");
    zoom.leave();
  });
  const element = figure(title, dual.chart, id, describeScatter(model), [zoom.buttons, scale]);
  element.querySelector("figcaption")?.append(zoom.text);
  return element;
}

/** The other plots show what a level shows, if they are about the same measure. */
function followLevel({ options, model }: Context, charts: Chart[], range: Range): void {
  if (model.pairs?.measure !== options.measure) return;
  const shown = padded(range, 0.05);
  for (const chart of charts) {
    if (chart.spec.name === "sequence") chart.setView({ x: chart.view.x, y: shown });
    if (chart.spec.name === "histogram") chart.setView({ x: shown, y: chart.view.y });
  }
}

function lifetime(
  element: HTMLElement,
  charts: Chart[],
  tables: StaticTable[],
  quiet: QuietView | null,
  stops: (() => void)[],
): Pick<PlotView, "mount" | "printing" | "dispose"> {
  const watch = new ResizeObserver(() => charts.forEach((chart) => chart.resize()));
  return {
    mount: () => {
      charts.forEach((chart) => chart.mount());
      quiet?.mount();
      watch.observe(element);
    },
    printing: (on) => {
      tables.forEach((t) => t.printing(on));
      charts.forEach((chart) => chart.printing(on));
      quiet?.printing(on);
    },
    dispose: () => {
      watch.disconnect();
      quiet?.dispose();
      stops.forEach((stop) => stop());
      charts.forEach((chart) => chart.dispose());
      element.remove();
    },
  };
}
