// The samples one after the other: number or local time to the right, the chosen measure up.

import { clockAxis, timeAxis, wholeAxis } from "./axes";
import { Chart, type Spec } from "./chart";
import { drawingOrder } from "./cloud";
import type { Context } from "./context";
import { time } from "./format";
import { type Points, extent, inBox } from "./hit";
import { type Steps, brushing, pointing, stepping } from "./interact";
import type { Line } from "./lines";
import { type Values, roleRank } from "./model";
import { palette } from "./theme";
import { type Range, padded } from "./ticks";
import type { View } from "./view";

export class Sequence {
  readonly chart: Chart;
  readonly #context: Context;
  readonly #order: Uint32Array;
  #points: Points;
  #full: View;

  constructor(context: Context, describedBy: string) {
    const { model } = context;
    this.#context = context;
    this.#order = drawingOrder(model.kind, (kind) => roleRank(model.classes[kind]));
    this.#points = this.#drawn();
    this.#full = this.#whole();
    this.chart = new Chart(this.#spec(describedBy));
  }

  /** After the measure or the x axis was changed. */
  rebuilt(): void {
    this.#points = this.#drawn();
    this.#full = this.#whole();
    this.chart.view = this.#full;
    this.chart.refresh("axes");
  }

  #drawn(): Points {
    const { model, options } = this.#context;
    return { x: options.byTime ? model.start : model.number, y: options.measure.values, kind: model.kind };
  }

  #whole(): View {
    const { x, y } = this.#points;
    const { measure } = this.#context.options;
    return { x: padded(extent(x) ?? [0, 1], 0.02), y: padded(withLines(extent(y) ?? [0, 1], measure)) };
  }

  #spec(describedBy: string): Spec {
    const { model, selection, options, look } = this.#context;
    const lines = (): Values["lines"] => options.measure.lines.filter((l) => Number.isFinite(l.value));
    const things = { points: () => this.#points, focus: (i: number) => ({ sample: i, partner: -1 }) };
    return {
      name: "sequence",
      label: "Sequence of samples",
      describedBy,
      height: (width) => (width < 500 ? 240 : 290),
      wheel: { x: true, y: false },
      axes: () => ({
        x: options.byTime ? clockAxis("local time") : wholeAxis("sample", false),
        y: timeAxis(options.measure.title, false, true),
      }),
      full: () => this.#full,
      lines: (view) => lines().map((l, i) => level(l.value, i, view)),
      notes: () => lines().map((l) => ({ y: l.value, text: `${l.title} ${time(l.value)}` })),
      cloud: () => ({
        points: this.#points,
        order: this.#order,
        hidden: selection.hidden,
        stampOf: look.base(model.size, selection.count),
      }),
      chosen: () => (selection.count > 0 ? (i) => selection.mask[i] === 1 : null),
      chosenLook: () => look.chosen(model.size, selection.count),
      focus: () => {
        const { sample, partner } = selection.focus;
        const both = [sample, partner].filter((i) => i >= 0);
        return both.map((i) => ({ x: this.#points.x[i]!, y: this.#points.y[i]! }));
      },
      brushed: brushing(selection, (area, mark) => inBox(this.#points, selection.hidden, area, mark)),
      ...pointing(this.#context, things),
      key: stepping(
        selection,
        () => this.#steps(),
        () => this.chart.reveal(),
      ),
      moves: () => options.moves,
    };
  }

  #steps(): Steps {
    const { model, selection } = this.#context;
    return {
      size: model.size,
      now: selection.pinned.sample,
      shown: (i) => selection.hidden[model.kind[i]!] !== 1 && !Number.isNaN(this.#points.y[i]!),
      focus: (i) => ({ sample: i, partner: -1 }),
    };
  }
}

/** The range of the samples, and of the lines that lie no farther away than the samples reach. */
function withLines([lo, hi]: Range, { lines }: Values): Range {
  const near = lines.map((l) => l.value).filter((v) => v >= lo - (hi - lo) && v <= hi + (hi - lo));
  return [Math.min(lo, ...near), Math.max(hi, ...near)];
}

const DASHES: number[][] = [[], [6, 4], [2, 3], [8, 3, 2, 3]];

function level(value: number, nth: number, view: View): Line {
  const inside = value >= view.y[0] && value <= view.y[1];
  const points = inside ? view.x.map((x): [number, number] => [x, value]) : [];
  return { points, color: palette().faint, width: 1, dash: DASHES[nth % DASHES.length] ?? [] };
}
