// A cloud of points on a separate canvas. Stamping images from typed arrays redraws 100,000 points while zooming, where
// a path or an object per point does not.

import { h } from "./dom";
import type { Points } from "./hit";
import type { Stamp } from "./symbols";
import type { Range } from "./ticks";

export interface Rect {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Cloud {
  rect: Rect;
  x: Range;
  y: Range;
  points: Points;
  /** The order of drawing: the last lies on top. */
  order: Uint32Array;
  hidden: Uint8Array;
  /** Draws only points whose mask is set. */
  only: ((i: number) => boolean) | null;
  stampOf: (kind: number, density: number) => Stamp;
}

/** A pixel is drawn at most this many times for the points of one class. */
const ENOUGH = 3;

/** Draws the points that lie in the rectangle; returns how many. */
export function drawCloud(context: CanvasRenderingContext2D, cloud: Cloud): number {
  const { rect, points, order, hidden, only } = cloud;
  const density = context.getTransform().a || 1;
  const sx = rect.width / (cloud.x[1] - cloud.x[0]);
  const sy = rect.height / (cloud.y[1] - cloud.y[0]);
  const columns = Math.ceil(rect.width) + 1;
  const taken = order.length > 2000 ? new Uint8Array(columns * (Math.ceil(rect.height) + 1)) : null;
  const enough = order.length > 20000 ? 1 : ENOUGH;
  const bottom = rect.top + rect.height;
  let kind = -1;
  let now: Stamp | null = null;
  let drawn = 0;
  for (let k = 0; k < order.length; k++) {
    const i = order[k]!;
    const own = points.kind[i]!;
    if (hidden[own] === 1 || (only && !only(i))) continue;
    const dx = (points.x[i]! - cloud.x[0]) * sx;
    const dy = (points.y[i]! - cloud.y[0]) * sy;
    // Written so that NaN is also outside.
    if (!(dx >= -1 && dx <= rect.width + 1 && dy >= -1 && dy <= rect.height + 1)) continue;
    if (own !== kind) {
      kind = own;
      now = cloud.stampOf(own, density);
      taken?.fill(0);
    }
    if (taken) {
      const cell = Math.max(0, Math.trunc(dy)) * columns + Math.max(0, Math.trunc(dx));
      if (taken[cell]! >= enough) continue;
      taken[cell]! += 1;
    }
    const half = now!.size / 2;
    context.drawImage(now!.picture, rect.left + dx - half, bottom - dy - half, now!.size, now!.size);
    drawn += 1;
  }
  return drawn;
}

/** Points by class, the classes in the order that `rank` gives them. */
export function drawingOrder(kind: Uint8Array, rank: (kind: number) => number): Uint32Array {
  const order = Uint32Array.from(kind, (_, i) => i);
  return order.sort((a, b) => rank(kind[a]!) - rank(kind[b]!) || kind[a]! - kind[b]! || a - b);
}

/** A canvas above the chart's own, so that redrawing its points leaves the others alone. */
export class CloudLayer {
  readonly canvas = h("canvas", { class: "layer", "aria-hidden": "true" });

  draw(cloud: Cloud, width: number, height: number, density: number): number {
    const { canvas } = this;
    const [wide, high] = [Math.round(width * density), Math.round(height * density)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    if (!context) return 0;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, wide, high);
    return drawClipped(context, cloud, density);
  }
}

/** Draws the points within the frame of the axes. */
export function drawClipped(context: CanvasRenderingContext2D, cloud: Cloud, density: number): number {
  context.save();
  context.setTransform(density, 0, 0, density, 0, 0);
  context.beginPath();
  const room = 5;
  const { left, top, width, height } = cloud.rect;
  context.rect(left - room, top - room, width + 2 * room, height + 2 * room);
  context.clip();
  const drawn = drawCloud(context, cloud);
  context.restore();
  return drawn;
}
