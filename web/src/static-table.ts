// A table that tare wrote; rows that speak of samples select them.

import { copyButton } from "./csv";
import type { Table } from "./data";
import { bdi, h, settled } from "./dom";
import type { Selection } from "./selection";
import { isAbsent, sortedOrder } from "./sort";
import { TableView } from "./table";

const LONG = 50;
/** More rows are not printed in full. */
const PRINTED = 2000;

export interface StaticTable {
  element: HTMLElement;
  printing: (on: boolean) => void;
}

export function staticTable(table: Table, selection: Selection | null): StaticTable {
  const rows = table.rows;
  let order = rows.map((_, i) => i);
  const marks = selection !== null && rows.some((row) => row.samples.length > 0);
  const cellNode = (text: string): Node => (isAbsent(text) ? dash(text) : bdi(text));
  const view = new TableView(
    {
      columns: table.columns,
      size: () => rows.length,
      row: (i) => {
        const row = rows[order[i]!]!;
        const cells = row.cells.map(cellNode);
        if (!selection || row.samples.length === 0) return { cells };
        const act = (): void => selection.replace((mark) => row.samples.forEach(mark), null, row);
        return { cells, act, mark: selection.covers(row.samples) };
      },
      sort: (column, descending) => {
        const cells = rows.map((row) => row.cells[column] ?? "");
        const values = rows.map((row) => row.values?.[column] ?? null);
        order = descending === null ? rows.map((_, i) => i) : sortedOrder(cells, descending, values);
      },
      tools:
        rows.length > 1
          ? [copyButton(() => [table.columns.map((c) => c.title), ...order.map((i) => rows[i]!.cells)])]
          : [],
      empty: "No rows.",
    },
    table.title,
    { page: LONG, expandable: true },
  );
  if (selection && marks)
    selection.on("selection", settled(() => remark(view, selection, (i) => rows[order[i]!]), 60).ask);
  const element = h("section", { class: marks ? "given marks" : "given" }, h("h3", {}, table.title));
  if (table.note !== "") element.append(h("p", { class: "note" }, table.note));
  if (marks)
    element.append(h("p", { class: "hint" }, "Click a row to select its samples: ● all are selected, ○ some are."));
  element.append(view.element);
  return {
    element,
    printing: (on) => {
      if (rows.length > LONG && rows.length <= PRINTED) view.showAll(on);
    },
  };
}

/** A dash distinguishes an unknown value from zero. */
function dash(text: string): HTMLElement {
  return text.trim() === "" ? h("span", {}) : h("span", { class: "absent", title: "unknown" }, "–");
}

/** Marks are set on the rows that are there, so that the keyboard stays where it is. */
function remark(view: TableView, selection: Selection, of: (i: number) => { samples: number[] } | undefined): void {
  for (const { element, index } of view.visible()) {
    const samples = of(index)?.samples ?? [];
    element.dataset["mark"] = selection.covers(samples);
  }
}
