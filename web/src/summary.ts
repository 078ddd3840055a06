// How many samples are selected, and what they are like.

import type { Context } from "./context";
import { append, h, settled } from "./dom";
import { count, nanos, time } from "./format";
import { stats } from "./stats";

export interface Summary {
  element: HTMLElement;
  ask: () => void;
  stop: () => void;
}

export function summary({ model, selection, options }: Context): Summary {
  const text = h("p", { role: "status", "aria-live": "polite" });
  const clear = h("button", { type: "button", onclick: () => selection.clear() }, "clear selection");
  const element = h("div", { class: "summary" }, text, clear);
  const update = settled(() => {
    const head = h("strong", {}, `${count(selection.count)} of ${count(model.size)} selected`);
    const found = selection.count > 0 ? stats(options.measure.values, selection.mask) : null;
    text.replaceChildren(head);
    clear.disabled = selection.count === 0;
    element.classList.toggle("none-selected", selection.count === 0);
    if (selection.count === 0) return;
    const name = options.measure.id === "net" ? "net" : options.measure.id.toUpperCase();
    if (!found) {
      append(text, [` · ${name}: unknown for these`]);
      return;
    }
    append(text, [` · ${name}: mean `, exact(found.mean), " · median ", exact(found.median), " · s.d. "]);
    append(text, [Number.isNaN(found.sd) ? "–" : exact(found.sd)]);
    if (found.n < selection.count) append(text, [` (of the ${count(found.n)} that have it)`]);
  }, 80);
  update.now();
  selection.on("selection", update.ask);
  return { element, ask: update.ask, stop: update.stop };
}

function exact(ns: number): HTMLElement {
  return h("span", { class: "time", title: nanos(ns) }, time(ns));
}
