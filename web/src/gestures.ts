// Translates pointer, wheel and keys of one chart into actions.

export interface Spot {
  /** Pixels from the chart's left and top. */
  x: number;
  y: number;
}

export interface Gestures {
  /** Where a spot lies: within the plot, or at an axis. */
  zone(spot: Spot): "plot" | "x" | "y" | "none";
  /** Zooms by `factor` around the spot; false if nothing changed, so that the page may scroll. */
  zoom(spot: Spot, factor: number): boolean;
  pan(dx: number, dy: number): void;
  brush(from: Spot, to: Spot, phase: "start" | "move" | "end" | "cancel", add: boolean): void;
  hover(spot: Spot | null, client: Spot): void;
  click(spot: Spot, add: boolean): void;
  reset(): void;
  /** True if the key has an action. */
  key(key: string, event: KeyboardEvent): boolean;
  /** Whether dragging moves instead of selecting. */
  moves(): boolean;
}

/** Distance in pixels that a press may move and still be a click. */
const SLIP = 4;

interface Drag {
  pointer: number;
  from: Spot;
  last: Spot;
  pans: boolean;
  add: boolean;
  far: boolean;
}

export function listen(host: HTMLElement, on: Gestures): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  listenToWheel(host, on, signal);
  listenToPointer(host, on, signal);
  host.addEventListener(
    "keydown",
    (event) => {
      if (event.altKey || event.metaKey || (event.ctrlKey && event.key !== "Enter")) return;
      if (on.key(event.key, event)) event.preventDefault();
    },
    { signal },
  );
  return () => stop.abort();
}

function spotOf(host: HTMLElement, event: MouseEvent): Spot {
  const frame = host.getBoundingClientRect();
  return { x: event.clientX - frame.left, y: event.clientY - frame.top };
}

function listenToWheel(host: HTMLElement, on: Gestures, signal: AbortSignal): void {
  const pixels = [1, 16, 400];
  host.addEventListener(
    "wheel",
    (event) => {
      const spot = spotOf(host, event);
      if (on.zone(spot) === "none") return;
      const delta = (event.deltaY || event.deltaX) * (pixels[event.deltaMode] ?? 1);
      const bounded = Math.max(-240, Math.min(240, delta));
      if (on.zoom(spot, Math.exp(bounded * 0.0022))) event.preventDefault();
    },
    { passive: false, signal },
  );
}

function listenToPointer(host: HTMLElement, on: Gestures, signal: AbortSignal): void {
  let drag: Drag | null = null;
  const finish = (phase: "end" | "cancel", event?: PointerEvent): void => {
    const now = drag;
    drag = null;
    if (!now) return;
    if (host.hasPointerCapture(now.pointer)) host.releasePointerCapture(now.pointer);
    if (now.far && !now.pans) on.brush(now.from, now.last, phase, now.add);
    else if (!now.far && phase === "end" && event) on.click(now.from, event.ctrlKey || event.metaKey);
  };
  host.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button > 1 || drag) return;
      const spot = spotOf(host, event);
      if (on.zone(spot) === "none") return;
      const pans = event.button === 1 || event.shiftKey !== on.moves() || on.zone(spot) !== "plot";
      const add = event.ctrlKey || event.metaKey;
      drag = { pointer: event.pointerId, from: spot, last: spot, pans, add, far: false };
      host.setPointerCapture(event.pointerId);
      if (event.button === 1) event.preventDefault();
    },
    { signal },
  );
  host.addEventListener(
    "pointermove",
    (event) => {
      const spot = spotOf(host, event);
      if (!drag) return on.hover(spot, { x: event.clientX, y: event.clientY });
      if (event.pointerId !== drag.pointer) return;
      if (!drag.far && Math.hypot(spot.x - drag.from.x, spot.y - drag.from.y) >= SLIP) {
        drag.far = true;
        on.hover(null, spot);
        if (!drag.pans) on.brush(drag.from, spot, "start", drag.add);
      }
      if (drag.far && drag.pans) on.pan(spot.x - drag.last.x, spot.y - drag.last.y);
      else if (drag.far) on.brush(drag.from, spot, "move", drag.add);
      drag.last = spot;
    },
    { signal },
  );
  host.addEventListener("pointerup", (event) => finish("end", event), { signal });
  host.addEventListener("pointercancel", () => finish("cancel"), { signal });
  host.addEventListener("pointerleave", (event) => on.hover(null, { x: event.clientX, y: event.clientY }), { signal });
  host.addEventListener("dblclick", () => on.reset(), { signal });
}
