// Texts at the right of a chart, beside the lines that they belong to, and not upon each other.

import { graphic, type EChartsType } from "echarts/core";
import type { Rect } from "./cloud";
import { FONT, palette } from "./theme";

export interface Note {
  y: number;
  text: string;
}

export class NoteLayer {
  readonly #texts: InstanceType<typeof graphic.Text>[] = [];

  /** What was drawn is gone with its chart. */
  forget(): void {
    this.#texts.length = 0;
  }

  /** `y` in pixels; notes outside of the rectangle are left out. */
  draw(chart: EChartsType, rect: Rect, notes: Note[]): void {
    for (const text of this.#texts) chart.getZr().remove(text);
    this.forget();
    const { top, height, left, width } = rect;
    const shown = notes.filter((n) => n.y >= top - 1 && n.y <= top + height + 1);
    const places = spread(
      shown.map((n) => n.y),
      13,
      top + 4,
      top + height - 4,
    );
    shown.forEach((note, i) => {
      const style = { text: note.text, fill: palette().faint, fontSize: 11, fontFamily: FONT } as const;
      const clipped = {
        width: chart.getWidth() - left - width - 8,
        overflow: "truncate",
        verticalAlign: "middle",
      } as const;
      const place = { x: left + width + 6, y: places[i] ?? 0 };
      const text = new graphic.Text({ style: { ...style, ...clipped, ...place }, silent: true });
      chart.getZr().add(text);
      this.#texts.push(text);
    });
  }
}

/** Room to the right of a chart for its notes. */
export function noteRoom(width: number, notes: readonly { text: string }[]): number {
  const longest = notes.reduce((most, note) => Math.max(most, note.text.length), 0);
  return Math.round(Math.min(longest * 6.1 + 16, width * 0.36));
}

/** Places near the wanted ones that are `gap` apart, in the same order, between `lo` and `hi`. */
export function spread(wanted: number[], gap: number, lo: number, hi: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
  const places = [...wanted];
  let least = lo;
  for (const i of order) {
    places[i] = Math.max(least, wanted[i]!);
    least = places[i]! + gap;
  }
  let most = hi;
  for (const i of order.reverse()) {
    places[i] = Math.min(most, places[i]!);
    most = places[i]! - gap;
  }
  return places;
}
