// A trace as tare writes it, made up: ticks, a competitor's slices, what the hypervisor took, a hostile name.

import type { Cause, Page, Timeline } from "../src/data";
import { HOSTILE } from "./fixtures";

const MS = 1e6;

/** Ticks every 4 ms, every fifth of which another task takes over from for 3 ms; and one period without an event. */
export function timeline(ms: number, told = true): Timeline {
  const name = `preempted by ${HOSTILE[0]}`;
  const causes: Cause[] = [
    { title: told ? name : "another process", class: "task", gaps: 0, time: 0, share: null },
    { title: "timer interrupt", class: "timer", gaps: 0, time: 0, share: null },
    {
      title: told ? "no kernel event: hypervisor or SMI" : "unknown",
      class: told ? "no_event" : "unknown",
      gaps: 0,
      time: 0,
      share: null,
    },
  ];
  const t: Timeline = {
    length: ms * MS,
    causes,
    start: [],
    duration: [],
    cause: [],
    words: [],
    ticks: [],
    events: null,
  };
  const events = {
    what: [
      { title: "timer interrupt", class: "timer" as const },
      { title: `${HOSTILE[1]} (pid 77)`, class: "task" as const },
      { title: "softirq TIMER", class: "softirq" as const },
    ],
    kind: [] as number[],
    start: [] as number[],
    end: [] as number[],
  };
  const gap = (cause: number, start: number, duration: number, words: string | null): void => {
    t.start.push(start);
    t.duration.push(duration);
    t.cause.push(cause);
    t.words.push(words);
    const of = causes[cause]!;
    of.gaps += 1;
    of.time += duration;
    of.share = of.time / t.length;
  };
  const event = (kind: number, start: number, end: number): void => {
    events.kind.push(kind);
    events.start.push(start);
    events.end.push(end);
  };
  for (let at = MS, i = 0; at + 4 * MS < t.length; at += 4 * MS, i++) {
    const taken = i % 5 === 2;
    t.ticks.push(at + 500);
    event(0, at + 500, at + 6_000);
    if (!taken) event(2, at + 6_200, at + 8_000);
    else event(1, at + 6_500, at + 3 * MS - 400);
    gap(taken ? 0 : 1, at, taken ? 3 * MS : 9_000, taken && told ? `preempted by ${HOSTILE[1]} (pid 77)` : null);
    if (i % 3 === 0) gap(2, at + 3.5 * MS, 700, null);
  }
  if (told) t.events = events;
  return t;
}

export function trace(of: Timeline): Page {
  const rows = of.causes.map((c) => ({
    cells: [c.title, String(c.gaps), `${c.time / MS} ms`, "–", "–"],
    samples: [],
  }));
  const column = (title: string, right: boolean): { title: string; right: boolean } => ({ title, right });
  return {
    format: "tare-page",
    version: 1,
    kind: "trace",
    title: "Activity on CPU 1",
    subtitle: "When a process that only computes had its CPU",
    facts: [["Active", "85 % of 100 ms"]],
    remarks: [],
    plots: [],
    timeline: of,
    tables: [
      {
        title: "What the inactive periods were",
        note: "",
        columns: [column("cause", false), ...["periods", "time", "share", "each"].map((c) => column(c, true))],
        rows,
      },
    ],
    foot: "tare 0.9.0",
  };
}
