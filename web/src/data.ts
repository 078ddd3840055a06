// The data that tare writes into the page: the contract between `crates/report/src/web/page.rs` and this folder.
//
// All figures were computed by tare. Times are nanoseconds unless said otherwise. Every string may come from the machine
// (process names, commands, tags) and is shown as text, never as markup. Columns instead of rows keep 100,000 samples small.

export interface Page {
  format: "tare-page";
  version: 1;
  kind:
    | "run"
    | "profile"
    | "trace"
    | "noise"
    | "study"
    | "bench"
    | "comparison"
    | "gate"
    | "growth"
    | "machine"
    | "history";
  title: string;
  subtitle: string;
  /** Facts about the measurement and the machine: label and text. */
  facts: [string, string][];
  remarks: Remark[];
  /** The result of a run, shown first. */
  overview?: Overview;
  /** A program of a run; the short and the long part of a profile; none of the others. */
  plots: Plot[];
  /** Of a trace. */
  timeline?: Timeline;
  /** Of noise one for each grain, of a study for each way to measure, of benchmarks, comparisons and gates for each. */
  parts?: Part[];
  /** Of the whole: comparison, protocol, cutoffs, machine. */
  tables: Table[];
  /** Version and time, for the foot of the page. */
  foot: string;
}

export interface Remark {
  warning: boolean;
  text: string;
}

/** The result of a run. All texts are rounded by tare; the numbers are for drawing. */
export interface Overview {
  /** Sentences. */
  answers: string[];
  /** What the estimates are. */
  note: string;
  /** Kind of the rows: "program" or "measure". */
  what: string;
  /** E.g. "CPU time (PT)". */
  measure: string;
  /** Whether there are programs to compare. */
  compared: boolean;
  rows: OverviewRow[];
  accounts: AccountBar[];
  /** Of programs that ran together. */
  duets?: Duets;
}

/** What duets say of each pair of programs. */
export interface Duets {
  note: string;
  /** A row for each pair. */
  table: Table;
  /** Of each pair that has duets: its ratios in the order of the blocks, and the estimate. At most 10,000 points in all. */
  figures: Figure[];
}

export interface OverviewRow {
  title: string;
  /** Id of the program's plot. */
  plot: string;
  /** ns. */
  mean: Estimate | null;
  /** Program / reference. */
  ratio: Estimate | null;
  /** The ratio of executions alone, where `ratio` is that of duets. */
  alone?: Estimate;
  /** What `ratio` rests on, e.g. "12 duets"; empty without one. */
  basis: string;
  /** Largest ratio that is accepted. */
  limit?: number;
  /** The last five are those of a gate. */
  verdict:
    | "faster"
    | "slower"
    | "same"
    | "undecided"
    | "reference"
    | "control"
    | "pass"
    | "regression"
    | "improvement"
    | "inconclusive"
    | "failed"
    | null;
  samples: string;
}

/** A figure with its 95% interval; `null` bounds where there is none, and `interval` says why. */
export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
  text: string;
  interval: string;
}

/** A program's mean elapsed time, in parts that add up to it. */
export interface AccountBar {
  title: string;
  plot: string;
  /** ns. */
  gross: number;
  text: string;
  parts: { kind: string; title: string; time: number; text: string }[];
}

/** Everything about the samples of one program. */
export interface Plot {
  id: string;
  title: string;
  note: string;
  /** The first is shown first. All have a value for each sample, `null` where there is none. */
  measures: Measure[];
  samples: Samples;
  /** The dual-execution scatter plot, or why there is none. */
  dual: Dual | string;
  tables: Table[];
  /** Of programs beside which probes ran. */
  quiet?: Quiet;
}

/** The time of a program on the quiet machine: what probes beside it say that the machine added is taken off. */
export interface Quiet {
  /** The corrected time, or why there is none. */
  answer: string;
  note: string;
  /** By cause, what the correction takes from the time: a share of it, negative if it became shorter. */
  parts: { title: string; share: number; text: string }[];
  /** Sentences. */
  doubts: string[];
  /** The samples before and after, and what the probes saw; at most some 4,000 points each. */
  figures: Figure[];
  tables: Table[];
}

export interface Measure {
  id: "et" | "pt" | "net";
  /** E.g. "Elapsed time (ET)". */
  title: string;
  values: (number | null)[];
  /** Number of bins of the visible range in the histogram. */
  bins: number;
  /** Lines of the sequence plot, e.g. mean and limits. */
  lines: LevelLine[];
  /** Places in it, each before the sample of this number. */
  places?: SamplePlace[];
}

/** ns; of a sloping line at the first sample, with `end` at the last one. */
export interface LevelLine {
  title: string;
  value: number;
  end?: number;
}

export interface SamplePlace {
  title: string;
  number: number;
}

/** How a class of samples is drawn, beside its colour. */
export type Symbol = "circle" | "triangle" | "diamond" | "cross" | "square" | "ring" | "plus";

