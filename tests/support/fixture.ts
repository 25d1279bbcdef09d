import * as fs from "node:fs";
import * as path from "node:path";

/** A file of tests/fixtures. */
export const fixture = (name: string): string =>
  fs.readFileSync(path.join(__dirname, "../fixtures", name), "utf8");
