import * as fs from "node:fs/promises";
import * as path from "node:path";
import { pciCards } from "./pci-cards";

/** Where the PCI ID project publishes its list every day; Debian's package `pci.ids` holds the same file. */
const published = "https://pci-ids.ucw.cz/v2.2/pci.ids";

const table = path.join(__dirname, "..", "..", "components", "recipe", "facts", "data", "pci-cards.json");

/** Writes the table of cards anew from a list of PCI IDs (a file or a URL); gives one line that says what came of it. */
export async function renewCards(from = published, file = table): Promise<string> {
  const { version, chips } = pciCards(await textOf(from));
  const source =
    "pci.ids of the PCI ID project (https://pci-ids.ucw.cz), vendor 10de; written by `npm run facts -- cards`";
  const rows = Object.entries(chips).map(([chip, names]) => `    ${JSON.stringify(chip)}: ${JSON.stringify(names)}`);
  const text = `{\n  "source": ${JSON.stringify(source)},\n  "version": "${version}",\n  "chips": {\n${rows.join(",\n")}\n  }\n}\n`;
  await fs.writeFile(file, text);
  return `${path.basename(file)}: ${Object.values(chips).flat().length} names on ${rows.length} chips, list of ${version}`;
}

async function textOf(from: string): Promise<string> {
  if (!/^https?:\/\//.test(from)) return fs.readFile(from, "utf8");
  const response = await fetch(from, { signal: AbortSignal.timeout(60_000) });
  if (!response.ok) throw new Error(`${from}: answers ${response.status}; name a file or another URL`);
  return response.text();
}