export interface Class {
  /** E.g. "central cluster", "L-sample", "discarded: cutoff". */
  title: string;
  role: "good" | "spoiled" | "drift" | "other" | "failed";
  symbol: Symbol;
}

export interface Samples {
  /** Number in the series, from 1. */
  number: number[];
  /** Milliseconds since 1970. */
  start: number[];
  classes: Class[];
  /** Per sample: its class. */
  class: number[];
  /** Texts that `reason` points to. */
  reasons: string[];
  /** Per sample: why it was discarded, or -1. */
  reason: number[];
  /** Names of daemons (families). */
  daemons: string[];
  /** Per sample: name, CPU time, name, CPU time, …, the largest first; `null` where the daemons are unknown. */
  executions: (number[] | null)[];
  /** Per sample: the account of its elapsed time; `null` if no sample has one. */
  account: Account | null;
}

/** Gross = net + tare, of every sample. The entries of a sample that has an account add up to its elapsed time. */
export interface Account {
  entries: { title: string; role: "net" | "tare" }[];
  /** Per entry, per sample; `null` where the sample has no account. */
  values: (number | null)[][];
  /** Positions of the samples that means are over: those retained for ET. */
  retained: number[];
}

/** Pairs of successive samples: x the odd one's time, y the even one's. */
export interface Dual {
  /** Which measure is drawn. */
  measure: "et" | "pt" | "net";
  /** Per pair: position of the odd half in the samples. */
  odd: number[];
  /** Per pair: position of the even half. */
  even: number[];
  /** Per pair: the deepest zoom level that shows it. */
  level: number[];
  /** From everything to the central cluster. */
  levels: Level[];
}

export interface Level {
  title: string;
  members: number;
  x: [number, number];
  y: [number, number];
}

export interface Table {
  title: string;
  note: string;
  columns: Column[];
  rows: Row[];
}

export interface Column {
  title: string;
  right: boolean;
}

export interface Row {
  cells: string[];
  /** Positions of the samples (of this plot) that the row is about; empty: none in particular. */
  samples: number[];
  /** By cell, the number that it shows, in one unit for the whole column; rows are sorted by it. */
  values?: (number | null)[];
}

/** What an inactive period was, or what had the CPU. */
export type GapClass = "timer" | "interrupt" | "softirq" | "task" | "idle" | "no_event" | "unknown";

/** When a process had its CPU, and when not. Times are ns from the beginning of the trace. */
export interface Timeline {
  length: number;
  /** Causes of inactive periods, in descending order of their time. */
  causes: Cause[];
  /** Per inactive period, in the order of time. */
  start: number[];
  duration: number[];
  /** Position of its cause. */
  cause: number[];
  /** Description, where it says more than the cause. */
  words: (string | null)[];
  /** Timer interrupts. */
  ticks: number[];
  /** Recorded kernel events; `null` without a recording. */
  events: Events | null;
}

export interface Cause {
  title: string;
  class: GapClass;
  gaps: number;
  time: number;
  /** Of the trace. */
  share: number | null;
}

/** Interrupts, softirqs and tasks, by their beginnings. What began before the trace has a negative one. */
export interface Events {
  what: { title: string; class: GapClass }[];
  /** Per event: position in `what`. */
  kind: number[];
  start: number[];
  end: number[];
}

/** Figures and tables that belong together. */
export interface Part {
  id: string;
  title: string;
  note: string;
  figures: Figure[];
  tables: Table[];
}

/** Curves over two axes. */
export interface Figure {
  /** Letters, digits and dashes. */
  id: string;
  title: string;
  note: string;
  x: Axis;
  y: Axis;
  curves: Curve[];
}

/** Times are ns, shares from 0 to 1, ratios multiples. */
export type Quantity = "time" | "count" | "share" | "ratio";

/** On a `logit` scale shares are spread by their odds: those near 0 as on a logarithmic one, those near 1 as their complements. */
export type ScaleName = "linear" | "log" | "logit";

export interface Axis {
  title: string;
  quantity: Quantity;
  /** The first is shown first. */
  scales: ScaleName[];
  /** On a scale that is not linear, what is smaller (or, by odds, nearer to 1) is drawn there. */
  floor: number | null;
  /** What is shown first; `null`: all. */
  shown: [number, number] | null;
}

export interface Curve {
  title: string;
  /** Colour and pattern; curves with the same are hidden together. */
  look: number;
  /** An approximation of another one. */
  thin: boolean;
  /** Between two points: a straight line, the value of the point before, or of the one after, or nothing. */
  join: "straight" | "before" | "after" | "points";
  /** Ascending. */
  x: number[];
  y: number[];
  /** Intervals of `y`; `null` where there is no bound. */
  band: { title: string; low: (number | null)[]; high: (number | null)[] } | null;
}
