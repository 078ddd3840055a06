// A figure of curves: zoomed by wheel, drag and keys, pointed at by pointer and arrows, with a legend and a table of its values.

import { Chart, type Spec } from "./chart";
import { button, choice } from "./controls";
import { copyButton } from "./csv";
import type { Curve, Figure, ScaleName } from "./data";
import { bdi, h, uid } from "./dom";
import { figure } from "./figure";
import type { Spot } from "./gestures";
import { type Box, type Points, extent, nearest } from "./hit";
import type { Line } from "./lines";
import { curveIcon, dashOf, markOf } from "./looks";
import { type Scale, saying, scale } from "./scales";
import { sortedOrder } from "./sort";
import { TableView } from "./table";
import { onTheme, palette } from "./theme";
import { type Range, padded } from "./ticks";
import type { View } from "./view";

/** Distance in pixels within which the pointer counts as on a point. */
const REACH = 60;
/** Up to this number of points, a curve has symbols. */
const MARKED = 20;
/** Above this number, points without a line are small. */
const SPARSE = 300;
const NAMES: Record<ScaleName, string> = { linear: "linear", log: "log", logit: "log odds" };
const HINT = "With the keyboard: ← and → move along a curve, ↑ and ↓ to another, + and − zoom, 0 shows everything.";

/** The points of all curves, one after the other. */
interface All {
  curve: number[];
  x: number[];
  y: number[];
  low: (number | null)[];
  high: (number | null)[];
}

function allOf(curves: Curve[]): All {
  const none = (c: Curve): null[] => c.x.map(() => null);
  return {
    curve: curves.flatMap((c, i) => c.x.map(() => i)),
    x: curves.flatMap((c) => c.x),
    y: curves.flatMap((c) => c.y),
    low: curves.flatMap((c) => c.band?.low ?? none(c)),
    high: curves.flatMap((c) => c.band?.high ?? none(c)),
  };
}

export class CurvesView {
  readonly id: string;
  readonly element: HTMLElement;
  readonly chart: Chart;
  readonly #figure: Figure;
  readonly #all: All;
  readonly #card: HTMLElement;
  readonly #say: (text: string) => void;
  readonly #hidden: Uint8Array;
  #x: Scale;
  #y: Scale;
  #points: Points;
  #full: View;
  #focus = -1;
  #paint: () => void = () => undefined;
  readonly #stop: () => void;

