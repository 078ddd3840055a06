// Random numbers that are the same everywhere.

export interface Random {
  /** From 0 to 1. */
  next: () => number;
  /** Mean 0, standard deviation 1. */
  normal: () => number;
  /** Mean 1. */
  exponential: () => number;
  below: (n: number) => number;
}

export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    exponential: () => -Math.log(1 - next()),
    below: (n) => Math.floor(next() * n),
  };
}
