// A timeline on a canvas: an overview of the whole, the CPU with its inactive periods, lanes of kernel events, an axis.

import type { GapClass, Symbol } from "./data";
import { stamp } from "./symbols";
import { FONT, palette } from "./theme";
import { type Range, timeTicks } from "./ticks";
import { CLASSES, LANES, LANE_TITLES, type TimelineModel, lowest } from "./timeline-model";

/** The shapes beside the colours; triangles are timer interrupts, as in the book. */
export const SHAPES: Record<GapClass, Symbol> = {
  timer: "triangle",
  interrupt: "diamond",
  softirq: "circle",
  task: "square",
  idle: "plus",
  no_event: "cross",
  unknown: "ring",
};

const MARGIN = { left: 78, right: 14 };
const OVERVIEW = { top: 4, height: 18 };
const SIGNS = { top: 34, height: 12 };
const BAR = { top: 48, height: 38 };
const TRIANGLES = { top: 88, height: 12 };
const LANE = { top: 106, height: 18, apart: 5 };
/** Signs of one class closer than this are merged, px. */
const APART = 7;
/** Minimum width of a period, px. */
const LEAST = 1;

export interface Scene {
  model: TimelineModel;
  range: Range;
  hidden: ReadonlySet<number>;
  focus: number;
  width: number;
  brush: Range | null;
}

export function heightOf(model: TimelineModel): number {
  const lanes = model.events ? LANES.length : 0;
  return LANE.top + lanes * (LANE.height + LANE.apart) + 44;
}

/** Where the plot lies: its left and its width, px. */
export function plotOf(width: number): { left: number; width: number } {
  return { left: MARGIN.left, width: Math.max(40, width - MARGIN.left - MARGIN.right) };
}

/** What is drawn at a height. */
export function partAt(model: TimelineModel, y: number): "overview" | "cpu" | "below" | (typeof LANES)[number] {
  if (y < OVERVIEW.top + OVERVIEW.height + 4) return "overview";
  if (y < LANE.top - 2) return "cpu";
  const lane = Math.floor((y - LANE.top) / (LANE.height + LANE.apart));
  return (model.events ? LANES[lane] : undefined) ?? "below";
}

/** Draws it; returns how many periods were drawn. */
export function draw(context: CanvasRenderingContext2D, scene: Scene, density: number): number {
  const { model, range, width } = scene;
  const plot = plotOf(width);
  const colors = palette();
  const height = heightOf(model);
  const x = (ns: number): number => plot.left + ((ns - range[0]) / (range[1] - range[0])) * plot.width;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.fillStyle = colors.paper;
  context.fillRect(0, 0, width, height);
  overview(context, scene, plot);
  axis(context, scene, plot, x, height);
  context.fillStyle = colors.active;
  context.fillRect(x(Math.max(0, range[0])), BAR.top, x(Math.min(model.length, range[1])) - x(range[0]), BAR.height);
  context.save();
  context.beginPath();
  context.rect(plot.left - 1, BAR.top, plot.width + 2, BAR.height);
  context.clip();
  const drawn = periods(context, scene, x, BAR, range);
  context.restore();
  signs(context, scene, x, density);
  lanes(context, scene, plot, x);
  titles(context, model);
  focusRing(context, scene, plot, x);
  if (scene.brush) {
    context.fillStyle = colors.accent;
    context.globalAlpha = 0.2;
    const [a, b] = [x(scene.brush[0]), x(scene.brush[1])];
    context.fillRect(Math.min(a, b), BAR.top - 14, Math.abs(b - a), height - BAR.top - 30);
    context.globalAlpha = 1;
  }
  return drawn;
}

/** The inactive periods of a range as bars. Those that would be covered are omitted. */
function periods(
  context: CanvasRenderingContext2D,
  { model, hidden }: Scene,
  x: (ns: number) => number,
  at: { top: number; height: number },
  [from, to]: Range,
): number {
  const colors = palette().gaps;
  const first = model.firstAfter(from);
  const rectangles = new Map<GapClass, Path2D>();
  const reached = new Map<GapClass, number>();
  let drawn = 0;
  for (let i = first; i < model.size && model.start[i]! <= to; i++) {
    if (hidden.has(model.cause[i]!)) continue;
    drawn += 1;
    const of = model.classOf(i);
    const left = Math.max(x(model.start[i]!), reached.get(of) ?? -1e5);
    const right = Math.min(1e5, Math.max(x(model.end[i]!), left + LEAST));
    if (x(model.end[i]!) < left - 0.5) continue;
    let path = rectangles.get(of);
    if (!path) rectangles.set(of, (path = new Path2D()));
    path.rect(left, at.top, right - left, at.height);
    reached.set(of, right);
  }
  for (const of of CLASSES) {
    const path = rectangles.get(of);
    if (!path) continue;
    context.fillStyle = colors[of];
    context.fill(path);
  }
  return drawn;
}

