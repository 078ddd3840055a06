// What ECharts is told about axes: ticks and labels are ours, so that all charts of a page agree.

import type { Rect } from "./cloud";
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
      // In steps, so that zooming does not make the plot tremble.
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

export function gridOption(rect: Rect): object {
  // ECharts would move the grid to make room for labels; the points' layers need to know where it is.
  return { ...rect, containLabel: false, outerBoundsMode: "none" };
}

export function axisOption(kind: AxisKind, range: Range, side: "x" | "y", rect: Rect): object {
  const colors = palette();
  const ticks = kind.ticks(range, side === "x" ? rect.width : rect.height);
  const labels = new Map(ticks.at.map((v, i) => [v, ticks.labels[i] ?? ""]));
  const text = { color: colors.faint, fontSize: 11, fontFamily: FONT };
  return {
    type: "value",
    min: range[0],
    max: range[1],
    name: ticks.unit === "" ? kind.title : `${kind.title} [${ticks.unit}]`,
    nameLocation: "middle",
    nameGap: side === "x" ? kind.below - 16 : rect.left - 14,
    nameMoveOverlap: false,
    nameTextStyle: { ...text, color: colors.ink, width: side === "x" ? rect.width : rect.height, overflow: "truncate" },
    axisLine: { show: true, onZero: false, lineStyle: { color: colors.faint, width: 1 } },
    axisTick: { show: true, customValues: ticks.at, length: 4, lineStyle: { color: colors.faint } },
    axisLabel: {
      ...text,
      customValues: ticks.at,
      formatter: (value: number) => labels.get(value) ?? "",
      hideOverlap: true,
      margin: 7,
      lineHeight: 14,
    },
    splitLine: { show: true, customValues: ticks.at, lineStyle: { color: colors.grid, width: 1 } },
    minorTick: { show: false },
  };
}
