import { readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { parseDocument } from "yaml";
import { copyFolder } from "../tools/ways/changed-module";

/** Copies a chart and writes a release into its Chart.yaml, as the release process of its project does. */
export async function stampedCopy(from: string, to: string, version: string, appVersion: string): Promise<void> {
  await copyFolder(from, to);
  const file = path.join(to, "Chart.yaml");
  const description = parseDocument(await readFile(file, "utf8"));
  description.set("version", version);
  description.set("appVersion", appVersion);
  await writeFile(file, description.toString());
}
