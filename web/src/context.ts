// What the views of one plot share: its data, the selection, and how things are drawn.

import type { CloudLook } from "./look";
import type { PlotModel, Values } from "./model";
import { Selection } from "./selection";
import type { Tooltip } from "./tooltip";

export interface Options {
  /** The measure of the sequence plot and the histogram. */
  measure: Values;
  byTime: boolean;
  log: boolean;
  /** Dragging moves the view instead of selecting. */
  moves: boolean;
}

export interface Context {
  model: PlotModel;
  selection: Selection;
  options: Options;
  look: CloudLook;
  tooltip: Tooltip;
  /** Announces a sentence to screen readers. */
  say: (text: string) => void;
}
