// What pointer and keys do in every chart: select, point, step.

import type { Spec } from "./chart";
import type { Context } from "./context";
import type { Spot } from "./gestures";
import { type Box, type Points, nearest } from "./hit";
import type { Focus, Selection } from "./selection";
import { stepped } from "./step";

/** Distance in pixels within which the pointer counts as on a point. */
const REACH = 14;

/** The brush selects what `find` marks: instead of what was selected, or in addition to it. */
export function brushing(
  selection: Selection,
  find: (area: Box, mark: (sample: number) => void) => void,
): Spec["brushed"] {
  let base: Uint8Array | null = null;
  return (area, phase, add) => {
    if (phase === "start") base = add ? selection.mask.slice() : null;
    if (phase !== "cancel") selection.replace((mark) => find(area, mark), base, "brush");
  };
}

/** Items of a chart: samples, or pairs of samples. */
export interface Things {
  points: () => Points;
  focus: (thing: number) => Focus;
}

function samplesOf({ sample, partner }: Focus): number[] {
  return [sample, partner].filter((i) => i >= 0);
}

export function pointing(context: Context, things: Things): Pick<Spec, "hovered" | "clicked"> {
  const { selection, tooltip } = context;
  const at = (spot: Spot, scale: Spot): Focus | null => {
    const thing = nearest(things.points(), selection.hidden, spot, scale, REACH);
    return thing < 0 ? null : things.focus(thing);
  };
  return {
    hovered: (spot, scale, client) => {
      const focus = spot && at(spot, scale);
      selection.hover(focus);
      tooltip.show(focus, client);
    },
    clicked: (spot, scale, add) => {
      const focus = at(spot, scale);
      if (!focus) return;
      selection.pin(focus);
      if (add) selection.toggle(samplesOf(focus));
    },
  };
}

/** The order in which the keys go through a chart. */
export interface Steps {
  size: number;
  /** Position of the pinned sample, or -1. */
  now: number;
  shown: (i: number) => boolean;
  focus: (i: number) => Focus;
}

export function stepping(selection: Selection, steps: () => Steps, reveal: () => void): Spec["key"] {
  return (key) => {
    const { size, now, shown, focus } = steps();
    if (key === "Enter" || key === " ") {
      if (now >= 0) selection.toggle(samplesOf(focus(now)));
      return true;
    }
    const next = stepped(key, now, size, shown);
    if (next === null) return false;
    if (next >= 0) {
      selection.hover(null);
      selection.pin(focus(next));
      reveal();
    }
    return true;
  };
}
