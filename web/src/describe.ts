// What a chart shows, in words.

import type { LevelLine } from "./data";
import { extent } from "./hit";
import { count, counted, time } from "./format";
import type { PlotModel, Values } from "./model";

const KEYS =
  "Arrow keys move from sample to sample, Home and End to the first and last, Enter selects, Escape clears the selection, plus and minus zoom, 0 shows everything.";

function classes(model: PlotModel): string {
  const counts = model.classCounts();
  return model.classes.map((c, i) => `${c.title} ${count(counts[i] ?? 0)}`).join(", ");
}

export function describeScatter(model: PlotModel): string {
  const pairs = model.pairs;
  if (!pairs) return "";
  const ends = [extent(pairs.points.x), extent(pairs.points.y)];
  const [x, y] = ends.map((e) => (e ? `from ${time(e[0])} to ${time(e[1])}` : "unknown"));
  const text = `${counted(pairs.odd.length, "pair")} of successive samples. Odd ones ${x}, even ones ${y}.`;
  return `${text} Samples: ${classes(model)}. ${KEYS}`;
}

/** The value of a line, or both of a sloping one. */
export function level({ value, end }: LevelLine): string {
  return end === undefined ? time(value) : `${time(value)} to ${time(end)}`;
}

export function describeMeasure(model: PlotModel, measure: Values): string {
  const ends = extent(measure.values);
  const range = ends ? `from ${time(ends[0])} to ${time(ends[1])}` : "unknown";
  const lines = measure.lines.map((l) => `${l.title} ${level(l)}`);
  const places = measure.places.map((p) => `${p.title} at sample ${p.number}`);
  const all = [...lines, ...places].join(", ");
  const named = all === "" ? "" : ` Lines: ${all}.`;
  return `${counted(model.size, "sample")}. ${measure.title} ${range}.${named} Samples: ${classes(model)}. ${KEYS}`;
}
