// The selected samples, a hundred at a time; all of them while none is selected.

import type { Context } from "./context";
import { copyButton } from "./csv";
import { absent, bdi, h, settled } from "./dom";
import { count, inScale, localTime, nanos } from "./format";
import { sortByValue } from "./sort";
import { symbolIcon } from "./symbols";
import { type RowView, TableView } from "./table";
import { classColors } from "./theme";

const PAGE = 100;

interface Column {
  title: string;
  right: boolean;
  /** Sort key. */
  key: (sample: number) => number;
  cell: (sample: number) => string | Node;
  text: (sample: number) => string;
  hint?: (sample: number) => string | undefined;
}

export interface SamplesTable {
  element: HTMLElement;
  now: () => void;
  stop: () => void;
}

function columns({ model }: Context): Column[] {
  const colors = (): string[] => classColors(model.classes);
  const kind = (i: number): number => model.kind[i]!;
  const title = (i: number): string => model.classes[kind(i)]?.title ?? "";
  const classCell = (i: number): Node => {
    const of = model.classes[kind(i)];
    const icon = symbolIcon(of?.symbol ?? "square");
    icon.style.color = colors()[kind(i)] ?? "";
    return h("span", { class: "class" }, icon, bdi(title(i)));
  };
  const number = (i: number): string => String(model.number[i]);
  const start = (i: number): string => localTime(model.start[i]!);
  const result: Column[] = [
    { title: "no.", right: true, key: (i) => model.number[i]!, cell: number, text: number },
    { title: "local time", right: false, key: (i) => model.start[i]!, cell: start, text: start },
  ];
  for (const measure of model.measures) {
    const { values, scale } = measure;
    const text = (i: number): string => (Number.isNaN(values[i]!) ? "" : inScale(values[i]!, scale));
    const name = measure.id === "net" ? "net" : measure.id.toUpperCase();
    result.push({
      title: `${name} [${scale.unit.sign}]`,
      right: true,
      key: (i) => values[i]!,
      cell: (i) => (Number.isNaN(values[i]!) ? absent() : text(i)),
      text,
      hint: (i) => (Number.isNaN(values[i]!) ? undefined : nanos(values[i]!)),
    });
  }
  result.push({ title: "class", right: false, key: kind, cell: classCell, text: title });
  if (model.plot.samples.reason.some((r) => r >= 0)) {
    const reason = (i: number): string => model.reason(i) ?? "";
    const order = (i: number): number => (model.reason(i) === null ? NaN : (model.plot.samples.reason[i] ?? NaN));
    result.push({ title: "reason", right: false, key: order, cell: (i) => bdi(reason(i)), text: reason });
  }
  return result;
}

export function samplesTable(context: Context): SamplesTable {
  const { model, selection } = context;
  const own = columns(context);
  const everything = Int32Array.from({ length: model.size }, (_, i) => i);
  let positions: Int32Array = everything;
  let by: { column: number; descending: boolean } | null = null;
  const order = (): void => {
    const from = selection.count > 0 ? selection.positions() : everything;
    const column = by ? own[by.column] : undefined;
    positions = by && column ? sortByValue(from, column.key, by.descending) : from;
  };
  const row = (i: number): RowView => {
    const sample = positions[i]!;
    return {
      cells: own.map((c) => c.cell(sample)),
      titles: own.map((c) => c.hint?.(sample)),
      current: selection.pinned.sample === sample,
      act: () => selection.pin({ sample, partner: -1 }),
      point: (on, byKey) => {
        if (byKey) selection.pin({ sample, partner: -1 });
        else selection.hover(on ? { sample, partner: -1 } : null);
      },
    };
  };
  const rows = (): string[][] => [own.map((c) => c.title), ...Array.from(positions, (i) => own.map((c) => c.text(i)))];
  const view = new TableView(
    {
      columns: own,
      size: () => positions.length,
      row,
      sort: (column, descending) => {
        by = descending === null ? null : { column, descending };
        order();
      },
      tools: model.size > 0 ? [copyButton(rows)] : [],
      empty: "There are no samples.",
    },
    "Samples",
    { page: PAGE, expandable: false },
  );
  const heading = h("h3", {});
  const update = settled(() => {
    order();
    view.toStart();
    view.draw();
    heading.textContent =
      selection.count > 0
        ? `Selected samples (${count(selection.count)})`
        : `Samples (all ${count(model.size)}, none selected)`;
    element.classList.toggle("unselected", selection.count === 0);
  }, 80);
  const element = h("section", { class: "samples" }, heading, view.element);
  update.now();
  selection.on("selection", update.ask);
  selection.on("focus", () => markCurrent(view, positions, selection.pinned.sample));
  return { element, now: update.now, stop: update.stop };
}

function markCurrent(view: TableView, positions: Int32Array, sample: number): void {
  for (const { element, index } of view.visible()) element.classList.toggle("current", positions[index] === sample);
}
