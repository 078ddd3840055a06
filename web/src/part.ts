// Figures and tables that belong together: those of one grain of a measurement of noise.

import { CurvesView } from "./curves";
import type { Part } from "./data";
import { bdi, h } from "./dom";
import { staticTable } from "./static-table";

const HINT =
  "Drag to zoom in, with Shift to move. The wheel zooms across; over an axis, that axis. A double-click shows everything. " +
  "With the keyboard: ← and → move along a curve, ↑ and ↓ to another curve, + and − zoom.";

export class PartView {
  readonly id: string;
  readonly element: HTMLElement;
  readonly views: CurvesView[];
  readonly #printing: ((on: boolean) => void)[];
  readonly #watch: ResizeObserver;

  constructor(part: Part) {
    this.id = part.id;
    const card = h("div", { class: "tooltip", "aria-hidden": "true" });
    const live = h("p", { class: "hidden-text", role: "status", "aria-live": "polite" });
    this.views = part.figures.map((f) => new CurvesView(f, card, (text) => (live.textContent = text)));
    const tables = part.tables.map((t) => staticTable(t, null));
    this.#printing = [
      ...this.views.map((v) => (on: boolean) => v.chart.printing(on)),
      ...tables.map((t) => t.printing),
    ];
    const note = part.note === "" ? null : h("p", { class: "note" }, bdi(part.note));
    const figures = h("div", { class: "figures" }, ...this.views.map((v) => v.element));
    const below = h("div", { class: "tables" }, ...tables.map((t) => t.element));
    const head = h("header", {}, h("h2", {}, bdi(part.title)), note);
    this.element = h("section", { class: "plot part" }, head, figures, h("p", { class: "hint usage" }, HINT), below);
    this.element.append(card, live);
    this.#watch = new ResizeObserver(() => this.views.forEach((v) => v.chart.resize()));
  }

  /** Starts drawing; the element must be in the document. */
  mount(): void {
    for (const view of this.views) view.chart.mount();
    this.#watch.observe(this.element);
  }

  printing(on: boolean): void {
    for (const print of this.#printing) print(on);
  }

  leave(): void {
    for (const view of this.views) view.leave();
  }

  dispose(): void {
    this.#watch.disconnect();
    for (const view of this.views) view.dispose();
    this.element.remove();
  }
}
