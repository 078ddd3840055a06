// A plot's data in typed arrays, with the queries of all views.

import type { Class, Dual, LevelLine, Measure, SamplePlace, Plot } from "./data";
import { type Scale, scaleOf } from "./format";
import type { Points } from "./hit";

/** From best to worst: a pair is drawn as its worse half. */
const RANKS: Record<Class["role"], number> = { good: 0, other: 1, drift: 2, spoiled: 3, failed: 4 };

/** The worse, the higher; drawn the later. */
export function roleRank(of: Class | undefined): number {
  return of ? (RANKS[of.role] ?? 1) : 0;
}

/** The class of a pair: the first half's, unless the second is worse. */
export function worse(classes: readonly Class[], a: number, b: number): number {
  return roleRank(classes[b]) > roleRank(classes[a]) ? b : a;
}

/** A measure with typed values; an absent one is NaN. */
export interface Values {
  id: Measure["id"];
  title: string;
  bins: number;
  lines: LevelLine[];
  places: SamplePlace[];
  values: Float64Array;
  /** How a column of it is written. */
  scale: Scale;
}

export interface Pairs {
  measure: Values | null;
  odd: Int32Array;
  even: Int32Array;
  level: Int32Array;
  points: Points;
  levels: Dual["levels"];
}

export class PlotModel {
  readonly plot: Plot;
  readonly size: number;
  readonly number: Float64Array;
  readonly start: Float64Array;
  readonly kind: Uint8Array;
  readonly classes: Class[];
  readonly measures: Values[];
  readonly pairs: Pairs | null;

  constructor(plot: Plot) {
    this.plot = plot;
    this.size = plot.samples.number.length;
    this.number = Float64Array.from(plot.samples.number);
    this.start = Float64Array.from(plot.samples.start);
    this.kind = Uint8Array.from(plot.samples.class);
    this.classes = plot.samples.classes;
    this.measures = plot.measures.map(typed);
    this.pairs = typeof plot.dual === "string" ? null : this.#pairs(plot.dual);
  }

  measure(id: string): Values | undefined {
    return this.measures.find((m) => m.id === id);
  }

  #pairs(dual: Dual): Pairs {
    const measure = this.measure(dual.measure) ?? null;
    const value = (i: number): number => measure?.values[i] ?? NaN;
    return {
      measure,
      odd: Int32Array.from(dual.odd),
      even: Int32Array.from(dual.even),
      level: Int32Array.from(dual.level),
      points: {
        x: Float64Array.from(dual.odd, value),
        y: Float64Array.from(dual.even, value),
        kind: Uint8Array.from(dual.odd, (odd, i) => worse(this.classes, this.kind[odd]!, this.kind[dual.even[i]!]!)),
      },
      levels: dual.levels,
    };
  }

  /** How many samples each class has. */
  classCounts(): number[] {
    const counts = this.classes.map(() => 0);
    for (const kind of this.kind) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  reason(sample: number): string | null {
    const index = this.plot.samples.reason[sample] ?? -1;
    return this.plot.samples.reasons[index] ?? null;
  }

  /** The daemons of a sample with their CPU time (ns), the largest first; `null` if they are unknown. */
  executions(sample: number): { name: string; time: number }[] | null {
    const flat = this.plot.samples.executions[sample];
    if (!flat) return null;
    const result: { name: string; time: number }[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      result.push({ name: this.plot.samples.daemons[flat[i]!] ?? "?", time: flat[i + 1]! });
    }
    return result;
  }

  /** Calls `found` for the samples in which a daemon ran whose name contains the text. */
  ran(text: string, found: (sample: number) => void): void {
    const wanted = text.toLocaleLowerCase();
    const hit = this.plot.samples.daemons.map((name) => name.toLocaleLowerCase().includes(wanted));
    this.plot.samples.executions.forEach((flat, sample) => {
      if (!flat) return;
      for (let i = 0; i < flat.length; i += 2) {
        if (hit[flat[i]!]) {
          found(sample);
          return;
        }
      }
    });
  }

  /** Entries of a sample's account; `null` if it has none. */
  account(sample: number): { title: string; role: "net" | "tare"; time: number }[] | null {
    const account = this.plot.samples.account;
    if (!account) return null;
    const entries = account.entries.flatMap((entry, e) => {
      const time = account.values[e]?.[sample] ?? null;
      return time === null ? [] : [{ ...entry, time }];
    });
    return entries.length > 0 ? entries : null;
  }
}

function typed(measure: Measure): Values {
  const values = Float64Array.from(measure.values, (v) => v ?? NaN);
  const known = values.filter((v) => !Number.isNaN(v)).sort();
  return {
    id: measure.id,
    title: measure.title,
    bins: Math.max(1, Math.min(1000, Math.floor(measure.bins) || 1)),
    lines: measure.lines,
    places: measure.places ?? [],
    values,
    scale: scaleOf(known[known.length >> 1] ?? 0),
  };
}
