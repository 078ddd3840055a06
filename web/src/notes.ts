// Texts at the right of a chart, beside their lines, without overlaps.

import type { Rect } from "./cloud";
import { FONT, palette } from "./theme";

export interface Note {
  y: number;
  text: string;
}

/** A text at the top, beside a vertical line. */
export interface Heading {
  x: number;
  text: string;
}

/** `x` in pixels; the text is to the left of a line in the right half. */
export function drawHeadings(context: CanvasRenderingContext2D, { left, top, width }: Rect, headings: Heading[]): void {
  context.font = `11px ${FONT}`;
  context.textBaseline = "top";
  context.fillStyle = palette().faint;
  const shown = headings.filter((n) => n.x >= left && n.x <= left + width);
  shown.forEach(({ x, text }, i) => {
    const before = x > left + width / 2;
    context.textAlign = before ? "right" : "left";
    context.fillText(text, before ? x - 4 : x + 4, top + 2 + 13 * i);
  });
}

/** `y` in pixels; notes outside the rectangle are omitted. */
export function drawNotes(context: CanvasRenderingContext2D, rect: Rect, width: number, notes: Note[]): void {
  const { top, height, left } = rect;
  const shown = notes.filter((n) => n.y >= top - 1 && n.y <= top + height + 1);
  const places = spread(
    shown.map((n) => n.y),
    13,
    top + 4,
    top + height - 4,
  );
  const at = left + rect.width + 6;
  const room = width - at - 2;
  context.font = `11px ${FONT}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = palette().faint;
  shown.forEach((note, i) => {
    let text = note.text;
    while (text.length > 1 && context.measureText(text).width > room) text = `${text.slice(0, -2).trimEnd()}…`;
    context.fillText(text, at, places[i] ?? 0);
  });
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
