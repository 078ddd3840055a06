// The page around the plots: what was measured, which program is shown, the tables of the whole.

import type { Overview, Page, Part, Plot, Remark } from "./data";
import { bdi, h, uid } from "./dom";
import { DuetsView } from "./duets";
import { counted } from "./format";
import { overviewView } from "./overview";
import { PartView } from "./part";
import { type PlotView, plotView } from "./plot";
import { staticTable, type StaticTable } from "./static-table";
import { toggleTheme } from "./theme";
import { TimelineView } from "./timeline";

/** Above this number, plots are chosen from a list. */
const TABS = 8;

export class PageView {
  readonly element: HTMLElement;
  current: PlotView | null = null;
  /** Of a trace. */
  readonly timeline: TimelineView | null;
  /** Of programs that ran together. */
  readonly duets: DuetsView | null;
  /** Of noise: the part that is shown. */
  part: PartView | null = null;
  readonly #page: Page;
  readonly #panel = h("div", { class: "panel" });
  readonly #tables: StaticTable[];
  #mark: (index: number) => void = () => undefined;

  constructor(page: Page) {
    this.#page = page;
    this.timeline = page.timeline ? new TimelineView(page.timeline) : null;
    this.duets = page.overview?.duets ? new DuetsView(page.overview.duets) : null;
    this.#tables = page.tables.map((t) => staticTable(t, null));
    const whole = h("section", { class: "whole tables" }, ...this.#tables.map((t) => t.element));
    const foot = h("footer", {}, h("p", {}, page.foot));
    // A run opens with its result, a profile with its cutoffs, a trace with its timeline, noise with how much there
    // is, benchmarks with their times, a gate with its verdicts.
    const early = ["profile", "noise", "bench", "gate"].includes(page.kind);
    const first = early ? whole : null;
    const last = early ? null : whole;
    const periods = this.timeline && h("div", { class: "tables" }, this.timeline.periods);
    const top = page.overview ? result(page, page.overview, this.duets) : [header(page)];
    const conditions = page.overview
      ? h("section", { class: "conditions" }, h("h3", {}, "Conditions"), facts(page))
      : null;
    const middle = [first, this.#chooser(), this.#panel, conditions, last, periods];
    this.element = h("main", {}, ...top, ...middle, foot);
    window.addEventListener("hashchange", () => this.show(this.#fromHash()));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      this.current?.context.selection.clear();
      this.current?.context.tooltip.show(null, { x: 0, y: 0 });
      this.current?.quiet?.leave();
      this.part?.leave();
      this.duets?.leave();
    });
  }

  start(): void {
    this.duets?.mount();
    if (this.timeline) {
      this.#panel.append(this.timeline.element);
      this.timeline.mount();
    } else if (this.#shown.length > 0) this.show(this.#fromHash());
    else this.#panel.append(h("p", { class: "instead" }, "There is nothing to plot: no sample was measured."));
  }

  #fromHash(): number {
    let id = "";
    try {
      id = decodeURIComponent(location.hash.slice(1));
    } catch {
      // Not a fragment of this page.
    }
    return Math.max(
      0,
      this.#shown.findIndex((plot) => plot.id === id),
    );
  }

  /** The plots or parts to choose from. */
  get #shown(): (Plot | Part)[] {
    return this.#page.plots.length > 0 ? this.#page.plots : (this.#page.parts ?? []);
  }

  /** Draws a plot or a part and releases the one before, so that 500 programs cost no more than one. */
  show(index: number): void {
    this.#showPart(index);
    const plot = this.#page.plots[index];
    if (!plot || this.current?.plot === plot) return;
    this.current?.dispose();
    this.current = plotView(plot);
    this.#panel.replaceChildren(this.current.element);
    this.current.mount();
    this.#mark(index);
  }

  #showPart(index: number): void {
    const part = this.#page.plots.length > 0 ? undefined : this.#page.parts?.[index];
    if (!part || this.part?.id === part.id) return;
    this.part?.dispose();
    this.part = new PartView(part);
    this.#panel.replaceChildren(this.part.element);
    this.part.mount();
    this.#mark(index);
  }

