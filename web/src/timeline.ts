// The timeline of a trace: zoomed by wheel, keys and buttons, with a legend that hides causes and a table of all periods.

import type { Timeline } from "./data";
import { button } from "./controls";
import { bdi, h, perFrame, uid } from "./dom";
import { count, counted, nanos, percent, time } from "./format";
import { type Spot, listen } from "./gestures";
import { sortedOrder } from "./sort";
import { stepped } from "./step";
import { symbolIcon } from "./symbols";
import { TableView } from "./table";
import { onTheme, palette } from "./theme";
import type { Range } from "./ticks";
import { SHAPES, draw, heightOf, partAt, plotOf } from "./timeline-draw";
import { TimelineModel, type Told } from "./timeline-model";
import { moved, within, zoomed } from "./view";

/** The most kernel events of a period that the card lists. */
const TOLD = 8;
/** Distance in pixels within which the pointer counts as on a period. */
const REACH = 6;
const HINT =
  "The wheel zooms, dragging moves, dragging with Shift zooms into the selected part, double-click shows everything. " +
  "With the keyboard: arrows move from period to period, Enter zooms into one, + and − zoom, 0 shows everything.";

export class TimelineView {
  readonly element: HTMLElement;
  /** The table of all periods, which stands below the causes. */
  readonly periods: HTMLElement;
  readonly host: HTMLElement;
  readonly model: TimelineModel;
  range: Range;
  focus = -1;
  /** Number of periods in the last drawing. */
  drawn = 0;
  readonly #canvas = h("canvas", { class: "canvas" });
  readonly #card = h("div", { class: "tooltip", "aria-hidden": "true" });
  readonly #live = h("p", { class: "hidden-text", role: "status", "aria-live": "polite" });
  readonly #shown = h("p", { class: "hint range" });
  readonly #hidden = new Set<number>();
  readonly #later = perFrame(() => this.draw());
  readonly #table: TableView;
  readonly #legend: HTMLElement;
  #order: number[];
  #brush: Range | null = null;
  #paint: () => void = () => undefined;

