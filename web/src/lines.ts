// The lines of a chart: curves, outlines of bars, bands and levels, each a series of uPlot with a separate path.

import type uPlot from "uplot";
import type { Symbol as Shape } from "./data";
import { stamp } from "./symbols";
import { palette } from "./theme";

export interface Line {
  /** In drawn values; uPlot's own paths need the same x values for all curves of a chart. */
  points: [number, number][];
  color: string;
  /** px; 0: no line. */
  width: number;
  dash?: readonly number[];
  /** Opacity of the filled outline. */
  fill?: number;
  /** A symbol at each point. */
  mark?: Shape;
  /** Half the symbol's width, px. */
  radius?: number;
}

/** A series that draws the line that `line` gives; `factor` enlarges it for paper. */
export function series(line: () => Line | undefined, factor: number): uPlot.Series {
  return {
    scale: "y",
    width: factor,
    points: { show: false },
    paths: (plot, index) => {
      const now = line();
      const own = plot.series[index];
      if (!now || !own || now.points.length === 0) return null;
      // Points without a line or area are drawn afterwards.
      if (now.width === 0 && now.fill === undefined) return null;
      own.dash = (now.dash ?? []).map((length) => length * factor);
      const path = new Path2D();
      now.points.forEach(([x, y], i) => {
        const [px, py] = [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
        if (i === 0) path.moveTo(px, py);
        else path.lineTo(px, py);
      });
      const styles = {
        _stroke: now.color,
        _fill: now.fill === undefined ? null : faded(now.color, now.fill),
        _width: now.width * factor,
      };
      const stroke = now.width > 0 ? path : null;
      return {
        ...styles,
        stroke,
        fill: now.fill === undefined ? null : path,
        flags: 0,
      } as unknown as uPlot.Series.Paths;
    },
  };
}

/** Symbols at the points of a line. */
export function drawMarks(plot: uPlot, { points, mark, color, radius = 3.4 }: Line, density: number): void {
  if (mark === undefined) return;
  const { left, top, width, height } = plot.bbox;
  const look = { shape: mark, color, radius, alpha: 1, outline: palette().paper };
  const { picture, size } = stamp(look, density);
  const wide = size * density;
  for (const [x, y] of points) {
    const [px, py] = [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
    if (px < left - 1 || px > left + width + 1 || py < top - 1 || py > top + height + 1) continue;
    plot.ctx.drawImage(picture, px - wide / 2, py - wide / 2, wide, wide);
  }
}

/** Colours of the palette are written with six digits. */
function faded(color: string, opacity: number): string {
  return `${color}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, "0")}`;
}
