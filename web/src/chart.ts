// One chart: uPlot draws axes and lines, layers above it the points; the given handlers turn pointer and keys into
// changes of the view and of the selection.

import uPlot from "uplot";
import { type AxisKind, type AxisState, plotAxis } from "./axes";
import { type Cloud, CloudLayer, type Rect, drawClipped } from "./cloud";
import { h, perFrame } from "./dom";
import { type Gestures, type Spot, listen } from "./gestures";
import { type Box, box } from "./hit";
import { type Line, drawMarks, series } from "./lines";
import { type Heading, type Note, drawHeadings, drawNotes, noteRoom } from "./notes";
import { type View, moved, same, showing, within, zoomed } from "./view";

/** Room above the plot, px. */
const ABOVE = 12;

export interface Spec {
  name: "scatter" | "sequence" | "histogram" | "curves";
  /** File name of a saved image, if not the chart's name. */
  file?: string;
  label: string;
  /** Id of the text that describes the chart. */
  describedBy: string;
  height: (width: number) => number;
  /** What the wheel zooms within the plot. */
  wheel: { x: boolean; y: boolean };
  /** The brush spans the whole height. */
  columns?: boolean;
  axes: () => { x: AxisKind; y: AxisKind };
  full: () => View;
  lines: (view: View) => Line[];
  notes?: () => Note[];
  headings?: () => Heading[];
  cloud?: () => Omit<Cloud, "rect" | "x" | "y" | "only">;
  /** The selected points (`null`: none), and their look. */
  chosen?: () => ((i: number) => boolean) | null;
  chosenLook?: () => Cloud["stampOf"];
  /** Position of the focus, in drawn values. */
  focus: () => Spot[];
  brushed: (area: Box, phase: "start" | "move" | "end" | "cancel", add: boolean) => void;
  hovered: (at: Spot | null, scale: Spot, client: Spot) => void;
  clicked: (at: Spot, scale: Spot, add: boolean) => void;
  key: (key: string) => boolean;
  viewed?: () => void;
  moves: () => boolean;
}

/** Counts of drawings, for tests and benchmarks. */
export interface Renders {
  axes: number;
  points: number;
  chosen: number;
}

export class Chart {
  readonly host: HTMLElement;
  readonly spec: Spec;
  readonly renders: Renders = { axes: 0, points: 0, chosen: 0 };
  view: View;
  rect: Rect = { left: 60, top: 10, width: 100, height: 100 };
  #chart: uPlot | null = null;
  readonly #base = new CloudLayer();
  readonly #chosen = new CloudLayer();
  readonly #brush = h("div", { class: "brush" });
  readonly #rings = [h("div", { class: "ring" }), h("div", { class: "ring" })];
  readonly #canvas = h("div", { class: "canvas" });
  readonly #stale = { axes: true, points: true, chosen: true };
  readonly #later = perFrame(() => this.#draw());
  readonly #unlisten: () => void;
  #copy: HTMLCanvasElement | null = null;
  #anyChosen = false;
  #width = 0;
  #height = 0;
  #lines: Line[] = [];
  /** Series that the chart has. */
  #series = 0;
  #axes: { x: AxisState; y: AxisState } | null = null;

  constructor(spec: Spec) {
    this.spec = spec;
    this.view = spec.full();
    const attributes = { role: "application", "aria-label": spec.label, "aria-describedby": spec.describedBy };
    this.host = h("div", { class: `chart ${spec.name}`, tabindex: 0, ...attributes }, this.#canvas, this.#brush);
    this.host.append(...this.#rings);
    this.#unlisten = listen(this.host, this.#gestures());
  }

  /** Starts drawing; the host must be in the document. */
  mount(): void {
    this.#unmount();
    this.#measure();
    if (this.spec.cloud) this.#canvas.append(this.#base.canvas, this.#chosen.canvas);
    this.#stale.axes = true;
    this.#draw();
  }

  /** The size follows the width of the host. */
  #measure(): void {
    this.#width = Math.max(120, this.host.clientWidth);
    this.#height = this.spec.height(this.#width);
    this.host.style.height = `${this.#height}px`;
  }

  #unmount(): void {
    this.#anyChosen = false;
    this.#chart?.destroy();
    this.#chart = null;
    this.#canvas.replaceChildren();
    this.#axes = null;
  }

