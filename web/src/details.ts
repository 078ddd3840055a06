// Everything about the sample, or pair of samples, that the pointer or the keyboard is on.

import { accountView } from "./account";
import type { Context } from "./context";
import { absent, bdi, h, perFrame } from "./dom";
import { localTime, nanos, time } from "./format";
import { classLine } from "./tooltip";

export function details(context: Context): HTMLElement {
  const body = h("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Details of the sample" });
  const element = h("aside", { class: "details" }, h("h3", {}, "Details"), body);
  let shown = "";
  const draw = (): void => {
    const { sample, partner } = context.selection.focus;
    const key = `${sample}/${partner}`;
    if (key === shown) return;
    shown = key;
    element.classList.toggle("empty", sample < 0);
    body.replaceChildren(
      ...(sample < 0
        ? [hint()]
        : content(
            context,
            [sample, partner].filter((i) => i >= 0),
          )),
    );
    body.scrollTop = 0;
  };
  context.selection.on("focus", perFrame(draw));
  draw();
  return element;
}

function hint(): HTMLElement {
  const text =
    "Point at a sample, click it, or step with the arrow keys in a plot: its times, daemons and account are shown here.";
  return h("p", { class: "hint" }, text);
}

function content(context: Context, samples: number[]): HTMLElement[] {
  const head = h("div", { class: "halves" }, ...samples.map((i) => identity(context, i)));
  const parts = [head, times(context, samples), daemons(context, samples)];
  for (const i of samples) {
    const account = context.model.account(i);
    if (!account) continue;
    parts.push(
      h("h4", {}, samples.length > 1 ? `Account of sample ${context.model.number[i]}` : "Account"),
      accountView(account),
    );
  }
  return parts;
}

function identity({ model }: Context, i: number): HTMLElement {
  const start = h("p", { class: "when" }, localTime(model.start[i]!));
  return h("div", {}, h("h4", {}, `Sample ${model.number[i]}`), start, classLine(model, i));
}

/** A row per measure, a column per sample. */
function times({ model }: Context, samples: number[]): HTMLElement {
  const rows = model.measures.map((measure) => {
    const cells = samples.map((i) => {
      const value = measure.values[i]!;
      if (Number.isNaN(value)) return h("td", { class: "right" }, absent());
      return h("td", { class: "right", title: nanos(value) }, time(value), h("small", {}, nanos(value)));
    });
    return h("tr", {}, h("th", { scope: "row" }, measure.title), ...cells);
  });
  return h("table", { class: "mini" }, heads(model.number, samples), h("tbody", {}, ...rows));
}

function heads(number: Float64Array, samples: number[]): HTMLElement | null {
  if (samples.length < 2) return null;
  const cells = samples.map((i) => h("th", { scope: "col", class: "right" }, `sample ${number[i]}`));
  return h("thead", {}, h("tr", {}, h("td", {}), ...cells));
}

function daemons({ model }: Context, samples: number[]): HTMLElement {
  const known = samples.map((i) => model.executions(i));
  const box = h("div", {}, h("h4", {}, "Daemons (process time)"));
  if (known.every((list) => list === null)) {
    box.append(h("p", { class: "hint" }, "Unknown: the daemons were not recorded."));
    return box;
  }
  const names = new Map<string, number[]>();
  known.forEach((list, column) => {
    for (const { name, time: spent } of list ?? []) {
      const row = names.get(name) ?? samples.map((_, c) => (known[c] === null ? NaN : -1));
      row[column] = Math.max(0, row[column] ?? 0) + spent;
      names.set(name, row);
    }
  });
  if (names.size === 0) {
    box.append(h("p", { class: "hint" }, "None ran."));
    return box;
  }
  const sorted = [...names].sort(([, a], [, b]) => largest(b) - largest(a));
  const rows = sorted.map(([name, row]) => h("tr", {}, h("th", { scope: "row" }, bdi(name)), ...row.map(cell)));
  box.append(h("table", { class: "mini" }, heads(model.number, samples), h("tbody", {}, ...rows)));
  return box;
}

function largest(row: number[]): number {
  return row.reduce((most, v) => (v > most ? v : most), -1);
}

/** -1: it did not run in this sample; NaN: unknown. */
function cell(spent: number): HTMLElement {
  if (Number.isNaN(spent)) return h("td", { class: "right" }, absent());
  if (spent < 0) return h("td", { class: "right absent", title: "did not run" }, "·");
  return h("td", { class: "right", title: nanos(spent) }, time(spent));
}
