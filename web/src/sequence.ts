// The samples one after the other: number or local time to the right, the chosen measure up.

import { clockAxis, timeAxis, wholeAxis } from "./axes";
import { Chart, type Spec } from "./chart";
import { drawingOrder } from "./cloud";
import type { Context } from "./context";
import type { LevelLine } from "./data";
import { level } from "./describe";
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

  /** Where the places of the measure are: between two samples, or at the start of the first one that is shown from there on. */
  #places(): { title: string; x: number }[] {
    const { model, options } = this.#context;
    return options.measure.places.flatMap(({ title, number }) => {
      if (!options.byTime) return [{ title, x: number - 0.5 }];
      const x = model.start[model.number.findIndex((n) => n >= number)];
      return x === undefined ? [] : [{ title, x }];
    });
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
      lines: (view) => {
        const ends = extent(this.#points.x) ?? view.x;
        const levels = lines().map((l, i) => line(l, i, view, ends));
        const places = this.#places().map(({ x }, i) => upright(x, levels.length + i, view));
        return [...levels, ...places];
      },
      notes: () => lines().map((l) => ({ y: l.end ?? l.value, text: `${l.title} ${level(l)}` })),
      headings: () => this.#places().map(({ x, title }) => ({ x, text: title })),
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
  const ends = lines.flatMap((l) => [l.value, l.end ?? l.value]);
  const near = ends.filter((v) => v >= lo - (hi - lo) && v <= hi + (hi - lo));
  return [Math.min(lo, ...near), Math.max(hi, ...near)];
}

const DASHES: number[][] = [[], [6, 4], [2, 3], [8, 3, 2, 3]];

function styled(points: [number, number][], nth: number): Line {
  return { points, color: palette().faint, width: 1, dash: DASHES[nth % DASHES.length] ?? [] };
}

/** A level over the whole width, or a sloping line from the first sample to the last one. */
function line({ value, end }: LevelLine, nth: number, view: View, ends: Range): Line {
  if (end !== undefined) {
    return styled(
      [
        [ends[0], value],
        [ends[1], end],
      ],
      nth,
    );
  }
  const inside = value >= view.y[0] && value <= view.y[1];
  return styled(inside ? view.x.map((x): [number, number] => [x, value]) : [], nth);
}

function upright(x: number, nth: number, view: View): Line {
  const inside = x >= view.x[0] && x <= view.x[1];
  return styled(inside ? view.y.map((y): [number, number] => [x, y]) : [], nth);
}
