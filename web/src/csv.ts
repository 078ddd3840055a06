// Tables for spreadsheets.

import { h } from "./dom";

/** A cell as CSV; one that a spreadsheet would read as a formula becomes text. */
export function csvCell(text: string): string {
  const risky = /^[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
  const safe = risky ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(rows: string[][]): string {
  return rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

/** A button that copies rows, which are made when it is pressed. */
export function copyButton(rows: () => string[][]): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet" }, "copy as CSV");
  button.addEventListener("click", () => {
    void copy(csv(rows())).then((done) => {
      button.textContent = done ? "copied" : "could not copy";
      setTimeout(() => (button.textContent = "copy as CSV"), 1500);
    });
  });
  return button;
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text);
  }
}

/** A page opened from a file may have no clipboard access. */
function copyOldWay(text: string): boolean {
  const area = h("textarea", { class: "hidden-text" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
