// Stepping through samples with the keyboard.

/** Target of a key from `now` (-1: no position yet) among `size` items; -1 if there are none, `null` for other keys. */
export function stepped(key: string, now: number, size: number, shown: (i: number) => boolean): number | null {
  const forward = key === "ArrowRight" || key === "ArrowUp" || key === "PageDown" || key === "Home";
  const backward = key === "ArrowLeft" || key === "ArrowDown" || key === "PageUp" || key === "End";
  if (!forward && !backward) return null;
  const by = forward ? 1 : -1;
  const far = key.startsWith("Page") ? 10 : 1;
  const start = key === "Home" ? 0 : key === "End" ? size - 1 : now < 0 ? (forward ? 0 : size - 1) : now + by * far;
  for (let i = Math.max(0, Math.min(size - 1, start)); i >= 0 && i < size; i += by) if (shown(i)) return i;
  return now;
}
