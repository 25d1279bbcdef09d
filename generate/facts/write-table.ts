import * as fs from "node:fs";
import { format } from "prettier";
import { tableFile } from "./tables";

/** Writes a table of schemas, which is too long to be written by hand. */
export async function writeTable(name: string, data: object): Promise<void> {
  const text = await format(JSON.stringify(data), { parser: "json", printWidth: 120 });
  fs.writeFileSync(tableFile(name), text);
}
