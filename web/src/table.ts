// A table that can be sorted by column and is drawn a page at a time.

import { append, h } from "./dom";
import { count } from "./format";

export interface RowView {
  cells: (string | Node)[];
  /** Further digits and the like, by column. */
  titles?: (string | undefined)[];
  mark?: "none" | "some" | "all";
  current?: boolean;
  /** Click and Enter. */
  act?: () => void;
  /** The pointer or the keyboard is on it, or no longer. */
  point?: (on: boolean, byKey: boolean) => void;
}

export interface Source {
  columns: { title: string; right: boolean; title2?: string }[];
  size: () => number;
  row: (i: number) => RowView;
  /** Sorts, or undoes the sorting (`null`). */
  sort: (column: number, descending: boolean | null) => void;
  /** Beside the pager. */
  tools?: Node[];
  empty: string;
}

export class TableView {
  readonly element: HTMLElement;
  readonly #source: Source;
  readonly #page: number;
  readonly #body = h("tbody", {});
  readonly #pager = h("div", { class: "pager" });
  readonly #heads: HTMLTableCellElement[];
  #first = 0;
  #all = false;
  #sorted: { column: number; descending: boolean } | null = null;

  constructor(source: Source, label: string, options: { page: number; expandable: boolean }) {
    this.#source = source;
    this.#page = options.page;
    this.#heads = source.columns.map((column, i) => this.#head(column, i));
    const head = h("thead", {}, h("tr", {}, ...this.#heads));
    const table = h("table", { class: "data", "aria-label": label }, head, this.#body);
    // A wide table scrolls in its own frame, which the keyboard must reach.
    const frame = h("div", { class: "frame", tabindex: 0, role: "region", "aria-label": label }, table);
    this.element = h("div", { class: "table" }, frame, this.#pager);
    this.#pager.dataset["expandable"] = String(options.expandable);
    this.#body.addEventListener("keydown", (event) => this.#key(event));
    this.draw();
  }

  #head(column: { title: string; right: boolean; title2?: string }, i: number): HTMLTableCellElement {
    const button = h("button", { type: "button", title: column.title2, onclick: () => this.#sort(i) }, column.title);
    return h("th", { scope: "col", class: column.right ? "right" : undefined, "aria-sort": "none" } as never, button);
  }

  /** Upwards, downwards, and back to the order of the data. */
  #sort(column: number): void {
    const now = this.#sorted?.column === column ? this.#sorted : null;
    this.#sorted = !now ? { column, descending: false } : now.descending ? null : { column, descending: true };
    this.#heads.forEach((head, i) => {
      const sort = this.#sorted?.column === i ? (this.#sorted.descending ? "descending" : "ascending") : "none";
      head.setAttribute("aria-sort", sort);
    });
    this.#source.sort(column, this.#sorted ? this.#sorted.descending : null);
    this.#first = 0;
    this.draw();
  }

  /** The rows that are drawn now, with their places in the order. */
  visible(): { element: HTMLTableRowElement; index: number }[] {
    const first = this.#all ? 0 : this.#first;
    return Array.from(this.#body.rows, (element, i) => ({ element, index: first + i }));
  }

  /** For print: all rows, and back. */
  showAll(on: boolean): void {
    this.#all = on;
    this.draw();
  }

  toStart(): void {
    this.#first = 0;
  }

  draw(): void {
    const size = this.#source.size();
    if (this.#first >= size) this.#first = 0;
    const end = this.#all ? size : Math.min(size, this.#first + this.#page);
    const rows: Node[] = [];
    for (let i = this.#all ? 0 : this.#first; i < end; i++) rows.push(this.#row(i));
    if (size === 0) rows.push(h("tr", {}, h("td", { class: "hint", colspan: this.#heads.length }, this.#source.empty)));
    this.#body.replaceChildren(...rows);
    const current = this.#body.querySelector("tr.current") ?? this.#body.querySelector("tr[tabindex]");
    current?.setAttribute("tabindex", "0");
    this.#drawPager(size, end);
  }

  #row(i: number): HTMLTableRowElement {
    const view = this.#source.row(i);
    const row = h("tr", { class: view.current ? "current" : undefined, "data-mark": view.mark ?? "none" });
    this.#source.columns.forEach((column, c) => {
      const cell = h("td", { class: column.right ? "right" : undefined, title: view.titles?.[c] });
      append(cell, [view.cells[c] ?? ""]);
      row.append(cell);
    });
    if (!view.act) return row;
    row.tabIndex = -1;
    row.classList.add("active");
    row.addEventListener("click", () => {
      row.focus();
      view.act?.();
    });
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target !== row) return;
      event.preventDefault();
      view.act?.();
    });
    const { point } = view;
    if (point) {
      row.addEventListener("pointerenter", () => point(true, false));
      row.addEventListener("pointerleave", () => point(false, false));
      row.addEventListener("focus", () => point(true, true));
    }
    return row;
  }

  /** One row is a tab stop; arrows go from row to row. */
  #key(event: KeyboardEvent): void {
    const row = event.target as HTMLElement;
    if (!(row instanceof HTMLTableRowElement)) return;
    const rows = [...this.#body.querySelectorAll<HTMLTableRowElement>("tr[tabindex]")];
    const at = rows.indexOf(row);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    const next = to === undefined ? undefined : rows[to];
    if (!next) return;
    event.preventDefault();
    row.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  #drawPager(size: number, end: number): void {
    const tools = this.#source.tools ?? [];
    const expandable = this.#pager.dataset["expandable"] === "true";
    const long = size > this.#page;
    const parts: Node[] = [];
    if (long && !this.#all) {
      const last = Math.floor((size - 1) / this.#page) * this.#page;
      const go = (to: number, sign: string, label: string): HTMLButtonElement => {
        const act = (): void => this.#go(to, label);
        const off = to < 0 || to > last || to === this.#first;
        return h("button", { type: "button", "aria-label": label, disabled: off, onclick: act }, sign);
      };
      parts.push(go(0, "«", "first page"), go(this.#first - this.#page, "‹", "previous page"));
      parts.push(h("span", {}, `${count(this.#first + 1)}–${count(end)} of ${count(size)}`));
      parts.push(go(this.#first + this.#page, "›", "next page"), go(last, "»", "last page"));
    }
    if (long && expandable) {
      const text = this.#all ? "show fewer" : `show all ${count(size)}`;
      parts.push(h("button", { type: "button", onclick: () => this.showAll(!this.#all) }, text));
    }
    this.#pager.replaceChildren(...parts, ...tools);
  }

  #go(first: number, label: string): void {
    this.#first = first;
    this.draw();
    // The button was redrawn: keep the keyboard focus on it.
    this.#pager.querySelector<HTMLButtonElement>(`button[aria-label="${label}"]:not([disabled])`)?.focus();
  }
}
