// The classes with their symbols and counts; each is a switch.

import type { Context } from "./context";
import { bdi, h } from "./dom";
import { count } from "./format";
import { symbolIcon } from "./symbols";
import { classColors, onTheme } from "./theme";

export interface Legend {
  element: HTMLElement;
  stop: () => void;
}

export function legend({ model, selection }: Context): Legend {
  const counts = model.classCounts();
  const icons: [SVGSVGElement, number][] = [];
  const buttons = model.classes.map((of, kind) => {
    const icon = symbolIcon(of.symbol);
    icons.push([icon, kind]);
    const button = h(
      "button",
      { type: "button", class: "entry", "aria-pressed": "true", title: "show or hide these samples" },
      icon,
      bdi(of.title),
      h("span", { class: "count" }, count(counts[kind] ?? 0)),
    );
    button.addEventListener("click", () => selection.toggleClass(kind));
    return button;
  });
  selection.on("classes", () => {
    buttons.forEach((button, kind) => button.setAttribute("aria-pressed", String(selection.hidden[kind] !== 1)));
  });
  const paint = (): void => {
    const colors = classColors(model.classes);
    for (const [icon, kind] of icons) icon.style.color = colors[kind] ?? "";
  };
  paint();
  return {
    element: h("div", { class: "legend", role: "group", "aria-label": "Classes" }, ...buttons),
    stop: onTheme(paint),
  };
}
