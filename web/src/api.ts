// What scripts, such as tests, can read from the page. Read-only.

import type { Spot } from "./gestures";
import type { PageView } from "./page";
import type { Range } from "./ticks";
import type { View } from "./view";

export interface TareApi {
  /** Id of the plot or part that is shown. */
  readonly plot: string | null;
  /** Positions of the selected samples. */
  readonly selection: number[];
  readonly focus: { sample: number; partner: number };
  /** Visible ranges by chart; times in ns. */
  readonly ranges: Record<string, View>;
  readonly renders: Record<string, { axes: number; points: number; chosen: number }>;
  /** Position of a value on the screen, in pixels of the window; `null` without such a chart. */
  place: (chart: string, x: number, y: number) => Spot | null;
  /** Of a trace: the visible time (ns), the inactive period that is pointed at (-1: none), and where a time is. */
  readonly timeline: { range: Range; focus: number; drawn: number; place: (ns: number) => Spot } | null;
  /** Figures of curves: what is seen of each, the values of what is pointed at, and where values are on the screen. */
  readonly curves: { id: string; view: View; focus: [number, number] | null; place: (x: number, y: number) => Spot }[];
}

export function api(page: PageView): TareApi {
  const charts = () => page.current?.charts ?? [];
  const log = (name: string): boolean => name === "scatter" && page.current?.context.options.log === true;
  return Object.freeze({
    get plot() {
      return page.current?.plot.id ?? page.part?.id ?? null;
    },
    get selection() {
      return Array.from(page.current?.context.selection.positions() ?? []);
    },
    get focus() {
      return { ...(page.current?.context.selection.focus ?? { sample: -1, partner: -1 }) };
    },
    get ranges() {
      const range = (name: string, [lo, hi]: View["x"]): View["x"] => (log(name) ? [10 ** lo, 10 ** hi] : [lo, hi]);
      return Object.fromEntries(
        charts().map(({ spec: { name }, view }) => [name, { x: range(name, view.x), y: range(name, view.y) }]),
      );
    },
    get renders() {
      return Object.fromEntries(charts().map((c) => [c.spec.name, { ...c.renders }]));
    },
    get timeline() {
      const shown = page.timeline;
      if (!shown) return null;
      const { range, focus, drawn } = shown;
      return { range, focus, drawn, place: (ns: number) => shown.place(ns) };
    },
    get curves() {
      const shown = [page.duets, page.current?.quiet, page.part];
      const views = shown.flatMap((of) => of?.views ?? []);
      return views.map((v) => ({
        id: v.id,
        view: v.values,
        focus: v.focused,
        place: (x: number, y: number) => v.place(x, y),
      }));
    },
    place(name: string, x: number, y: number): Spot | null {
      const chart = charts().find((c) => c.spec.name === name);
      if (!chart) return null;
      const at = chart.pixel(log(name) ? { x: Math.log10(x), y: Math.log10(y) } : { x, y });
      const frame = chart.host.getBoundingClientRect();
      return { x: frame.left + at.x, y: frame.top + at.y };
    },
  });
}