  constructor(data: Timeline) {
    this.model = new TimelineModel(data);
    this.range = this.#full;
    this.#order = Array.from({ length: this.model.size }, (_, i) => i);
    const described = uid("timeline");
    const label = "Timeline: when the process had its CPU";
    const attributes = { role: "application", "aria-label": label, "aria-describedby": described };
    this.host = h("div", { class: "chart timeline", tabindex: 0, ...attributes }, this.#canvas);
    this.#legend = this.#makeLegend();
    this.#table = this.#makeTable();
    const tools = h(
      "div",
      { class: "tools" },
      button("−", "zoom out", () => this.#zoomAround(1.6)),
      button("+", "zoom in", () => this.#zoomAround(1 / 1.6)),
      button("reset", "show everything (double-click, or 0)", () => this.show(this.#full)),
      button("PNG", "save as an image", () => this.#save()),
    );
    const figure = h(
      "figure",
      { class: "timeline" },
      h("figcaption", {}, h("h3", {}, "Timeline"), tools, this.#shown),
      h("p", { id: described, class: "hidden-text" }, `${this.#description()} ${HINT}`),
      this.host,
    );
    this.periods = h("section", { class: "given" }, h("h3", {}, "Inactive periods"));
    this.periods.append(h("p", { class: "hint" }, "Click a row to show it in the timeline."), this.#table.element);
    this.element = h("section", { class: "trace" }, h("div", { class: "toolbar" }, this.#legend), figure);
    this.element.append(h("p", { class: "hint usage" }, HINT), this.#card, this.#live);
    this.#listen();
  }

  /** Starts drawing; the element must be in the document. */
  mount(): void {
    new ResizeObserver(() => this.#later()).observe(this.host);
    onTheme(() => {
      this.#paint();
      this.draw();
    });
    this.draw();
  }

  printing(on: boolean): void {
    if (this.model.size <= 2000) this.#table.showAll(on);
    this.draw();
  }

  /** Shows a part of the time; whether anything changed. */
  show(range: Range): boolean {
    const next = within(range, this.#full);
    if (next[0] === this.range[0] && next[1] === this.range[1]) return false;
    this.range = next;
    this.#later();
    return true;
  }

  /** Position of a time on the screen, at the height of the bar. */
  place(ns: number): Spot {
    const frame = this.host.getBoundingClientRect();
    const plot = plotOf(this.host.clientWidth);
    const share = (ns - this.range[0]) / (this.range[1] - this.range[0]);
    return { x: frame.left + plot.left + share * plot.width, y: frame.top + 66 };
  }

  draw(): void {
    const width = Math.max(160, this.host.clientWidth);
    const height = heightOf(this.model);
    const density = Math.max(1, window.devicePixelRatio || 1);
    const canvas = this.#canvas;
    if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
      canvas.width = Math.round(width * density);
      canvas.height = Math.round(height * density);
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
      this.host.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    const { model, range, focus } = this;
    this.drawn = draw(context, { model, range, focus, hidden: this.#hidden, width, brush: this.#brush }, density);
    this.#shown.textContent = `${time(range[0])} to ${time(range[1])}, ${counted(this.drawn, "inactive period")}`;
  }

  get #full(): Range {
    return [0, this.model.length > 0 ? this.model.length : 1];
  }

  #description(): string {
    const { model } = this;
    const causes = model.causes.map((c) => `${c.title}: ${count(c.gaps)}, ${time(c.time)}`).join("; ");
    return `${counted(model.size, "inactive period")} in ${time(model.length)}. ${causes}.`;
  }

  #visible = (gap: number): boolean => !this.#hidden.has(this.model.cause[gap]!);

  /** Points at a period: -1 for none. */
  #point(gap: number, say: boolean): void {
    if (this.focus !== gap) {
      this.focus = gap;
      this.#later();
    }
    if (say && gap >= 0) {
      const { model } = this;
      const when = `at ${time(model.start[gap]!)} for ${time(model.end[gap]! - model.start[gap]!)}`;
      this.#live.textContent = `Inactive period ${gap + 1} of ${model.size}: ${model.words(gap)}, ${when}`;
    }
  }

  /** Moves no further than needed to show a period. */
  #reveal(gap: number): void {
    const [start, end] = [this.model.start[gap]!, this.model.end[gap]!];
    const [low, high] = this.range;
    if (start >= low && end <= high) return;
    const span = Math.max(high - low, (end - start) * 1.2);
    this.show([(start + end - span) / 2, (start + end + span) / 2]);
  }

  /** Shows a period with some of the time around it. */
  #zoomTo(gap: number): void {
    const [start, end] = [this.model.start[gap]!, this.model.end[gap]!];
    const around = Math.max((end - start) * 1.5, 500);
    this.show([start - around, end + around]);
  }

  #zoomAround(factor: number): void {
    const gap = this.focus;
    const middle = (this.range[0] + this.range[1]) / 2;
    const start = this.model.start[gap] ?? middle;
    const around = start >= this.range[0] && start <= this.range[1] ? start : middle;
    this.show(zoomed(this.range, factor, around, this.#full));
  }

  #timeAt(x: number): number {
    const plot = plotOf(this.host.clientWidth);
    return this.range[0] + ((x - plot.left) / plot.width) * (this.range[1] - this.range[0]);
  }

  #inOverview({ x, y }: Spot): number | null {
    if (partAt(this.model, y) !== "overview") return null;
    const plot = plotOf(this.host.clientWidth);
    return ((x - plot.left) / plot.width) * this.model.length;
  }

  #centre(ns: number): void {
    const half = (this.range[1] - this.range[0]) / 2;
    this.show([ns - half, ns + half]);
  }

  #listen(): void {
    const full = this.#full;
    listen(this.host, {
      zone: ({ x }) => (x < plotOf(this.host.clientWidth).left - 4 ? "none" : "plot"),
      zoom: ({ x }, factor) => this.show(zoomed(this.range, factor, this.#timeAt(x), full)),
      pan: (dx) => {
        const perPixel = (this.range[1] - this.range[0]) / plotOf(this.host.clientWidth).width;
        this.show(moved(this.range, -dx * perPixel, full));
      },
      brush: (from, to, phase) => {
        const [a, b] = [this.#timeAt(from.x), this.#timeAt(to.x)];
        this.#brush = phase === "start" || phase === "move" ? [a, b] : null;
        if (phase === "end" && a !== b) this.show([Math.min(a, b), Math.max(a, b)]);
        this.#later();
      },
      hover: (spot, client) => this.#hover(spot, client),
      click: (spot) => {
        const whole = this.#inOverview(spot);
        if (whole !== null) this.#centre(whole);
        else this.#point(this.#gapAt(spot), true);
      },
      reset: () => this.show(full),
      key: (key) => this.#key(key),
      moves: () => true,
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.#point(-1, false);
      this.#card.style.display = "none";
    });
  }

  #gapAt({ x }: Spot): number {
    const perPixel = (this.range[1] - this.range[0]) / plotOf(this.host.clientWidth).width;
    return this.model.at(this.#timeAt(x), REACH * perPixel, this.#visible);
  }

  #hover(spot: Spot | null, client: Spot): void {
    const part = spot ? partAt(this.model, spot.y) : "below";
    if (!spot || part === "below" || part === "overview") {
      this.#card.style.display = "none";
      return;
    }
    const at = this.#timeAt(spot.x);
    const slack = ((this.range[1] - this.range[0]) / plotOf(this.host.clientWidth).width) * 3;
    if (part !== "cpu") {
      const order = this.model.lanes[part];
      const found: Told[] = [];
      for (let i = this.model.laneFirst(part, at - slack); i < order.length; i++) {
        const told = this.model.told(order[i]!);
        if (!told || told.start > at + slack) break;
        if (told.end >= at - slack) found.push(told);
      }
      this.#showCard(found.length > 0 ? [toldList(found)] : null, client);
      return;
    }
    const gap = this.#gapAt(spot);
    this.#showCard(gap < 0 ? null : this.#gapCard(gap), client);
  }

  #gapCard(gap: number): Node[] {
    const { model } = this;
    const [start, end] = [model.start[gap]!, model.end[gap]!];
    const icon = symbolIcon(SHAPES[model.classOf(gap)]);
    icon.style.color = palette().gaps[model.classOf(gap)];
    const list = h("dl", {});
    const entry = (title: string, ns: number): void =>
      list.append(h("dt", {}, title), h("dd", {}, h("span", { title: nanos(ns) }, time(ns))));
    entry("begins", start);
    entry("lasts", end - start);
    const told = model.within(start, end);
    return [
      h("strong", {}, `Inactive period ${count(gap + 1)}`),
      h("p", { class: "class" }, icon, bdi(model.words(gap))),
      list,
      model.events && told.length === 0
        ? h("p", { class: "none" }, "no kernel event is recorded in it")
        : toldList(told),
    ];
  }

  #showCard(content: Node[] | null, at: Spot): void {
    if (!content) {
      this.#card.style.display = "none";
      return;
    }
    this.#card.replaceChildren(h("div", { class: "card" }, ...content));
    this.#card.style.display = "flex";
    const { offsetWidth: width, offsetHeight: height } = this.#card;
    const room = { x: document.documentElement.clientWidth, y: window.innerHeight };
    const x = at.x + 16 + width > room.x ? at.x - 16 - width : at.x + 16;
    const y = Math.max(4, Math.min(at.y + 12, room.y - height - 8));
    this.#card.style.transform = `translate(${Math.max(4, Math.min(x, room.x - width - 4))}px, ${y}px)`;
  }

  #key(key: string): boolean {
    if (key === "+" || key === "=") this.#zoomAround(1 / 1.6);
    else if (key === "-" || key === "−") this.#zoomAround(1.6);
    else if (key === "0") this.show(this.#full);
    else if (key === "Enter" || key === " ") {
      if (this.focus >= 0) this.#zoomTo(this.focus);
    } else {
      const next = stepped(key, this.focus, this.model.size, this.#visible);
      if (next === null) return false;
      if (next >= 0) {
        this.#point(next, true);
        this.#reveal(next);
      }
    }
    return true;
  }

  /** The causes, each a switch that hides its periods. */
  #makeLegend(): HTMLElement {
    const icons: [SVGSVGElement, number][] = [];
    const buttons = this.model.causes.map((cause, i) => {
      const icon = symbolIcon(SHAPES[cause.class] ?? "ring");
      icons.push([icon, i]);
      const share = cause.share === null ? "" : `, ${percent(cause.share)}`;
      const entry = h(
        "button",
        { type: "button", class: "entry", "aria-pressed": "true", title: "show or hide these periods" },
        icon,
        bdi(cause.title),
        h("span", { class: "count" }, `${count(cause.gaps)}×${share}`),
      );
      entry.addEventListener("click", () => {
        if (!this.#hidden.delete(i)) this.#hidden.add(i);
        entry.setAttribute("aria-pressed", String(!this.#hidden.has(i)));
        this.#later();
      });
      return entry;
    });
    this.#paint = () => {
      const colors = palette().gaps;
      for (const [icon, i] of icons) icon.style.color = colors[this.model.causes[i]!.class] ?? colors.unknown;
    };
    this.#paint();
    return h("div", { class: "legend", role: "group", "aria-label": "Causes" }, ...buttons);
  }

  #makeTable(): TableView {
    const { model } = this;
    const all = Array.from({ length: model.size }, (_, i) => i);
    const keys = [
      (i: number): number => i,
      (i: number): number => model.start[i]!,
      (i: number): number => model.end[i]! - model.start[i]!,
    ];
    const sort = (column: number, descending: boolean | null): void => {
      const key = keys[column];
      const way = descending ? -1 : 1;
      if (descending === null) this.#order = all.slice();
      else if (key) this.#order = all.slice().sort((a, b) => way * (key(a) - key(b)) || a - b);
      else
        this.#order = sortedOrder(
          all.map((i) => model.words(i)),
          descending,
        );
    };
    const row = (n: number): { cells: (string | Node)[]; titles: (string | undefined)[]; act: () => void } => {
      const i = this.#order[n]!;
      const [start, duration] = [model.start[i]!, model.end[i]! - model.start[i]!];
      const act = (): void => {
        this.#point(i, true);
        this.#zoomTo(i);
      };
      const cells = [count(i + 1), time(start), time(duration), bdi(model.words(i))];
      return { cells, titles: [undefined, nanos(start), nanos(duration)], act };
    };
    const right = (title: string): { title: string; right: boolean } => ({ title, right: true });
    const columns = [right("number"), right("begins"), right("lasts"), { title: "cause", right: false }];
    const source = { columns, size: () => model.size, row, sort, empty: "None." };
    return new TableView(source, "Inactive periods", { page: 20, expandable: model.size <= 2000 });
  }

  #save(): void {
    this.draw();
    h("a", { href: this.#canvas.toDataURL("image/png"), download: "tare-timeline.png" }).click();
  }
}

/** The recorded kernel events, with their times. */
function toldList(told: Told[]): HTMLElement {
  const rows = told.slice(0, TOLD).flatMap((t) => [h("dt", {}, bdi(t.title)), h("dd", {}, time(t.end - t.start))]);
  const list = h("dl", { class: "daemons" }, ...rows);
  if (told.length <= TOLD) return list;
  return h("div", {}, list, h("p", { class: "none" }, `and ${count(told.length - TOLD)} more`));
}
