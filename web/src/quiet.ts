// The time of a program on the quiet machine: the value, what it was corrected for, and what the probes saw.

import { CurvesView } from "./curves";
import type { Quiet } from "./data";
import { bdi, h, uid } from "./dom";
import { staticTable } from "./static-table";

export class QuietView {
  readonly element: HTMLElement;
  readonly views: CurvesView[];
  readonly #tables: ReturnType<typeof staticTable>[];
  readonly #watch: ResizeObserver;

  constructor(of: Quiet) {
    const card = h("div", { class: "tooltip", "aria-hidden": "true" });
    const live = h("p", { class: "hidden-text", role: "status", "aria-live": "polite" });
    this.views = of.figures.map((f) => new CurvesView(f, card, (text) => (live.textContent = text)));
    this.#tables = of.tables.map((t) => staticTable(t, null));
    const id = uid("quiet");
    const head = h("header", {}, h("h3", { id }, "Quiet time"), h("p", { class: "answer" }, bdi(of.answer)));
    const note = h("p", { class: "note" }, bdi(of.note));
    const figures = h("div", { class: "figures" }, ...this.views.map((v) => v.element));
    const tables = h("div", { class: "tables" }, ...this.#tables.map((t) => t.element));
    const attributes = { class: "quiet-time", "aria-labelledby": id };
    this.element = h("section", attributes, head, note, doubts(of), parts(of), figures, tables, card, live);
    this.#watch = new ResizeObserver(() => this.views.forEach((v) => v.chart.resize()));
  }

  /** Starts drawing; the element must be in the document. */
  mount(): void {
    for (const view of this.views) view.chart.mount();
    this.#watch.observe(this.element);
  }

  printing(on: boolean): void {
    for (const table of this.#tables) table.printing(on);
    for (const view of this.views) view.chart.printing(on);
  }

  /** Ends pointing. */
  leave(): void {
    for (const view of this.views) view.leave();
  }

  dispose(): void {
    this.#watch.disconnect();
    for (const view of this.views) view.dispose();
  }
}

/** A warning is named in words, because not everyone sees the colour. */
function doubts(of: Quiet): HTMLElement | null {
  if (of.doubts.length === 0) return null;
  const sign = (): HTMLElement => h("span", { class: "sign" }, "⚠ Warning: ");
  return h("ul", { class: "remarks" }, ...of.doubts.map((text) => h("li", { class: "warning" }, sign(), bdi(text))));
}

/** Bars of what each cause takes from the time; to the left of the line it became shorter, to the right longer. */
function parts(of: Quiet): HTMLElement | null {
  if (of.parts.length === 0) return null;
  const most = Math.max(...of.parts.map((part) => Math.abs(part.share)), Number.MIN_VALUE);
  const rows = of.parts.map(({ title, share, text }) => {
    const width = `${((Math.abs(share) / most) * 50).toFixed(3)}%`;
    const bar = h("span", { class: share < 0 ? "bar less" : "bar more", style: `width:${width}` });
    const track = h("span", { class: "track", "aria-hidden": "true" }, bar);
    return h("li", {}, h("span", { class: "cause" }, bdi(title)), track, h("span", { class: "share" }, text));
  });
  const id = uid("parts");
  const head = h("h4", { id }, "What the correction is for");
  return h("div", { class: "parts" }, head, h("ul", { "aria-labelledby": id }, ...rows));
}