function overview(context: CanvasRenderingContext2D, scene: Scene, plot: { left: number; width: number }): void {
  const { model, range } = scene;
  const colors = palette();
  const length = model.length || 1;
  const x = (ns: number): number => plot.left + (ns / length) * plot.width;
  context.fillStyle = colors.active;
  context.fillRect(plot.left, OVERVIEW.top, plot.width, OVERVIEW.height);
  periods(context, scene, x, OVERVIEW, [0, length]);
  // What is not shown below is paler.
  context.fillStyle = colors.paper;
  context.globalAlpha = 0.65;
  context.fillRect(plot.left, OVERVIEW.top, x(range[0]) - plot.left, OVERVIEW.height);
  context.fillRect(x(range[1]), OVERVIEW.top, plot.left + plot.width - x(range[1]), OVERVIEW.height);
  context.globalAlpha = 1;
  context.strokeStyle = colors.ink;
  context.lineWidth = 1;
  const wide = Math.max(3, x(range[1]) - x(range[0]));
  context.strokeRect(x(range[0]) + 0.5, OVERVIEW.top - 1.5, wide - 1, OVERVIEW.height + 3);
}

/** Signs of causes above the bar, triangles at timer interrupts below it. */
function signs(
  context: CanvasRenderingContext2D,
  { model, range, hidden }: Scene,
  x: (ns: number) => number,
  density: number,
): void {
  const colors = palette();
  const put = (of: GapClass, at: number, y: number, color: string): void => {
    const look = { shape: SHAPES[of], color, radius: 3.6, alpha: 1, outline: null };
    const { picture, size } = stamp(look, density);
    context.drawImage(picture, at - size / 2, y - size / 2, size, size);
  };
  const last = new Map<GapClass, number>();
  const apart = (of: GapClass, at: number): boolean => {
    if (at - (last.get(of) ?? -1e9) < APART) return false;
    last.set(of, at);
    return true;
  };
  for (let i = model.firstAfter(range[0]); i < model.size && model.start[i]! <= range[1]; i++) {
    const of = model.classOf(i);
    if (of === "timer" || hidden.has(model.cause[i]!)) continue;
    const at = x(Math.max(model.start[i]!, range[0]));
    if (apart(of, at)) put(of, at, SIGNS.top + SIGNS.height / 2, colors.gaps[of]);
  }
  const first = lowest(model.ticks.length, (i) => model.ticks[i]! >= range[0]);
  for (let i = first; i < model.ticks.length && model.ticks[i]! <= range[1]; i++) {
    const at = x(model.ticks[i]!);
    if (apart("timer", at)) put("timer", at, TRIANGLES.top + TRIANGLES.height / 2, colors.faint);
  }
}

/** Recorded kernel events, a lane for each kind; a wide one shows its name. */
function lanes(
  context: CanvasRenderingContext2D,
  { model, range }: Scene,
  plot: { left: number; width: number },
  x: (ns: number) => number,
): void {
  const colors = palette();
  context.save();
  context.beginPath();
  context.rect(plot.left, BAR.top, plot.width, heightOf(model));
  context.clip();
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  if (model.events) {
    LANES.forEach((lane, n) => {
      const top = LANE.top + n * (LANE.height + LANE.apart);
      context.fillStyle = colors.grid;
      context.fillRect(plot.left, top, plot.width, LANE.height);
      const order = model.lanes[lane];
      let reached = -1e5;
      for (let i = model.laneFirst(lane, range[0]); i < order.length; i++) {
        const told = model.told(order[i]!);
        if (!told || told.start > range[1]) break;
        if (told.end < range[0]) continue;
        const left = Math.max(x(told.start), plot.left);
        const right = Math.min(Math.max(x(told.end), left + LEAST), plot.left + plot.width);
        if (right - reached < 0.5) continue;
        reached = Math.max(reached, right);
        context.fillStyle = colors.gaps[told.class];
        context.fillRect(left, top, right - left, LANE.height);
        label(context, told.title, left, right, top + LANE.height / 2);
      }
    });
  }
  for (let i = model.firstAfter(range[0]); i < model.size && model.start[i]! <= range[1]; i++) {
    const [left, right] = [Math.max(x(model.start[i]!), plot.left), Math.min(x(model.end[i]!), plot.left + plot.width)];
    if (right - left > 40)
      label(context, model.words(i).replace(/^preempted by /, ""), left, right, BAR.top + BAR.height / 2);
    if (i - model.firstAfter(range[0]) > 2000) break;
  }
  context.restore();
}

