// The dual-execution scatter plot: a point is a pair of successive samples, the odd one's time to the right, the even one's up.

import { timeAxis } from "./axes";
import { Chart, type Spec } from "./chart";
import { drawingOrder } from "./cloud";
import type { Context } from "./context";
import { type Points, extent, inBox } from "./hit";
import { type Steps, brushing, pointing, stepping } from "./interact";
import type { Line } from "./lines";
import { type PlotModel, type Pairs, roleRank } from "./model";
import type { Focus } from "./selection";
import { palette } from "./theme";
import { type Range, padded } from "./ticks";
import type { View } from "./view";

/** The points as they are drawn: a time that is not positive has no logarithm. */
function drawn(points: Points, log: boolean): Points {
  if (!log) return points;
  const of = (values: Float64Array): Float64Array => values.map((v) => (v > 0 ? Math.log10(v) : NaN));
  return { ...points, x: of(points.x), y: of(points.y) };
}

/** The same range on both axes, so that the diagonal is one. */
function square(points: Points): View {
  const ends = [extent(points.x), extent(points.y)].filter((e) => e !== null).flat();
  const range = ends.length > 0 ? padded([Math.min(...ends), Math.max(...ends)]) : padded([0, 1]);
  return { x: range, y: range };
}

/** Which pair each sample belongs to, or -1. */
function pairOfSample(model: PlotModel, pairs: Pairs): Int32Array {
  const result = new Int32Array(model.size).fill(-1);
  for (let p = 0; p < pairs.odd.length; p++) {
    result[pairs.odd[p]!] = p;
    result[pairs.even[p]!] = p;
  }
  return result;
}

export class Scatter {
  readonly chart: Chart;
  readonly #context: Context;
  readonly #pairs: Pairs;
  readonly #order: Uint32Array;
  readonly #ofSample: Int32Array;
  #points: Points;
  #full: View;

  constructor(context: Context, pairs: Pairs, describedBy: string) {
    this.#context = context;
    this.#pairs = pairs;
    this.#order = drawingOrder(pairs.points.kind, (kind) => roleRank(context.model.classes[kind]));
    this.#ofSample = pairOfSample(context.model, pairs);
    this.#points = drawn(pairs.points, context.options.log);
    this.#full = square(this.#points);
    this.chart = new Chart(this.#spec(describedBy));
  }

  #spec(describedBy: string): Spec {
    const { selection, options, look } = this.#context;
    const { odd, even, measure } = this.#pairs;
    const title = measure?.title ?? "time";
    const things = { points: () => this.#points, focus: (p: number) => this.#focus(p) };
    return {
      name: "scatter",
      label: `Dual-execution scatter plot of ${title}`,
      describedBy,
      // Square within the frame of its axes.
      height: (width) => Math.max(240, Math.min(560, width - 34)),
      wheel: { x: true, y: true },
      axes: () => ({
        x: timeAxis(`odd sample: ${title}`, options.log, false),
        y: timeAxis(`even sample: ${title}`, options.log, true),
      }),
      full: () => this.#full,
      lines: (view) => [diagonal(view)],
      cloud: () => ({
        points: this.#points,
        order: this.#order,
        hidden: selection.hidden,
        stampOf: look.base(odd.length, selection.count),
      }),
      chosen: () => {
        const { mask, count } = selection;
        return count === 0 ? null : (p) => mask[odd[p]!] === 1 || mask[even[p]!] === 1;
      },
      chosenLook: () => look.chosen(odd.length, selection.count),
      focus: () => {
        const p = this.#ofSample[selection.focus.sample] ?? -1;
        return p < 0 ? [] : [{ x: this.#points.x[p]!, y: this.#points.y[p]! }];
      },
      brushed: brushing(selection, (area, mark) =>
        inBox(this.#points, selection.hidden, area, (p) => {
          mark(odd[p]!);
          mark(even[p]!);
        }),
      ),
      ...pointing(this.#context, things),
      key: stepping(
        selection,
        () => this.#steps(),
        () => this.chart.reveal(),
      ),
      moves: () => options.moves,
    };
  }

  #focus(p: number): Focus {
    return { sample: this.#pairs.odd[p] ?? -1, partner: this.#pairs.even[p] ?? -1 };
  }

  /** From pair to pair. */
  #steps(): Steps {
    const { selection } = this.#context;
    const { x, y, kind } = this.#points;
    const known = (p: number): boolean => !Number.isNaN(x[p]!) && !Number.isNaN(y[p]!);
    return {
      size: kind.length,
      now: this.#ofSample[selection.pinned.sample] ?? -1,
      shown: (p) => selection.hidden[kind[p]!] !== 1 && known(p),
      focus: (p) => this.#focus(p),
    };
  }

  /** Shows a zoom level. */
  level(index: number): void {
    const level = this.#pairs.levels[index];
    if (!level) return;
    const { log } = this.#context.options;
    const of = (range: Range): Range =>
      log ? (range.map((v) => Math.log10(Math.max(v, 1))) as [number, number]) : range;
    this.chart.setView({ x: padded(of(level.x), 0.05), y: padded(of(level.y), 0.05) });
  }

  setLog(log: boolean): void {
    this.#context.options.log = log;
    this.#points = drawn(this.#pairs.points, log);
    this.#full = square(this.#points);
    this.chart.view = this.#full;
    this.chart.refresh("axes");
  }
}

function diagonal(view: View): Line {
  const lo = Math.max(view.x[0], view.y[0]);
  const hi = Math.min(view.x[1], view.y[1]);
  const points = lo < hi ? [lo, hi].map((v): [number, number] => [v, v]) : [];
  return { points, color: palette().faint, width: 1 };
}
