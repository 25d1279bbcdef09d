import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

/** A file of tests/fixtures. */
export const fixture = (name: string): string =>
  fs.readFileSync(path.join(__dirname, "../fixtures", name), "utf8");

/** Fails on a part of a row that its player does not read: a misspelt one would ask nothing. */
export function only<Row extends object>(row: Row, parts: readonly (keyof Row & string)[]): Row {
  const unknown = Object.keys(row).filter((part) => !(parts as readonly string[]).includes(part));
  if (unknown.length > 0)
    throw new Error(`no part ${unknown.join()} in a row: ${JSON.stringify(row).slice(0, 200)}`);
  return row;
}

/** Rows of a table in tests/fixtures, each with its name for `test.each`. */
export const table = <Row extends { name: string }>(
  text: string,
  parts: readonly (keyof Row & string)[],
): [string, Row][] =>
  (parse(text, { merge: true }) as Row[]).map((row) => [row.name, only(row, parts)]);
