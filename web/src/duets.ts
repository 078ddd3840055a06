// The duets of a run: a plot of each pair's ratio by block, and a table of the pairs.

import { CurvesView } from "./curves";
import type { Duets, Figure } from "./data";
import { bdi, h, uid } from "./dom";
import { staticTable } from "./static-table";

/** Above this number, one plot is shown, which is chosen from a list. */
const TOGETHER = 4;

export class DuetsView {
  readonly element: HTMLElement;
  /** The plots that are shown. */
  views: CurvesView[] = [];
  readonly #figures: Figure[];
  readonly #frame = h("div", { class: "figures" });
  readonly #card = h("div", { class: "tooltip", "aria-hidden": "true" });
  readonly #live = h("p", { class: "hidden-text", role: "status", "aria-live": "polite" });
  readonly #table: ReturnType<typeof staticTable>;
  readonly #watch: ResizeObserver;

  constructor(of: Duets) {
    this.#figures = of.figures;
    this.#table = staticTable(of.table, null);
    this.#watch = new ResizeObserver(() => this.views.forEach((view) => view.chart.resize()));
    const id = uid("duets");
    const head = h("header", {}, h("h2", { id }, "Duets"), h("p", { class: "note" }, bdi(of.note)));
    const tables = h("div", { class: "tables" }, this.#table.element);
    const choose = of.figures.length > TOGETHER ? this.#chooser() : null;
    this.element = h("section", { class: "duets", "aria-labelledby": id }, head, tables, choose, this.#frame);
    this.element.append(this.#card, this.#live);
    this.#show(of.figures.length > TOGETHER ? of.figures.slice(0, 1) : of.figures);
  }

  /** Starts drawing; the element must be in the document. */
  mount(): void {
    for (const view of this.views) view.chart.mount();
    this.#watch.observe(this.element);
  }

  printing(on: boolean): void {
    this.#table.printing(on);
    for (const view of this.views) view.chart.printing(on);
  }

  /** Ends pointing. */
  leave(): void {
    for (const view of this.views) view.leave();
  }

  /** Draws these and releases the others, so that many pairs cost no more than one. */
  #show(figures: Figure[]): void {
    for (const view of this.views) view.dispose();
    this.views = figures.map((f) => new CurvesView(f, this.#card, (text) => (this.#live.textContent = text)));
    this.#frame.replaceChildren(...this.views.map((view) => view.element));
  }

  #chooser(): HTMLElement {
    const id = uid("pair");
    const options = this.#figures.map((figure, i) => h("option", { value: i }, figure.title));
    const select = h("select", { id }, ...options);
    select.addEventListener("change", () => {
      const figure = this.#figures[Number(select.value)];
      if (!figure) return;
      this.#card.style.display = "none";
      this.#show([figure]);
      for (const view of this.views) view.chart.mount();
    });
    const all = h("span", { class: "label" }, `of ${this.#figures.length} pairs`);
    return h("div", { class: "chooser choice" }, h("label", { for: id, class: "label" }, "pair"), select, all);
  }
}
