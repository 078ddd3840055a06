// The data of a trace in typed arrays, with the queries of its views.

import type { Cause, Events, GapClass, Timeline } from "./data";

/** The classes in the order in which they are drawn: rare ones last, so that they stay visible. */
export const CLASSES: readonly GapClass[] = ["no_event", "timer", "softirq", "interrupt", "idle", "task", "unknown"];

/** Where recorded kernel events are drawn. */
export const LANES = ["task", "interrupt", "softirq"] as const;
export type Lane = (typeof LANES)[number];

export const LANE_TITLES: Record<Lane, string> = { task: "other tasks", interrupt: "interrupts", softirq: "softirqs" };

export function laneOf(of: GapClass): Lane {
  if (of === "softirq") return "softirq";
  return of === "task" || of === "idle" ? "task" : "interrupt";
}

/** A kernel event, in words and ns. */
export interface Told {
  title: string;
  class: GapClass;
  start: number;
  end: number;
}

export class TimelineModel {
  readonly length: number;
  readonly causes: Cause[];
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly cause: Int32Array;
  readonly ticks: Float64Array;
  readonly events: Events | null;
  /** Positions of the events of each lane, by their beginnings. */
  readonly lanes: Record<Lane, Int32Array>;
  readonly #words: (string | null)[];

  constructor(data: Timeline) {
    this.length = data.length;
    this.causes = data.causes;
    this.start = Float64Array.from(data.start);
    this.end = Float64Array.from(data.start, (s, i) => s + data.duration[i]!);
    this.cause = Int32Array.from(data.cause);
    this.ticks = Float64Array.from(data.ticks).sort();
    this.events = data.events;
    this.#words = data.words;
    const of = (lane: Lane): Int32Array => {
      const { kind, what } = data.events ?? { kind: [], what: [] };
      return Int32Array.from(kind.flatMap((k, i) => (laneOf(what[k]!.class) === lane ? [i] : [])));
    };
    this.lanes = { task: of("task"), interrupt: of("interrupt"), softirq: of("softirq") };
  }

  get size(): number {
    return this.start.length;
  }

  classOf(gap: number): GapClass {
    return this.causes[this.cause[gap] ?? -1]?.class ?? "unknown";
  }

  /** What a period was. */
  words(gap: number): string {
    return this.#words[gap] ?? this.causes[this.cause[gap] ?? -1]?.title ?? "unknown";
  }

  /** The first period that ends after a time; as many as there are if none does. */
  firstAfter(ns: number): number {
    return lowest(this.size, (i) => this.end[i]! > ns);
  }

  /** The period at a time, or the nearest that `shown` lets pass and that is no further than `reach`; -1 if there is none. */
  at(ns: number, reach: number, shown: (gap: number) => boolean): number {
    const next = this.firstAfter(ns);
    let best = -1;
    let far = reach;
    // Hidden ones may lie between.
    for (const by of [1, -1]) {
      for (let i = by > 0 ? next : next - 1, tries = 0; i >= 0 && i < this.size && tries < 500; i += by, tries++) {
        const away = Math.max(this.start[i]! - ns, ns - this.end[i]!, 0);
        if (away > far) break;
        if (!shown(i)) continue;
        if (away < far || best < 0) [best, far] = [i, away];
        break;
      }
    }
    return best;
  }

  told(event: number): Told | null {
    const events = this.events;
    const what = events?.what[events.kind[event] ?? -1];
    return events && what ? { ...what, start: events.start[event]!, end: events.end[event]! } : null;
  }

  /** Recorded kernel events within a time, by their beginning. */
  within(from: number, to: number): Told[] {
    const events = this.events;
    if (!events) return [];
    // A long event may have started long before `from`; a lane bounds the search.
    const found: Told[] = [];
    for (const lane of LANES) {
      const order = this.lanes[lane];
      for (let i = this.laneFirst(lane, from); i < order.length; i++) {
        const told = this.told(order[i]!);
        if (!told || told.start >= to) break;
        if (told.end > from) found.push(told);
      }
    }
    return found.sort((a, b) => a.start - b.start);
  }

  /** The first event of a lane that may reach into what comes after a time. */
  laneFirst(lane: Lane, ns: number): number {
    const order = this.lanes[lane];
    const events = this.events;
    if (!events) return 0;
    const next = lowest(order.length, (i) => events.start[order[i]!]! > ns);
    // Within a lane, few are nested.
    return Math.max(0, next - 8);
  }
}

/** The smallest of 0 to n - 1 that holds, of those that hold from some on; n if none does. */
export function lowest(n: number, holds: (i: number) => boolean): number {
  let [low, high] = [0, n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
