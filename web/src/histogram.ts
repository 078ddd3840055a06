// The histogram of the visible part of the chosen measure; selected samples stand in front, in another tone.

import { timeAxis, wholeAxis } from "./axes";
import { Chart, type Spec } from "./chart";
import type { Context } from "./context";
import { extent, histogram } from "./hit";
import { type Steps, brushing, stepping } from "./interact";
import type { Line } from "./lines";
import { palette } from "./theme";
import { type Range, padded } from "./ticks";

export class Histogram {
  readonly chart: Chart;
  readonly #context: Context;
  #full: Range;
  /** The visible range. */
  #shown: Range;
  #bars: Float64Array | null = null;
  /** Samples from the shortest to the longest. */
  #ranks: Int32Array | null = null;

  constructor(context: Context, describedBy: string) {
    this.#context = context;
    this.#full = this.#whole();
    this.#shown = this.#full;
    this.chart = new Chart(this.#spec(describedBy));
  }

  /** After the measure was changed. */
  rebuilt(): void {
    this.#full = this.#whole();
    this.#ranks = null;
    this.#show(this.#full);
    this.chart.refresh("axes");
  }

  /** After a class was hidden or shown. */
  recount(): void {
    this.#show(this.#shown);
    this.chart.refresh("axes");
  }

  #show(range: Range): void {
    this.#shown = range;
    this.#bars = null;
    this.chart.view = { x: range, y: this.#height() };
  }

  #whole(): Range {
    return padded(extent(this.#context.options.measure.values) ?? [0, 1], 0.02);
  }

  #visible(i: number): boolean {
    const { model, selection } = this.#context;
    return selection.hidden[model.kind[i]!] !== 1;
  }

  #count(counts: (i: number) => boolean): Float64Array {
    const { values, bins } = this.#context.options.measure;
    return histogram(values, this.#shown, bins, counts);
  }

  /** All samples; recounted only if the visible range has changed. */
  #all(): Float64Array {
    this.#bars ??= this.#count((i) => this.#visible(i));
    return this.#bars;
  }

  #height(): Range {
    const most = this.#all().reduce((a, b) => Math.max(a, b), 0);
    return [0, Math.max(1, most) * 1.06];
  }

  #spec(describedBy: string): Spec {
    const { selection, options, tooltip } = this.#context;
    const values = (): Float64Array => options.measure.values;
    return {
      name: "histogram",
      label: "Histogram of samples",
      describedBy,
      height: (width) => (width < 500 ? 200 : 230),
      wheel: { x: true, y: false },
      columns: true,
      axes: () => ({ x: timeAxis(options.measure.title, false, false), y: wholeAxis("samples", true) }),
      full: () => ({ x: this.#full, y: this.#height() }),
      lines: () => {
        const { bar, accent } = palette();
        const chosen = selection.count > 0 ? [this.#count((i) => selection.mask[i] === 1)] : [];
        return [area(this.#all(), this.#shown, bar, 0.65), ...chosen.map((c) => area(c, this.#shown, accent, 0.85))];
      },
      focus: () => {
        const { sample, partner } = selection.focus;
        const known = [sample, partner].filter((i) => i >= 0 && !Number.isNaN(values()[i]));
        return known.map((i) => ({ x: values()[i]!, y: 0 }));
      },
      brushed: brushing(selection, ({ x }, mark) => {
        const all = values();
        for (let i = 0; i < all.length; i++) if (all[i]! >= x[0] && all[i]! <= x[1]) mark(i);
      }),
      hovered: () => tooltip.show(null, { x: 0, y: 0 }),
      clicked: () => undefined,
      key: stepping(
        selection,
        () => this.#steps(),
        () => undefined,
      ),
      viewed: () => this.#show(this.chart.view.x),
      moves: () => options.moves,
    };
  }

  /** From the shortest to the longest sample. */
  #steps(): Steps {
    const { selection, options } = this.#context;
    const { values } = options.measure;
    this.#ranks ??= Int32Array.from(values, (_, i) => i)
      .filter((i) => !Number.isNaN(values[i]!))
      .sort((a, b) => values[a]! - values[b]! || a - b);
    const ranks = this.#ranks;
    return {
      size: ranks.length,
      now: ranks.indexOf(selection.pinned.sample),
      shown: (rank) => this.#visible(ranks[rank]!),
      focus: (rank) => ({ sample: ranks[rank]!, partner: -1 }),
    };
  }
}

/** Bars as one outline. */
function area(counts: Float64Array, [lo, hi]: Range, color: string, fill: number): Line {
  const width = (hi - lo) / counts.length;
  const points: [number, number][] = [[lo, 0]];
  counts.forEach((n, i) => {
    points.push([lo + i * width, n], [lo + (i + 1) * width, n]);
  });
  points.push([hi, 0]);
  return { points, color, width: 1, fill };
}