/** Text in a bar, if there is room for some of it; on a background of its own, because bars have any colour. */
function label(context: CanvasRenderingContext2D, text: string, left: number, right: number, y: number): void {
  const room = right - left - 10;
  if (room < 26) return;
  let shown = text.slice(0, 80);
  while (shown.length > 1 && context.measureText(shown).width > room) shown = `${shown.slice(0, -2).trimEnd()}…`;
  if (shown.length < 6 && shown !== text) return;
  const wide = context.measureText(shown).width;
  const middle = (left + right) / 2;
  const colors = palette();
  context.fillStyle = colors.paper;
  context.globalAlpha = 0.86;
  context.fillRect(middle - wide / 2 - 3, y - 7, wide + 6, 14);
  context.globalAlpha = 1;
  context.fillStyle = colors.ink;
  context.textAlign = "center";
  context.fillText(shown, middle, y + 0.5);
}

function titles(context: CanvasRenderingContext2D, model: TimelineModel): void {
  context.font = `11px ${FONT}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = palette().faint;
  const at = MARGIN.left - 8;
  context.fillText("whole trace", at, OVERVIEW.top + OVERVIEW.height / 2);
  context.fillText("process", at, BAR.top + BAR.height / 2);
  context.fillText(model.events ? "timer" : "tick", at, TRIANGLES.top + TRIANGLES.height / 2);
  if (!model.events) return;
  LANES.forEach((lane, n) => {
    context.fillText(LANE_TITLES[lane], at, LANE.top + n * (LANE.height + LANE.apart) + LANE.height / 2);
  });
}

function axis(
  context: CanvasRenderingContext2D,
  { range }: Scene,
  plot: { left: number; width: number },
  x: (ns: number) => number,
  height: number,
): void {
  const colors = palette();
  const base = height - 40;
  const ticks = timeTicks(range, Math.max(2, plot.width / 90));
  context.font = `11px ${FONT}`;
  context.textBaseline = "top";
  context.textAlign = "center";
  context.strokeStyle = colors.faint;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(plot.left, base + 0.5);
  context.lineTo(plot.left + plot.width, base + 0.5);
  for (const at of ticks.at) {
    context.moveTo(Math.round(x(at)) + 0.5, base);
    context.lineTo(Math.round(x(at)) + 0.5, base + 4);
  }
  context.stroke();
  context.fillStyle = colors.faint;
  ticks.at.forEach((at, i) => context.fillText(ticks.labels[i] ?? "", x(at), base + 7));
  context.fillStyle = colors.ink;
  context.fillText(`time [${ticks.unit}]`, plot.left + plot.width / 2, base + 23);
}

function focusRing(
  context: CanvasRenderingContext2D,
  { model, focus, range }: Scene,
  plot: { left: number; width: number },
  x: (ns: number) => number,
): void {
  if (focus < 0 || model.end[focus]! < range[0] || model.start[focus]! > range[1]) return;
  const left = Math.max(x(model.start[focus]!), plot.left);
  const right = Math.min(x(model.end[focus]!), plot.left + plot.width);
  const colors = palette();
  for (const [color, by] of [
    [colors.paper, 3],
    [colors.ink, 2],
  ] as const) {
    context.strokeStyle = color;
    context.lineWidth = by === 3 ? 4 : 1.5;
    context.strokeRect(left - by, BAR.top - by, Math.max(right - left, LEAST) + 2 * by, BAR.height + 2 * by);
  }
}
