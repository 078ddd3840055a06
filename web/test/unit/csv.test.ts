import { describe, expect, it } from "vitest";
import { csv, csvCell } from "../../src/csv";

describe("a cell of a table for spreadsheets", () => {
  it.each(["-1", "+0.5", "-.5", "-3.", "1e9", "-1.25E-7", "12", "sleep 1", ""])("keeps %j", (text) =>
    expect(csvCell(text)).toBe(text),
  );

  it.each([
    "=1+1",
    "@SUM(A1)",
    "\tx",
    "-cmd|' /C calc'!A0",
    "-1+cmd|' /C calc'!A0",
    "+1;2",
    "-2+3",
    "-1\n",
    "-",
    "+.",
    "-1e",
  ])("is text instead of the formula %j", (text) =>
    expect(csvCell(text).replace(/^"/, "")).toBe(`'${text}` + (text.includes("\n") ? '"' : "")),
  );

  it("is quoted where it has a comma, a quote or a new line", () =>
    expect(csv([["a,b", 'c"d', "-1,5"]])).toBe(`"a,b","c""d","'-1,5"\r\n`));
});