  #go(index: number): void {
    const plot = this.#shown[index];
    if (plot) history.replaceState(null, "", `#${encodeURIComponent(plot.id)}`);
    this.show(index);
  }

  printing(on: boolean): void {
    for (const table of this.#tables) table.printing(on);
    this.current?.printing(on);
    this.timeline?.printing(on);
    this.duets?.printing(on);
    this.part?.printing(on);
  }

  #chooser(): HTMLElement | null {
    const shown = this.#shown;
    if (shown.length < 2) return null;
    const names: Partial<Record<Page["kind"], string>> = {
      run: "program",
      noise: "grain",
      study: "method",
      bench: "benchmark",
    };
    const what = names[this.#page.kind] ?? "part";
    return shown.length <= TABS
      ? this.#tabs(shown, `${what[0]!.toUpperCase()}${what.slice(1)}s`)
      : this.#list(shown, what);
  }

  #tabs(plots: (Plot | Part)[], what: string): HTMLElement {
    this.#panel.id = uid("panel");
    this.#panel.setAttribute("role", "tabpanel");
    const tabs = plots.map((plot, i) => {
      const attributes = { type: "button", role: "tab", id: uid("tab"), "aria-controls": this.#panel.id };
      return h("button", { ...attributes, onclick: () => this.#go(i) }, bdi(plot.title));
    });
    this.#mark = (index) => {
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === index));
        tab.tabIndex = i === index ? 0 : -1;
      });
      this.#panel.setAttribute("aria-labelledby", tabs[index]?.id ?? "");
    };
    const bar = h("div", { class: "tabs", role: "tablist", "aria-label": what }, ...tabs);
    bar.addEventListener("keydown", (event) => {
      const at = tabs.indexOf(event.target as HTMLButtonElement);
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (at < 0 || by === undefined) return;
      const next = (at + by + tabs.length) % tabs.length;
      this.#go(next);
      tabs[next]?.focus();
    });
    return bar;
  }

  #list(plots: (Plot | Part)[], what: string): HTMLElement {
    const id = uid("plots");
    const options = plots.map((plot, i) => h("option", { value: i }, plot.title));
    const select = h("select", { id }, ...options);
    select.addEventListener("change", () => this.#go(Number(select.value)));
    const step = (by: number): void => this.#go((Number(select.value) + by + plots.length) % plots.length);
    this.#mark = (index) => (select.value = String(index));
    return h(
      "div",
      { class: "chooser choice" },
      h("label", { for: id, class: "label" }, what),
      h("button", { type: "button", "aria-label": `previous ${what}`, onclick: () => step(-1) }, "‹"),
      select,
      h("button", { type: "button", "aria-label": `next ${what}`, onclick: () => step(1) }, "›"),
      h("span", { class: "label" }, `of ${plots.length}`),
    );
  }
}

function themeButton(): HTMLElement {
  return h(
    "button",
    { type: "button", class: "theme", title: "light or dark", onclick: toggleTheme },
    "◐ light / dark",
  );
}

function facts(page: Page): HTMLElement | null {
  const entries = page.facts.flatMap(([label, text]) => [h("dt", {}, label), h("dd", {}, bdi(text))]);
  return entries.length > 0 ? h("dl", { class: "facts" }, ...entries) : null;
}

function remarks(page: Page): HTMLElement | null {
  return page.remarks.length > 0 ? h("ul", { class: "remarks" }, ...page.remarks.map(remark)) : null;
}

/** The head of a run: its result, with its duets and the remarks below it, and at the top how many of them are warnings. */
function result(page: Page, overview: Overview, duets: DuetsView | null): (HTMLElement | null)[] {
  const said = remarks(page);
  const warnings = page.remarks.filter((r) => r.warning).length;
  const text = `⚠ ${counted(warnings, "warning")} below`;
  const jump = (): void => said?.scrollIntoView({ block: "center" });
  const link = warnings > 0 ? h("button", { type: "button", class: "warnings", onclick: jump }, text) : null;
  const top = h("header", { class: "top brief" }, themeButton(), link, h("h1", {}, bdi(page.title)));
  return [top, overviewView(overview), duets?.element ?? null, said];
}

function header(page: Page): HTMLElement {
  return h(
    "header",
    { class: "top" },
    themeButton(),
    h("h1", {}, bdi(page.title)),
    page.subtitle === "" ? null : h("p", { class: "subtitle" }, bdi(page.subtitle)),
    facts(page),
    remarks(page),
  );
}

/** A warning is named in words, because not everyone sees the colour. */
function remark({ warning, text }: Remark): HTMLElement {
  const sign = h("span", { class: "sign" }, warning ? "⚠ Warning: " : "Note: ");
  return h("li", { class: warning ? "warning" : "remark" }, sign, bdi(text));
}
