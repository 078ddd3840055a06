// Colours of charts and symbols, in light and dark. Okabe and Ito's palette: distinguishable with any colour vision.

import type { Class, GapClass } from "./data";

export const FONT = 'system-ui, "Segoe UI", "Helvetica Neue", "Liberation Sans", sans-serif';

export type Theme = "light" | "dark";

export interface Palette {
  ink: string;
  faint: string;
  grid: string;
  paper: string;
  accent: string;
  bar: string;
  roles: Record<Class["role"], string[]>;
  /** Of a timeline: when the process had its CPU, and what had it otherwise. */
  active: string;
  gaps: Record<GapClass, string>;
  /** Of curves, each of which also has a separate pattern. */
  curves: string[];
}

const PALETTES: Record<Theme, Palette> = {
  light: {
    ink: "#1d1f21",
    faint: "#5b6066",
    grid: "#e7e5df",
    paper: "#fdfcf9",
    accent: "#c2410c",
    bar: "#b9c6d2",
    roles: {
      good: ["#0072b2", "#2a5d8f", "#3f8fc4"],
      spoiled: ["#d55e00", "#a8780a", "#b03a2e"],
      drift: ["#a6528f", "#7a4fa3"],
      other: ["#6f767d", "#3f7d6b"],
      failed: ["#111111", "#54301a"],
    },
    active: "#d3d9df",
    gaps: {
      timer: "#e69f00",
      interrupt: "#cc79a7",
      softirq: "#56b4e9",
      task: "#d55e00",
      idle: "#009e73",
      no_event: "#111111",
      unknown: "#7f7f7f",
    },
    curves: ["#0072b2", "#d55e00", "#007a5a", "#a6528f", "#111111", "#3f8fc4", "#a8780a", "#7f7f7f"],
  },
  dark: {
    ink: "#e4e2dc",
    faint: "#a3a49f",
    grid: "#303437",
    paper: "#17191b",
    accent: "#ff9b5e",
    bar: "#4a5763",
    roles: {
      good: ["#56b4e9", "#8fc9ee", "#3f96d0"],
      spoiled: ["#f08a3c", "#e6c229", "#ff7b6b"],
      drift: ["#d99ac6", "#b79be0"],
      other: ["#a0a7ad", "#58b89d"],
      failed: ["#f4f1e8", "#e0b88f"],
    },
    active: "#39424a",
    gaps: {
      timer: "#e6b23c",
      interrupt: "#d99ac6",
      softirq: "#7cc0ee",
      task: "#f0742c",
      idle: "#58b89d",
      no_event: "#f4f1e8",
      unknown: "#8b9094",
    },
    curves: ["#56b4e9", "#f08a3c", "#58b89d", "#d99ac6", "#f4f1e8", "#8fc9ee", "#e6c229", "#a0a7ad"],
  },
};

const KEY = "tare-theme";
const listeners = new Set<() => void>();
const dark = (): MediaQueryList => matchMedia("(prefers-color-scheme: dark)");
let forced: Theme | null = stored();
/** Paper is light, whatever the screen is. */
let printing = false;

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    // A page opened from a file may have no storage.
    return null;
  }
}

export function theme(): Theme {
  if (printing) return "light";
  return forced ?? (dark().matches ? "dark" : "light");
}

export function palette(): Palette {
  return PALETTES[theme()];
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startTheme(): void {
  dark().addEventListener("change", apply);
  apply();
}

export function toggleTheme(): void {
  forced = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, forced);
  } catch {
    // Without storage, the choice holds for this visit only.
  }
  apply();
}

export function setPrinting(on: boolean): void {
  printing = on;
  apply();
}

function apply(): void {
  const now = theme();
  if (document.documentElement.dataset["theme"] === now) return;
  document.documentElement.dataset["theme"] = now;
  for (const listener of listeners) listener();
}

/** A colour for each class: its role's, a further one for each further class of the role. */
export function classColors(classes: readonly Class[]): string[] {
  const roles = palette().roles;
  const used = new Map<string, number>();
  return classes.map(({ role }) => {
    const nth = used.get(role) ?? 0;
    used.set(role, nth + 1);
    const colors = roles[role] ?? roles.other;
    return colors[nth % colors.length] ?? palette().ink;
  });
}
