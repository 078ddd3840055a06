// The axes of charts: ticks and labels are ours, so that all charts of a page agree and have units and odds.

import type uPlot from "uplot";
import { FONT, palette } from "./theme";
import { type Range, type Ticks, clockTicks, logTicks, timeTicks, wholeTicks } from "./ticks";

export interface AxisKind {
  title: string;
  ticks: (range: Range, pixels: number) => Ticks;
  /** Room below an x axis. */
  below: number;
  /** Room to the left of a y axis. */
  left: (range: Range, pixels: number) => number;
}

type Source = (range: Range, wanted: number) => Ticks;

export function axis(title: string, source: Source, apart: number, below: number): AxisKind {
  const ticks = (range: Range, pixels: number): Ticks => source(range, Math.max(2, pixels / apart));
  return {
    title,
    ticks,
    below,
    left: (range, pixels) => {
      const longest = Math.max(3, ...ticks(range, pixels).labels.map((l) => l.length));
      // In steps, so that the plot does not jitter during zooming.
      return 34 + Math.ceil((longest * 6.4) / 12) * 12;
    },
  };
}

export function timeAxis(title: string, log: boolean, upright: boolean): AxisKind {
  return axis(title, log ? logTicks : timeTicks, upright ? 44 : 66, 44);
}

export function wholeAxis(title: string, upright: boolean): AxisKind {
  return axis(title, wholeTicks, upright ? 44 : 66, 44);
}

export function clockAxis(title: string): AxisKind {
  return axis(title, clockTicks, 96, 58);
}

/** Room of an axis for its title, px. */
const TITLE = 18;
const SIZE = 11;
/** Approximate width of a character of a title, px. */
const SIGN = 6;

/** The current state of an axis. */
export interface AxisState {
  kind: AxisKind;
  ticks: Ticks;
  /** For ticks, labels and title, px. */
  room: number;
  /** Of the plot along the axis, px. */
  length: number;
}

/** An axis of uPlot; `factor` enlarges it for paper. */
export function plotAxis(side: "x" | "y", now: () => AxisState, factor: number): uPlot.Axis {
  const stroke = (): string => palette().faint;
  return {
    scale: side,
    side: side === "x" ? 2 : 3,
    stroke,
    font: `${SIZE * factor}px ${FONT}`,
    gap: 3 * factor,
    size: () => (now().room - TITLE) * factor,
    label: (() => titleOf(now())) as never,
    labelFont: `${SIZE * factor}px ${FONT}`,
    labelSize: TITLE * factor,
    labelGap: 0,
    // uPlot leaves an axis out if none of uPlot's steps fits: pass ours.
    incrs: (_, __, min, max) => [Math.max(5, max - min)],
    space: 1,
    splits: () => now().ticks.at,
    values: () => now().ticks.labels,
    border: { show: true, stroke, width: factor },
    ticks: { show: true, stroke, width: factor, size: 4 * factor },
    grid: { show: true, stroke: () => palette().grid, width: factor },
  };
}

function titleOf({ kind, ticks, length }: AxisState): string {
  const title = ticks.unit === "" ? kind.title : `${kind.title} [${ticks.unit}]`;
  const room = Math.max(4, Math.floor(length / SIGN));
  return title.length > room ? `${title.slice(0, room - 1)}…` : title;
}