  dispose(): void {
    this.#unlisten();
    this.#unmount();
  }

  resize(): void {
    if (!this.#axes || Math.max(120, this.host.clientWidth) === this.#width) return;
    this.#measure();
    this.refresh("axes");
  }

  /** Redraws in the next frame: everything, the points, or only the selected points. */
  refresh(what: "axes" | "points" | "chosen"): void {
    this.#stale[what] = true;
    this.#later();
  }

  setView(view: View): boolean {
    const full = this.spec.full();
    const next = { x: within(view.x, full.x), y: within(view.y, full.y) };
    if (same(next, this.view)) return false;
    this.view = next;
    this.refresh("axes");
    this.spec.viewed?.();
    return true;
  }

  reset(): void {
    this.setView(this.spec.full());
  }

  /** Moves the view so that the focus can be seen. */
  reveal(): void {
    const [at] = this.spec.focus();
    const full = this.spec.full();
    if (at) this.setView({ x: showing(this.view.x, at.x, full.x), y: showing(this.view.y, at.y, full.y) });
  }

  /** The chart as one canvas, for paper and publications. */
  picture(density: number, backgroundColor: string): HTMLCanvasElement | null {
    if (!this.#axes) return null;
    this.#draw();
    const canvas = h("canvas", {});
    canvas.width = Math.round(this.#width * density);
    canvas.height = Math.round(this.#height * density);
    const context = canvas.getContext("2d");
    if (!context) return null;
    context.fillStyle = backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    // uPlot draws at the screen's density only: use a larger chart, one pixel of which is one of the image.
    const large = this.#plot(density / uPlot.pxRatio);
    this.#show(large);
    context.drawImage(large.ctx.canvas, 0, 0, canvas.width, canvas.height);
    large.destroy();
    for (const cloud of this.#clouds()) drawClipped(context, cloud, density);
    return canvas;
  }

  /** Stacked canvases hide each other on paper: one canvas with a copy of all replaces them. */
  printing(on: boolean): void {
    this.#copy?.remove();
    this.resize();
    if (!on) this.#draw();
    this.#copy = on ? this.picture(3, "#ffffff") : null;
    if (!this.#copy) return;
    this.#copy.className = "copy";
    this.host.append(this.#copy);
  }

  #draw(): void {
    if (this.#width === 0) return;
    const { axes, points } = this.#stale;
    if (axes) this.#drawAxes();
    const [base, chosen] = this.#clouds();
    if (base && (axes || points)) {
      this.#paint(this.#base, base);
      this.renders.points += 1;
    }
    // Redrawing an empty layer costs as much as redrawing a full one.
    const some = chosen !== undefined;
    if (base && (some || this.#anyChosen)) {
      this.#paint(this.#chosen, chosen ?? { ...base, only: () => false });
      this.renders.chosen += 1;
    }
    this.#anyChosen = some;
    this.#stale.axes = this.#stale.points = this.#stale.chosen = false;
    this.drawFocus();
  }

  #paint(layer: CloudLayer, cloud: Cloud): void {
    layer.draw(cloud, this.#width, this.#height, uPlot.pxRatio);
  }

  /** The points, and those that are selected. */
  #clouds(): Cloud[] {
    const source = this.spec.cloud?.();
    if (!source) return [];
    const base = { ...source, rect: this.rect, x: this.view.x, y: this.view.y, only: null };
    const only = this.spec.chosen?.() ?? null;
    if (!only) return [base];
    return [base, { ...base, only, stampOf: this.spec.chosenLook?.() ?? source.stampOf }];
  }

  #drawAxes(): void {
    this.renders.axes += 1;
    const { x, y } = this.spec.axes();
    const notes = this.spec.notes?.() ?? [];
    const room = notes.length > 0 ? noteRoom(this.#width, notes) : 14;
    const left = y.left(this.view.y, this.#height);
    const [width, height] = [this.#width - left - room, this.#height - ABOVE - x.below];
    this.rect = { left, top: ABOVE, width, height };
    this.#axes = {
      x: { kind: x, ticks: x.ticks(this.view.x, width), room: x.below, length: width },
      y: { kind: y, ticks: y.ticks(this.view.y, height), room: left, length: height },
    };
    this.#lines = this.spec.lines(this.view);
    if (!this.#chart || this.#lines.length > this.#series) {
      this.#chart?.destroy();
      this.#series = this.#lines.length;
      this.#chart = this.#plot(1);
      this.#canvas.prepend(this.#chart.root);
    }
    this.#show(this.#chart);
  }

  /** A chart of uPlot that draws what there is now; `factor` enlarges it. */
  #plot(factor: number): uPlot {
    // What it draws comes from the paths of the series; data only say that there is something.
    const none = [0, 1];
    const state = (side: "x" | "y") => (): AxisState => this.#axes![side];
    const right = (): number => (this.#width - this.rect.left - this.rect.width) * factor;
    const scale = (side: "x" | "y"): uPlot.Scale => ({
      time: false,
      auto: false,
      range: () => [...this.view[side]] as [number, number],
    });
    const lines = Array.from({ length: this.#series }, (_, i) => series(() => this.#lines[i], factor));
    const options: uPlot.Options = {
      width: this.#width * factor,
      height: this.#height * factor,
      padding: [ABOVE * factor, right, 0, 0],
      pxAlign: false,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: scale("x"), y: scale("y") },
      axes: [plotAxis("x", state("x"), factor), plotAxis("y", state("y"), factor)],
      series: [{}, ...lines],
      hooks: { draw: [(plot) => this.#over(plot, factor)] },
    };
    return new uPlot(options, [none, ...lines.map(() => none)] as uPlot.AlignedData);
  }

  /** Symbols and notes, after the lines. */
  #over(plot: uPlot, factor: number): void {
    const density = factor * uPlot.pxRatio;
    for (const line of this.#lines) drawMarks(plot, line, density);
    const notes = this.spec.notes?.() ?? [];
    plot.ctx.save();
    plot.ctx.setTransform(density, 0, 0, density, 0, 0);
    const placed = notes.map((n) => ({ text: n.text, y: this.pixel({ x: 0, y: n.y }).y }));
    drawNotes(plot.ctx, this.rect, this.#width, placed);
    const headings = this.spec.headings?.() ?? [];
    const at = headings.map((n) => ({ text: n.text, x: this.pixel({ x: n.x, y: 0 }).x }));
    drawHeadings(plot.ctx, this.rect, at);
    plot.ctx.restore();
  }

  /** Draws the view, at once. */
  #show(plot: uPlot): void {
    const [[left, right], [low, high]] = [this.view.x, this.view.y];
    plot.batch(() => {
      if (plot === this.#chart) plot.setSize({ width: this.#width, height: this.#height });
      plot.setScale("x", { min: left, max: right });
      plot.setScale("y", { min: low, max: high });
      plot.redraw(true, true);
    });
  }

  drawFocus(): void {
    const spots = this.spec.focus();
    this.#rings.forEach((ring, i) => {
      const spot = spots[i];
      const at = spot ? this.pixel(spot) : null;
      const { left, top, width, height } = this.rect;
      const seen = at && at.x > left - 6 && at.x < left + width + 6 && at.y > top - 6 && at.y < top + height + 6;
      ring.style.display = seen ? "block" : "none";
      if (seen) ring.style.transform = `translate(${at.x}px, ${at.y}px)`;
    });
  }

  /** Pixels from the host's left and top. */
  pixel(at: Spot): Spot {
    const { left, top, width, height } = this.rect;
    const { x, y } = this.view;
    const [dx, dy] = [(at.x - x[0]) / (x[1] - x[0]), (at.y - y[0]) / (y[1] - y[0])];
    return { x: left + dx * width, y: top + height - dy * height };
  }

  #value(spot: Spot): Spot {
    const { left, top, width, height } = this.rect;
    const { x, y } = this.view;
    const [dx, dy] = [(spot.x - left) / width, (top + height - spot.y) / height];
    return { x: x[0] + dx * (x[1] - x[0]), y: y[0] + dy * (y[1] - y[0]) };
  }

  #scale(): Spot {
    const { x, y } = this.view;
    return { x: this.rect.width / (x[1] - x[0]), y: this.rect.height / (y[1] - y[0]) };
  }

  #zone({ x, y }: Spot): "plot" | "x" | "y" | "none" {
    const { left, top, width, height } = this.rect;
    if (x > left + width + 6 || y < top - 6) return "none";
    if (y > top + height) return x < left ? "none" : "x";
    return x < left ? "y" : "plot";
  }

  #gestures(): Gestures {
    return {
      zone: (spot) => this.#zone(spot),
      zoom: (spot, factor) => this.#zoom(spot, factor),
      pan: (dx, dy) => {
        const [scale, full] = [this.#scale(), this.spec.full()];
        const y = this.spec.columns ? this.view.y : moved(this.view.y, dy / scale.y, full.y);
        this.setView({ x: moved(this.view.x, -dx / scale.x, full.x), y });
      },
      brush: (from, to, phase, add) => this.#brushed(from, to, phase, add),
      hover: (spot, client) => {
        const inside = spot && this.#zone(spot) === "plot";
        this.host.dataset["zone"] = spot ? this.#zone(spot) : "none";
        this.spec.hovered(inside ? this.#value(spot) : null, this.#scale(), client);
      },
      click: (spot, add) => this.spec.clicked(this.#value(spot), this.#scale(), add),
      reset: () => this.reset(),
      key: (key) => this.#key(key),
      moves: () => this.spec.moves(),
    };
  }

  #zoom(spot: Spot, factor: number): boolean {
    const zone = this.#zone(spot);
    const [at, full] = [this.#value(spot), this.spec.full()];
    const wide = zone === "x" || (zone === "plot" && this.spec.wheel.x);
    const high = (zone === "y" && !this.spec.columns) || (zone === "plot" && this.spec.wheel.y);
    return this.setView({
      x: wide ? zoomed(this.view.x, factor, at.x, full.x) : this.view.x,
      y: high ? zoomed(this.view.y, factor, at.y, full.y) : this.view.y,
    });
  }

  #key(key: string): boolean {
    const middle = { x: this.rect.left + this.rect.width / 2, y: this.rect.top + this.rect.height / 2 };
    if (key === "+" || key === "=") return this.#zoom(middle, 1 / 1.5) || true;
    if (key === "-") return this.#zoom(middle, 1.5) || true;
    if (key === "0") {
      this.reset();
      return true;
    }
    return this.spec.key(key);
  }

  #brushed(from: Spot, to: Spot, phase: "start" | "move" | "end" | "cancel", add: boolean): void {
    const { left, top, width, height } = this.rect;
    const inside = (spot: Spot): Spot => ({
      x: Math.max(left, Math.min(left + width, spot.x)),
      y: Math.max(top, Math.min(top + height, spot.y)),
    });
    const all = this.spec.columns === true;
    const a = all ? { x: inside(from).x, y: top } : inside(from);
    const b = all ? { x: inside(to).x, y: top + height } : inside(to);
    const [p, q] = [this.#value(a), this.#value(b)];
    const shown = phase === "start" || phase === "move";
    Object.assign(this.#brush.style, {
      display: shown ? "block" : "none",
      left: `${Math.min(a.x, b.x)}px`,
      top: `${Math.min(a.y, b.y)}px`,
      width: `${Math.abs(a.x - b.x)}px`,
      height: `${Math.abs(a.y - b.y)}px`,
    });
    this.spec.brushed(box(p.x, p.y, q.x, q.y), phase, add);
  }
}
