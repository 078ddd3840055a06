// One chart: ECharts draws axes and lines, layers above it the points; pointer and keys are turned into changes of the view
// and of the selection by what the chart is given.

import { LineChart, type LineSeriesOption } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { init, use, type EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { axisOption, gridOption, type AxisKind } from "./axes";
import { type Cloud, type CloudLayer, type Rect, cloudLayer, setCloud } from "./cloud";
import { h, perFrame } from "./dom";
import { type Gestures, type Spot, listen } from "./gestures";
import { type Box, box } from "./hit";
import { type Note, NoteLayer, noteRoom } from "./notes";
import { type View, moved, same, showing, within, zoomed } from "./view";

use([LineChart, GridComponent, CanvasRenderer]);

export interface Spec {
  name: "scatter" | "sequence" | "histogram" | "curves";
  /** What a saved picture is called, if not by its name. */
  file?: string;
  label: string;
  /** Id of the text that says what the chart shows. */
  describedBy: string;
  height: (width: number) => number;
  /** What the wheel zooms within the plot. */
  wheel: { x: boolean; y: boolean };
  /** The brush takes all of the height. */
  columns?: boolean;
  axes: () => { x: AxisKind; y: AxisKind };
  full: () => View;
  lines: (view: View) => LineSeriesOption[];
  notes?: () => Note[];
  cloud?: () => Omit<Cloud, "rect" | "x" | "y" | "only">;
  /** Which points are selected (`null`: none), and how those look. */
  chosen?: () => ((i: number) => boolean) | null;
  chosenLook?: () => Cloud["stampOf"];
  /** Where the focus is, in what is drawn. */
  focus: () => Spot[];
  brushed: (area: Box, phase: "start" | "move" | "end" | "cancel", add: boolean) => void;
  hovered: (at: Spot | null, scale: Spot, client: Spot) => void;
  clicked: (at: Spot, scale: Spot, add: boolean) => void;
  key: (key: string) => boolean;
  viewed?: () => void;
  moves: () => boolean;
}

/** How often what was drawn, for tests and benchmarks. */
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
  #chart: EChartsType | null = null;
  #base: CloudLayer | null = null;
  #chosen: CloudLayer | null = null;
  readonly #notes = new NoteLayer();
  readonly #brush = h("div", { class: "brush" });
  readonly #rings = [h("div", { class: "ring" }), h("div", { class: "ring" })];
  readonly #canvas = h("div", { class: "canvas" });
  readonly #stale = { axes: true, points: true, chosen: true };
  readonly #later = perFrame(() => this.#draw());
  readonly #unlisten: () => void;
  #copy: HTMLCanvasElement | null = null;
  #anyChosen = false;
  #series = 0;
  #width = 0;

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
    this.#width = this.host.clientWidth;
    const size = { width: Math.max(120, this.#width), height: this.spec.height(Math.max(120, this.#width)) };
    this.host.style.height = `${size.height}px`;
    this.#chart = init(this.#canvas, null, { renderer: "canvas", ...size });
    if (this.spec.cloud) {
      this.#base = cloudLayer(1, () => (this.renders.points += 1));
      this.#chosen = cloudLayer(2, () => (this.renders.chosen += 1));
      this.#chart.getZr().add(this.#base);
      this.#chart.getZr().add(this.#chosen);
    }
    this.#stale.axes = true;
    this.#draw();
  }

  #unmount(): void {
    this.#notes.forget();
    this.#base = null;
    this.#chosen = null;
    this.#series = 0;
    this.#anyChosen = false;
    this.#chart?.dispose();
    this.#chart = null;
  }

  dispose(): void {
    this.#unlisten();
    this.#unmount();
  }

  resize(): void {
    const width = Math.max(120, this.host.clientWidth);
    if (!this.#chart || width === this.#width) return;
    this.#width = width;
    const height = this.spec.height(width);
    this.host.style.height = `${height}px`;
    this.#chart.resize({ width, height });
    this.refresh("axes");
  }

  /** Draws anew, in the next frame: everything, the points, or the selected points only. */
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
    this.#draw();
    // The layers take the canvas that they draw on only when their shape is new.
    this.#base?.dirtyShape();
    this.#chosen?.dirtyShape();
    const canvas = this.#chart?.renderToCanvas({ pixelRatio: density, backgroundColor }) ?? null;
    this.refresh("points");
    return canvas;
  }

  /** Stacked canvases hide each other on paper: a copy in one stands in for them. */
  printing(on: boolean): void {
    this.#copy?.remove();
    this.resize();
    this.#copy = on ? this.picture(3, "#ffffff") : null;
    if (!this.#copy) return;
    this.#copy.className = "copy";
    this.host.append(this.#copy);
  }

  #draw(): void {
    const chart = this.#chart;
    if (!chart) return;
    const { axes, points } = this.#stale;
    if (axes) this.#drawAxes(chart);
    if (axes || points) this.#drawCloud(this.#base, null);
    const some = this.spec.chosen?.() ?? null;
    // An empty layer that stays empty costs as much as a full one.
    if (some || this.#anyChosen) this.#drawCloud(this.#chosen, some ?? (() => false), this.spec.chosenLook?.());
    this.#anyChosen = some !== null;
    this.#stale.axes = this.#stale.points = this.#stale.chosen = false;
    this.drawFocus();
    chart.getZr().flush();
  }

  #drawAxes(chart: EChartsType): void {
    this.renders.axes += 1;
    const { x, y } = this.spec.axes();
    const size = { width: chart.getWidth(), height: chart.getHeight() };
    const notes = this.spec.notes?.() ?? [];
    const room = notes.length > 0 ? noteRoom(size.width, notes) : 14;
    const left = y.left(this.view.y, size.height);
    const below = x.below;
    this.rect = { left, top: 12, width: size.width - left - room, height: size.height - 12 - below };
    const lines = this.spec.lines(this.view).map((line, i) => ({ ...line, id: `line-${i}` }));
    // Series that are gone must not stay: ECharts merges by id.
    const replace = lines.length < this.#series ? { replaceMerge: ["series"] } : {};
    this.#series = lines.length;
    chart.setOption(
      {
        animation: false,
        grid: gridOption(this.rect),
        xAxis: axisOption(x, this.view.x, "x", this.rect),
        yAxis: axisOption(y, this.view.y, "y", this.rect),
        series: lines,
      },
      { silent: true, ...replace },
    );
    this.#notes.draw(
      chart,
      this.rect,
      notes.map((n) => ({ text: n.text, y: this.pixel({ x: 0, y: n.y }).y })),
    );
  }

  #drawCloud(layer: CloudLayer | null, only: Cloud["only"], look?: Cloud["stampOf"]): void {
    const source = this.spec.cloud?.();
    if (!layer || !source) return;
    const stampOf = look ?? source.stampOf;
    setCloud(layer, { ...source, stampOf, rect: this.rect, x: this.view.x, y: this.view.y, only });
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
