// What is selected, pointed at, and hidden in one plot. Views listen; they never talk to each other.

export type Change = "selection" | "focus" | "classes";

/** What the pointer or the keyboard is on: a sample, or a pair of them. -1: none. */
export interface Focus {
  sample: number;
  /** The other half if it is a pair, else -1. */
  partner: number;
}

const NOWHERE: Focus = { sample: -1, partner: -1 };

export class Selection {
  readonly mask: Uint8Array;
  readonly hidden: Uint8Array;
  count = 0;
  /** Under the pointer. */
  hovered: Focus = NOWHERE;
  /** Stepped to or clicked; shown while nothing is hovered. */
  pinned: Focus = NOWHERE;
  /** Origin of the selection, so that a search field recognises its own. */
  source: unknown = null;
  readonly #kind: Uint8Array;
  readonly #listeners: Record<Change, Set<() => void>> = {
    selection: new Set(),
    focus: new Set(),
    classes: new Set(),
  };

  constructor(kind: Uint8Array, classes: number) {
    this.#kind = kind;
    this.mask = new Uint8Array(kind.length);
    this.hidden = new Uint8Array(Math.max(1, classes));
  }

  on(change: Change, listener: () => void): void {
    this.#listeners[change].add(listener);
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners[change]) listener();
  }

  get focus(): Focus {
    return this.hovered.sample >= 0 ? this.hovered : this.pinned;
  }

  /** Selects what `fill` marks: instead of what was selected, or in addition to `base`. Hidden samples cannot be. */
  replace(
    fill: (mark: (sample: number) => void) => void,
    base: Uint8Array | null = null,
    source: unknown = null,
  ): void {
    if (base) this.mask.set(base);
    else this.mask.fill(0);
    fill((sample) => {
      if (sample >= 0 && sample < this.mask.length && this.hidden[this.#kind[sample]!] !== 1) this.mask[sample] = 1;
    });
    this.#recount(source);
  }

  toggle(samples: readonly number[]): void {
    const on = samples.some((s) => this.mask[s] === 0);
    for (const s of samples) {
      if (s >= 0 && s < this.mask.length) this.mask[s] = on && this.hidden[this.#kind[s]!] !== 1 ? 1 : 0;
    }
    this.#recount(null);
  }

  clear(): void {
    if (this.count === 0) return;
    this.mask.fill(0);
    this.#recount(null);
  }

  #recount(source: unknown): void {
    let n = 0;
    for (let i = 0; i < this.mask.length; i++) n += this.mask[i]!;
    this.count = n;
    this.source = source;
    this.#tell("selection");
  }

  hover(focus: Focus | null): void {
    const next = focus ?? NOWHERE;
    if (next.sample === this.hovered.sample && next.partner === this.hovered.partner) return;
    this.hovered = next;
    this.#tell("focus");
  }

  pin(focus: Focus | null): void {
    this.pinned = focus ?? NOWHERE;
    this.#tell("focus");
  }

  /** Hides or shows a class; what is hidden is no longer selected. */
  toggleClass(kind: number): void {
    const hide = this.hidden[kind] !== 1;
    this.hidden[kind] = hide ? 1 : 0;
    this.#tell("classes");
    if (!hide || this.count === 0) return;
    for (let i = 0; i < this.mask.length; i++) if (this.#kind[i] === kind) this.mask[i] = 0;
    this.#recount(this.source);
  }

  /** Positions of the selected samples. */
  positions(): Int32Array {
    const result = new Int32Array(this.count);
    let n = 0;
    for (let i = 0; i < this.mask.length; i++) if (this.mask[i] === 1) result[n++] = i;
    return result;
  }

  /** Whether all, some or none of `samples` are selected. */
  covers(samples: readonly number[]): "none" | "some" | "all" {
    if (samples.length === 0 || this.count === 0) return "none";
    const first = this.mask[samples[0]!] === 1;
    const mixed = samples.some((s) => (this.mask[s] === 1) !== first);
    return mixed ? "some" : first ? "all" : "none";
  }
}
