// Numbers for people. Times come in nanoseconds. The same number has the same text as in the parts of the page that the
// report writes: crates/report/tests/numbers.json has cases that both must pass.

export interface Unit {
  sign: string;
  nanos: number;
  /** Decimals of a nanosecond in this unit, the maximum that is shown. */
  finest: number;
}

const NS: Unit = { sign: "ns", nanos: 1, finest: 0 };
const US: Unit = { sign: "µs", nanos: 1e3, finest: 3 };
const MS: Unit = { sign: "ms", nanos: 1e6, finest: 6 };
const S: Unit = { sign: "s", nanos: 1e9, finest: 9 };

/** Narrow no-break space, between groups of digits. */
const THIN = "\u202f";
export const MINUS = "\u2212";

/** The unit in which a time has one to three digits before its point; what is rounded to 1000 of a unit belongs to the next one. */
export function unitOf(ns: number): Unit {
  const x = Math.abs(ns);
  if (x < 999.5) return NS;
  if (x < 999.5e3) return US;
  if (x < 999.5e6) return MS;
  return S;
}

/** Decimals that show `value` with `digits` significant digits. */
export function decimalsFor(value: number, digits: number): number {
  if (value === 0 || !Number.isFinite(value)) return 0;
  const rounded = Number(Math.abs(value).toPrecision(digits));
  return Math.max(0, digits - 1 - Math.floor(Math.log10(rounded) + 1e-12));
}

/** A fixed number of decimals, with a real minus sign, and no minus zero. */
export function fixed(value: number, decimals: number): string {
  const text = rounded(Math.abs(value), Math.min(decimals, 20));
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** Halves go to the even digit, as in the report's other tables; `toFixed` rounds them up. */
function rounded(value: number, decimals: number): string {
  const up = value.toFixed(decimals);
  if (!(value < 1e15) || !/[13579]$/.test(up)) return up;
  // A double has no more than 52 digits after the point of its binary fraction, and as many in decimals.
  const exact = value.toFixed(Math.min(100, decimals + 60));
  const rest = exact.slice(exact.indexOf(".") + 1 + decimals);
  if (!/^50*$/.test(rest)) return up;
  return exact.slice(0, exact.indexOf(".") + (decimals > 0 ? 1 + decimals : 0));
}

/** A time with its unit and three significant digits: `12.3 ms`; no time at all is `0`. */
export function time(ns: number): string {
  if (ns === 0) return "0";
  const unit = unitOf(ns);
  const value = ns / unit.nanos;
  return `${fixed(value, Math.min(unit.finest, decimalsFor(value, 3)))} ${unit.sign}`;
}

/** All digits: `12 345 678 ns`. */
export function nanos(ns: number): string {
  const whole = Math.abs(ns) < 1e15 && ns % 1 !== 0 ? fixed(ns, 1) : fixed(ns, 0);
  const [before = "", after] = whole.split(".");
  const grouped = before.replace(/\B(?=(\d{3})+$)/g, THIN);
  return `${after === undefined ? grouped : `${grouped}.${after}`} ns`;
}

/** A time to the nanosecond, in the most suitable unit: for times that are close to each other. */
export function precise(ns: number): string {
  const unit = unitOf(ns);
  return `${fixed(ns / unit.nanos, unit.finest)} ${unit.sign}`;
}

/** A count with groups of digits: `10 000`; four digits stay together. */
export function count(n: number): string {
  const text = fixed(n, 0);
  return Math.abs(n) < 10000 ? text : text.replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** `1 pair`, `2 pairs`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A share in per cent with two significant digits. */
export function percent(fraction: number): string {
  const value = fraction * 100;
  return `${fixed(value, Math.min(4, decimalsFor(value, 2)))} %`;
}

/** A probability: in per cent, a power of ten if it is small, and with all the nines that it has if it is nearly 1. */
export function share(p: number): string {
  if (p === 0) return "0";
  if (p < 1e-4) return p.toExponential(1).replace("-", MINUS);
  if (p <= 0.9 || p >= 1) return percent(p);
  return `${fixed(p * 100, Math.min(12, Math.ceil(-Math.log10((1 - p) * 100) - 1e-6) + 1))} %`;
}

/** A multiple with five significant digits. */
export function ratio(value: number): string {
  return fixed(value, decimalsFor(value, 5));
}

/** How a column of times is written: one unit and fixed decimals, so that points stand below each other. */
export interface Scale {
  unit: Unit;
  decimals: number;
}

/** The scale of a column of which `typical` is a typical time: four significant digits. */
export function scaleOf(typical: number): Scale {
  const unit = unitOf(typical);
  return { unit, decimals: Math.min(unit.finest, decimalsFor(typical / unit.nanos, 4)) };
}

export function inScale(ns: number, scale: Scale): string {
  return fixed(ns / scale.unit.nanos, scale.decimals);
}

const two = (n: number): string => String(n).padStart(2, "0");

export function localDate(ms: number): string {
  const d = new Date(ms);
  return Number.isFinite(d.getTime()) ? `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}` : "–";
}

export function localClock(ms: number, decimals = 0): string {
  const d = new Date(ms);
  if (!Number.isFinite(d.getTime())) return "–";
  const clock = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  return decimals > 0 ? `${clock}.${String(d.getMilliseconds()).padStart(3, "0").slice(0, decimals)}` : clock;
}

/** Local date and time to the millisecond. */
export function localTime(ms: number): string {
  return `${localDate(ms)} ${localClock(ms, 3)}`;
}
