// The small card beside the pointer. Text nodes only.

import { absent, bdi, h } from "./dom";
import { nanos, time } from "./format";
import type { PlotModel } from "./model";
import type { Focus } from "./selection";
import type { Spot } from "./gestures";
import { symbolIcon } from "./symbols";
import { classColors } from "./theme";

/** Daemons that the card has room for; the details name all. */
const DAEMONS = 6;

export class Tooltip {
  readonly element = h("div", { class: "tooltip", "aria-hidden": "true" });
  readonly #model: PlotModel;
  #shown: Focus | null = null;

  constructor(model: PlotModel) {
    this.#model = model;
  }

  show(focus: Focus | null, at: Spot): void {
    if (!focus || focus.sample < 0) {
      this.#shown = null;
      this.element.style.display = "none";
      return;
    }
    if (this.#shown?.sample !== focus.sample || this.#shown.partner !== focus.partner) {
      this.#shown = focus;
      const samples = [focus.sample, focus.partner].filter((i) => i >= 0);
      this.element.replaceChildren(...samples.map((i) => this.#sample(i)));
    }
    this.element.style.display = "flex";
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const room = { x: document.documentElement.clientWidth, y: window.innerHeight };
    const x = at.x + 16 + width > room.x ? at.x - 16 - width : at.x + 16;
    const y = Math.min(at.y + 12, room.y - height - 8);
    this.element.style.transform = `translate(${Math.max(4, Math.min(x, room.x - width - 4))}px, ${Math.max(4, y)}px)`;
  }

  #sample(i: number): HTMLElement {
    const model = this.#model;
    const list = h("dl", {});
    for (const measure of model.measures) {
      const value = measure.values[i]!;
      const text = Number.isNaN(value) ? absent() : h("span", { title: nanos(value) }, time(value));
      list.append(h("dt", {}, measure.id === "net" ? "net" : measure.id.toUpperCase()), h("dd", {}, text));
    }
    const card = h("div", { class: "card" }, h("strong", {}, `Sample ${model.number[i]}`), classLine(model, i), list);
    const daemons = model.executions(i);
    if (daemons === null) card.append(h("p", { class: "none" }, "daemons unknown"));
    else if (daemons.length === 0) card.append(h("p", { class: "none" }, "no daemon ran"));
    else {
      const rows = daemons.slice(0, DAEMONS).flatMap((d) => [h("dt", {}, bdi(d.name)), h("dd", {}, time(d.time))]);
      card.append(h("dl", { class: "daemons" }, ...rows));
      const more = daemons.length - DAEMONS;
      if (more > 0) card.append(h("p", { class: "none" }, `and ${more} more`));
    }
    return card;
  }
}

/** Symbol, class, and why the sample was discarded if it was. */
export function classLine(model: PlotModel, i: number): HTMLElement {
  const of = model.classes[model.kind[i]!];
  const line = h("p", { class: "class" });
  if (of) {
    const icon = symbolIcon(of.symbol);
    icon.style.color = classColors(model.classes)[model.kind[i]!] ?? "";
    line.append(icon, bdi(of.title));
  }
  const reason = model.reason(i);
  if (reason !== null) line.append(" – ", bdi(reason));
  return line;
}