  constructor(of: Figure, card: HTMLElement, say: (text: string) => void) {
    this.id = of.id;
    this.#figure = of;
    this.#all = allOf(of.curves);
    this.#card = card;
    this.#say = say;
    this.#hidden = new Uint8Array(256);
    this.#x = scale(of.x, of.x.scales[0]!, false);
    this.#y = scale(of.y, of.y.scales[0]!, true);
    this.#points = this.#placed();
    this.#full = this.#whole();
    const described = uid("curves");
    this.chart = new Chart(this.#spec(described));
    this.chart.host.dataset["figure"] = of.id;
    this.chart.view = this.#first();
    const tools = [
      ...this.#scaleChoice("x"),
      ...this.#scaleChoice("y"),
      ...(of.x.shown ? [button("first view", "show the initial range", () => this.chart.setView(this.#first()))] : []),
    ];
    this.element = figure(of.title, this.chart, described, this.#description(), tools);
    this.element.querySelector("figcaption")?.after(h("p", { class: "note" }, bdi(of.note)), this.#legend());
    this.element.append(this.#table());
    this.#stop = onTheme(() => {
      this.#paint();
      this.chart.refresh("axes");
    });
  }

  /** The visible part, in values. */
  get values(): View {
    const { x, y } = this.chart.view;
    const back = (s: Scale, [lo, hi]: Range): Range => [s.value(lo), s.value(hi)];
    return { x: back(this.#x, x), y: back(this.#y, y) };
  }

  get focused(): [number, number] | null {
    return this.#focus < 0 ? null : [this.#all.x[this.#focus]!, this.#all.y[this.#focus]!];
  }

  /** Position of values on the screen. */
  place(x: number, y: number): Spot {
    const at = this.chart.pixel({ x: this.#x.place(x), y: this.#y.place(y) });
    const frame = this.chart.host.getBoundingClientRect();
    return { x: frame.left + at.x, y: frame.top + at.y };
  }

  /** Ends pointing. */
  leave(): void {
    this.#point(-1, false);
    this.#card.style.display = "none";
  }

  dispose(): void {
    this.#stop();
    this.chart.dispose();
  }

  #look(curve: number): number {
    return this.#figure.curves[curve]!.look;
  }

  /** The points on their scales; NaN for a value without a place, as 0 on a logarithmic scale. */
  #placed(): Points {
    const nowhere = (v: number): number => (Number.isFinite(v) ? v : NaN);
    return {
      x: Float64Array.from(this.#all.x, (v) => nowhere(this.#x.place(v))),
      y: Float64Array.from(this.#all.y, (v) => nowhere(this.#y.place(v))),
      kind: Uint8Array.from(this.#all.curve, (c) => this.#look(c) % 256),
    };
  }

  #whole(): View {
    const of = this.#figure;
    const bounds = [...this.#all.low, ...this.#all.high].filter((v) => v !== null).map(this.#y.place);
    // An interval may reach to 0, which has no place on a logarithmic scale; it does not widen it.
    const more = this.#y.linear ? bounds : [];
    const x = extent(this.#points.x) ?? [0, 1];
    const y = extent(Float64Array.from([...this.#points.y, ...more].filter(Number.isFinite))) ?? [0, 1];
    const share = of.y.quantity === "share" && this.#y.linear;
    return { x: padded(x, 0.03), y: padded(share ? [0, y[1]] : y, 0.04) };
  }

  #first(): View {
    const { shown } = this.#figure.x;
    if (!shown) return this.#full;
    const wanted = padded([this.#x.place(shown[0]), this.#x.place(shown[1])], 0.03);
    const [lo, hi] = this.#full.x;
    return { x: [Math.max(lo, wanted[0]), Math.min(hi, wanted[1])], y: this.#full.y };
  }

  #scaleChoice(side: "x" | "y"): HTMLElement[] {
    const of = this.#figure[side];
    if (of.scales.length < 2) return [];
    const chosen = (name: ScaleName): void => {
      if (side === "x") this.#x = scale(of, name, false);
      else this.#y = scale(of, name, true);
      this.#points = this.#placed();
      this.#full = this.#whole();
      this.chart.view = this.#first();
      this.chart.refresh("axes");
    };
    const entries = of.scales.map((name): [ScaleName, string] => [name, NAMES[name] ?? name]);
    return [choice(side, entries, of.scales[0]!, chosen)];
  }

  #spec(describedBy: string): Spec {
    return {
      name: "curves",
      file: this.id,
      label: this.#figure.title,
      describedBy,
      height: (width) => (width < 500 ? 260 : 320),
      wheel: { x: true, y: false },
      axes: () => ({ x: this.#x.kind, y: this.#y.kind }),
      full: () => this.#full,
      lines: (view) => this.#lines(view),
      focus: () => (this.#focus < 0 ? [] : [{ x: this.#points.x[this.#focus]!, y: this.#points.y[this.#focus]! }]),
      brushed: (area, phase) => this.#brushed(area, phase),
      hovered: (at, pixels, client) => {
        const point = at ? nearest(this.#points, this.#hidden, at, pixels, REACH) : -1;
        this.#point(point, false);
        this.#showCard(client);
      },
      clicked: (at, pixels) => this.#point(nearest(this.#points, this.#hidden, at, pixels, REACH), true),
      key: (key) => this.#key(key),
      moves: () => false,
    };
  }

  #brushed(area: Box, phase: "start" | "move" | "end" | "cancel"): void {
    const wide = area.x[1] > area.x[0] && area.y[1] > area.y[0];
    if (phase === "end" && wide) this.chart.setView(area);
  }

  #lines(view: View): Line[] {
    const colors = palette().curves;
    const color = (c: Curve): string => colors[c.look % colors.length]!;
    const shown = this.#figure.curves.filter((c) => this.#hidden[c.look] !== 1);
    const bands = shown.flatMap((c): Line[] => {
      const points = this.#outline(c, view);
      return points.length < 4 ? [] : [{ points, color: color(c), width: 0, fill: 0.14 }];
    });
    const lines = shown.map((c): Line => {
      const points = this.#corners(c);
      const mark = markOf(c.look);
      if (c.join === "points")
        return { points, color: color(c), width: 0, mark, radius: c.x.length > SPARSE ? 2 : 3.4 };
      const marked = !c.thin && c.x.length <= MARKED && c.join === "straight";
      const dash = c.thin ? [1, 3] : dashOf(c.look);
      const line = { points, color: color(c), width: c.thin ? 1 : 1.8, dash };
      return marked ? { ...line, mark } : line;
    });
    return [...bands, ...lines];
  }

  /** The curve as a line with its steps. */
  #corners(c: Curve): [number, number][] {
    const out: [number, number][] = [];
    c.x.forEach((value, i) => {
      const [x, y] = [this.#x.place(value), this.#y.place(c.y[i]!)];
      if (!Number.isFinite(x) || !Number.isFinite(y)) return;
      const before = out.at(-1);
      if (before && c.join === "before") out.push([x, before[1]]);
      if (before && c.join === "after") out.push([before[0], y]);
      out.push([x, y]);
    });
    return out;
  }

  /** Around the intervals; one without an upper bound reaches to the top, one down to 0 to the bottom. */
  #outline(c: Curve, view: View): [number, number][] {
    const [up, down]: [number, number][][] = [[], []];
    const { band } = c;
    band?.low.forEach((low, i) => {
      const x = this.#x.place(c.x[i]!);
      if (low === null || !Number.isFinite(x)) return;
      const [bottom, top] = [view.y[0] - 1, view.y[1] + 1];
      const high = band.high[i] ?? null;
      const lower = this.#y.place(low);
      up!.push([x, high === null ? top : this.#y.place(high)]);
      down!.push([x, Number.isFinite(lower) ? lower : bottom]);
    });
    return [...up!, ...down!.reverse()];
  }

  /** Points at a value: -1 for none. */
  #point(point: number, say: boolean): void {
    if (this.#focus !== point) {
      this.#focus = point;
      this.chart.drawFocus();
    }
    if (say && point >= 0) this.#say(`${this.#title(point)}: ${this.#texts(point).join(", ")}`);
  }

  #title(point: number): string {
    return this.#figure.curves[this.#all.curve[point]!]!.title;
  }

  #interval(point: number): string {
    const [low, high] = [this.#all.low[point] ?? null, this.#all.high[point] ?? null];
    const { y } = this.#figure;
    if (low === null) return "";
    return high === null ? `${saying(low, y)} and more` : `[${saying(low, y)}, ${saying(high, y)}]`;
  }

  /** Across, upwards, and the interval if there is one. */
  #texts(point: number): string[] {
    const { x, y } = this.#figure;
    const values = [saying(this.#all.x[point]!, x), saying(this.#all.y[point]!, y)];
    const interval = this.#interval(point);
    return interval === "" ? values : [...values, interval];
  }

  #showCard(client: Spot): void {
    const point = this.#focus;
    const card = this.#card;
    if (point < 0) {
      card.style.display = "none";
      return;
    }
    const { x, y, curves } = this.#figure;
    const curve = curves[this.#all.curve[point]!]!;
    const names = [x.title, y.title, curve.band?.title ?? ""];
    const rows = this.#texts(point).flatMap((text, i) => [h("dt", {}, names[i] ?? ""), h("dd", {}, text)]);
    const icon = curveIcon(curve);
    card.replaceChildren(
      h("div", { class: "card" }, h("p", { class: "class" }, icon, bdi(curve.title)), h("dl", {}, ...rows)),
    );
    card.style.display = "flex";
    const { offsetWidth: width, offsetHeight: height } = card;
    const room = { x: document.documentElement.clientWidth, y: window.innerHeight };
    const left = client.x + 16 + width > room.x ? client.x - 16 - width : client.x + 16;
    const top = Math.max(4, Math.min(client.y + 12, room.y - height - 8));
    card.style.transform = `translate(${Math.max(4, Math.min(left, room.x - width - 4))}px, ${top}px)`;
  }

  #key(key: string): boolean {
    const by = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -1e9, End: 1e9 }[key];
    if (by !== undefined) this.#step(by);
    else if (key === "ArrowUp" || key === "ArrowDown") this.#other(key === "ArrowUp" ? -1 : 1);
    else return false;
    this.#card.style.display = "none";
    this.chart.reveal();
    return true;
  }

  #shown(curve: number): boolean {
    return this.#hidden[this.#look(curve)] !== 1;
  }

  /** The points of a curve that have a place, in order. */
  #along(curve: number): number[] {
    const { x, y } = this.#points;
    return this.#all.curve.flatMap((c, i) => (c === curve && x[i]! + y[i]! === x[i]! + y[i]! ? [i] : []));
  }

  #step(by: number): void {
    const now = this.#focus;
    const curve = now < 0 ? this.#figure.curves.findIndex((_, i) => this.#shown(i)) : this.#all.curve[now]!;
    const along = this.#along(curve);
    const at = now < 0 ? (by > 0 ? -1 : along.length) : along.indexOf(now);
    const next = along[Math.max(0, Math.min(along.length - 1, at + by))];
    if (next !== undefined) this.#point(next, true);
  }

  /** To another curve, where it is nearest. */
  #other(by: number): void {
    const now = this.#focus;
    if (now < 0) return this.#step(1);
    const n = this.#figure.curves.length;
    for (let i = 1; i < n; i++) {
      const curve = (this.#all.curve[now]! + by * i + n * n) % n;
      if (!this.#shown(curve)) continue;
      const away = (p: number): number => Math.abs(this.#points.x[p]! - this.#points.x[now]!);
      const along = this.#along(curve);
      if (along.length === 0) continue;
      this.#point(
        along.reduce((best, p) => (away(p) < away(best) ? p : best)),
        true,
      );
      return;
    }
  }

  /** The curves, each a switch that hides it and its approximation. */
  #legend(): HTMLElement {
    const icons: [SVGSVGElement, Curve][] = [];
    const entries = this.#figure.curves
      .filter((c) => !c.thin)
      .map((c) => {
        const icon = curveIcon(c);
        icons.push([icon, c]);
        const attributes = { type: "button", class: "entry", "aria-pressed": "true", title: "show or hide this curve" };
        const entry = h("button", attributes, icon, bdi(c.title));
        entry.addEventListener("click", () => {
          const hide = this.#hidden[c.look] !== 1;
          this.#hidden[c.look] = hide ? 1 : 0;
          entry.setAttribute("aria-pressed", String(!hide));
          this.leave();
          this.chart.refresh("axes");
        });
        return entry;
      });
    this.#paint = () => {
      const colors = palette().curves;
      for (const [icon, c] of icons) icon.style.color = colors[c.look % colors.length]!;
    };
    this.#paint();
    return h("div", { class: "legend", role: "group", "aria-label": "Curves" }, ...entries);
  }

  #description(): string {
    const { x, y, curves, note } = this.#figure;
    const ends = curves.map((c) => {
      const last = c.x.length - 1;
      const at = (i: number): string => `${saying(c.y[i]!, y)} at ${saying(c.x[i]!, x)}`;
      return `${c.title}: from ${at(0)} to ${at(last)}`;
    });
    return `${y.title} over ${x.title}. ${note} ${ends.join("; ")}. ${HINT}`;
  }

  /** All values, computed at the first request. */
  #table(): HTMLElement {
    const { x, y, curves, title } = this.#figure;
    const banded = curves.find((c) => c.band)?.band?.title;
    const names = ["curve", x.title, y.title, ...(banded === undefined ? [] : [banded])];
    let order = this.#all.x.map((_, i) => i);
    const cells = (i: number): string[] => {
      const [across = "", up = "", interval = ""] = this.#texts(i);
      return [this.#title(i), across, up, ...(banded === undefined ? [] : [interval])];
    };
    const numbers: (readonly (number | null)[])[] = [[], this.#all.x, this.#all.y, this.#all.low];
    const make = (): HTMLElement => {
      const source = {
        columns: names.map((name, i) => ({ title: name, right: i === 1 || i === 2 })),
        size: () => order.length,
        row: (n: number) => {
          const i = order[n]!;
          const act = (): void => {
            this.#point(i, true);
            this.chart.reveal();
          };
          return { cells: cells(i).map((text) => bdi(text)), act };
        },
        sort: (column: number, descending: boolean | null) => {
          const all = this.#all.x.map((_, i) => i);
          order =
            descending === null
              ? all
              : sortedOrder(
                  all.map((i) => cells(i)[column] ?? ""),
                  descending,
                  numbers[column],
                );
        },
        tools: [copyButton(() => [names, ...order.map(cells)])],
        empty: "None.",
      };
      return new TableView(source, `Values of ${title}`, { page: 12, expandable: true }).element;
    };
    const details = h("details", { class: "values" }, h("summary", {}, "values"));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(make());
    });
    return details;
  }
}
