// Paper: light, charts as wide as the page and sharp, tables in full.

import type { PageView } from "./page";
import { setPrinting } from "./theme";

export function watchPrint(page: PageView): void {
  let on = false;
  const set = (wanted: boolean): void => {
    if (on === wanted) return;
    on = wanted;
    // The class gives the charts the width of the paper before they are redrawn.
    document.documentElement.classList.toggle("printing", on);
    setPrinting(on);
    page.printing(on);
  };
  window.addEventListener("beforeprint", () => set(true));
  window.addEventListener("afterprint", () => set(false));
  matchMedia("print").addEventListener("change", (event) => set(event.matches));
}
