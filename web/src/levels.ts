// The zoom levels of the scatter plot: a button for each, and the one that is shown.

import type { Level } from "./data";
import { bdi, h } from "./dom";
import { counted } from "./format";

export interface Levels {
  buttons: HTMLElement;
  text: HTMLElement;
  /** The view is no longer that of a level. */
  leave: () => void;
  choose: (index: number) => void;
}

export function levels(all: Level[], pairs: number, show: (index: number) => void): Levels {
  const text = h("p", { class: "level", "aria-live": "polite" });
  const say = (i: number, level: Level): string => `level ${i + 1} of ${all.length}: ${counted(level.members, "pair")}`;
  const buttons = all.map((level, i) => {
    const label = `${say(i, level)} (${level.title})`;
    const attributes = { type: "button", "aria-pressed": "false", "aria-label": label, title: label };
    return h("button", { ...attributes, onclick: () => choose(i) }, String(i + 1));
  });
  const press = (index: number): void => {
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(i === index)));
    const level = all[index];
    if (level) text.replaceChildren(say(index, level), " – ", bdi(level.title));
    else text.replaceChildren(`${counted(pairs, "pair")} in all`);
  };
  const choose = (index: number): void => {
    show(index);
    press(index);
  };
  press(-1);
  const label = h("span", { class: "label" }, "level");
  const group = h("span", { class: "choice", role: "group", "aria-label": "Zoom levels" }, label);
  if (all.length > 0) group.append(h("span", { class: "set" }, ...buttons));
  return { buttons: group, text, leave: () => press(-1), choose };
}
