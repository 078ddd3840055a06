// Where the page starts.

import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/controls.css";
import "./style/curves.css";
import "./style/duets.css";
import "./style/head.css";
import "./style/overview.css";
import "./style/plots.css";
import "./style/quiet.css";
import "./style/tables.css";
import "./style/timeline.css";
import "./style/tooltip.css";
import "./style/narrow.css";
import "./style/print.css";
import { api } from "./api";
import { h } from "./dom";
import { Unreadable, load } from "./load";
import { PageView } from "./page";
import { watchPrint } from "./print";
import { startTheme } from "./theme";

function start(): void {
  startTheme();
  const view = new PageView(load(document));
  document.body.replaceChildren(view.element);
  view.start();
  watchPrint(view);
  Object.defineProperty(window, "tare", { value: api(view), enumerable: true });
}

try {
  start();
} catch (error) {
  if (!(error instanceof Unreadable)) console.error(error);
  const text = error instanceof Unreadable ? error.message : "The data of this page cannot be shown: it is invalid.";
  document.body.replaceChildren(h("main", {}, h("p", { class: "instead", role: "alert" }, text)));
}
