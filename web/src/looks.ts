// Patterns and symbols that distinguish curves in addition to colours.

import type { Curve } from "./data";
import { symbolIcon } from "./symbols";

const DASHES: number[][] = [[], [7, 4], [2, 3], [9, 3, 2, 3], [14, 5], [4, 2], [1, 2, 6, 2], [3, 6]];
const MARKS = ["circle", "square", "triangle", "diamond"] as const;

export function dashOf(look: number): number[] {
  return DASHES[look % DASHES.length]!;
}

export function markOf(look: number): (typeof MARKS)[number] {
  return MARKS[look % MARKS.length]!;
}

/** A piece of a curve for running text, or its symbol; its colour is that of the text around it. */
export function curveIcon(curve: Curve): SVGSVGElement {
  if (curve.join === "points") return symbolIcon(markOf(curve.look));
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 30 10");
  svg.setAttribute("class", "piece");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", "M0 5H30");
  line.setAttribute("stroke", "currentColor");
  line.setAttribute("stroke-width", curve.thin ? "1" : "2");
  const dash = curve.thin ? [1, 3] : dashOf(curve.look);
  if (dash.length > 0) line.setAttribute("stroke-dasharray", dash.join(" "));
  svg.append(line);
  return svg;
}
