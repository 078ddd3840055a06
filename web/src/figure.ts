// A chart with its caption, its buttons, and its description.

import type { Chart } from "./chart";
import { button } from "./controls";
import { h } from "./dom";
import { palette } from "./theme";

export function figure(
  title: string,
  chart: Chart,
  descriptionId: string,
  described: string,
  tools: Node[],
): HTMLElement {
  const reset = button("reset", "show everything (double-click, or 0)", () => chart.reset());
  const save = button("PNG", "save as an image", () => download(chart));
  const bar = h("div", { class: "tools" }, ...tools, reset, save);
  const caption = h("figcaption", {}, h("h3", {}, title), bar);
  return h(
    "figure",
    { class: chart.spec.name },
    caption,
    h("p", { id: descriptionId, class: "hidden-text" }, described),
    chart.host,
  );
}

function download(chart: Chart): void {
  const url = chart.picture(3, palette().paper)?.toDataURL("image/png");
  if (url) h("a", { href: url, download: `tare-${chart.spec.file ?? chart.spec.name}.png` }).click();
}
