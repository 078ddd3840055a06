// Elements without markup: strings of the page become text nodes and attributes, never HTML.

type Child = Node | string | null | undefined | false;

export interface Props {
  class?: string;
  title?: string;
  [attribute: string]: string | number | boolean | undefined | ((event: never) => void);
}

/** An element with attributes; a property `onclick` and the like is a listener, `false` leaves an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as unknown as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) if (child) element.append(child);
}

/** A string of the machine within a sentence: its direction marks cannot reorder what is around it. */
export function bdi(text: string): HTMLElement {
  return h("bdi", {}, text);
}

/** A dash distinguishes an unknown value from zero. */
export function absent(): HTMLElement {
  return h("span", { class: "absent", title: "unknown" }, "–");
}

let serial = 0;

/** An id for `aria-…` references. */
export function uid(stem: string): string {
  serial += 1;
  return `${stem}-${serial}`;
}

/** At most one call per frame, whatever the number of requests. */
export function perFrame(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

/** One call when no request has come for `delay` ms, and at the latest after five times that. */
export function settled(work: () => void, delay: number): { ask: () => void; now: () => void; stop: () => void } {
  let timer = 0;
  let since = 0;
  const now = (): void => {
    clearTimeout(timer);
    timer = 0;
    since = 0;
    work();
  };
  const ask = (): void => {
    const time = performance.now();
    if (since === 0) since = time;
    if (timer !== 0) clearTimeout(timer);
    timer = window.setTimeout(now, time - since > 5 * delay ? 0 : delay);
  };
  const stop = (): void => clearTimeout(timer);
  return { ask, now, stop };
}
