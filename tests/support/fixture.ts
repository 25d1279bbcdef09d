import * as fs from "node:fs";
import * as path from "node:path";

/** The text of a file in tests/fixtures. */
export const fixture = (name: string): string =>
  fs.readFileSync(path.join(__dirname, "../fixtures", name), "utf8");
