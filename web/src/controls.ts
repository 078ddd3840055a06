// The controls above the plots of a program.

import type { Context } from "./context";
import { h, settled, uid } from "./dom";

/** Entries of a choice whose values are their titles. */
export function named<T extends string>(...values: T[]): [T, string][] {
  return values.map((value) => [value, value]);
}

/** A labelled row of buttons of which one is pressed. */
export function choice<T extends string>(
  label: string,
  entries: [T, string][],
  first: T,
  chosen: (value: T) => void,
): HTMLElement {
  const buttons = entries.map(([value, text]) => {
    const button = h("button", { type: "button", "aria-pressed": String(value === first) }, text);
    button.addEventListener("click", () => {
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
      chosen(value);
    });
    return button;
  });
  const id = uid("choice");
  const name = h("span", { id, class: "label" }, label);
  return h(
    "div",
    { class: "choice", role: "group", "aria-labelledby": id },
    name,
    h("span", { class: "set" }, ...buttons),
  );
}

/** The field that selects the samples in which a daemon ran. */
export function daemonSearch({ model, selection, say }: Context): { element: HTMLElement; stop: () => void } {
  const id = uid("search");
  const input = h("input", {
    type: "search",
    id,
    placeholder: "part of its name",
    spellcheck: "false",
    autocomplete: "off",
  });
  const source = { search: true };
  const find = settled(() => {
    const wanted = input.value.trim();
    if (wanted !== "") selection.replace((mark) => model.ran(wanted, mark), null, source);
    else if (selection.source === source) selection.clear();
    if (wanted !== "" && selection.count === 0) say("No sample in which such a daemon ran.");
    input.classList.toggle("nothing", wanted !== "" && selection.count === 0 && selection.source === source);
  }, 120);
  input.addEventListener("input", find.ask);
  // The search text no longer describes the selection.
  selection.on("selection", () => {
    if (selection.source !== source && input.value !== "") input.value = "";
    if (selection.source !== source) input.classList.remove("nothing");
  });
  const known = model.plot.samples.daemons.length > 0;
  input.disabled = !known;
  if (!known) input.placeholder = "none known";
  const label = h("label", { for: id, class: "label" }, "daemon");
  return { element: h("div", { class: "choice search" }, label, input), stop: find.stop };
}

export function button(text: string, title: string, act: () => void): HTMLButtonElement {
  return h("button", { type: "button", title, onclick: act }, text);
}
