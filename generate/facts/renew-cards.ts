import * as fs from "node:fs/promises";
import * as path from "node:path";
import { pciCards } from "./pci-cards";
import { tableFile } from "./tables";

/** Where the PCI ID project publishes its list every day; Debian's package `pci.ids` holds the same file. */
const published = "https://pci-ids.ucw.cz/v2.2/pci.ids";

const table = tableFile("pci-cards.json");

/** Writes the table of cards from a list of PCI IDs (a file or a URL); gives one line that says what came of it. */
export async function renewCards(from = published, file = table): Promise<string> {
  const { version, chips } = pciCards(await textOf(from));
  const source =
    "pci.ids of the PCI ID project (https://pci-ids.ucw.cz), vendor 10de; written by `npm run facts -- cards`";
  // A line for each device: a renewed list is then a short difference. Objects would put a key like `1180` before `11b6`
  // and one like `118a` behind both, so the lines are sorted here.
  const rows = Object.entries(chips).map(([chip, devices]) => {
    const lines = Object.entries(devices)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([id, names]) => `      "${id}": [${names.map((name) => JSON.stringify(name)).join(", ")}]`,
      );
    return `    "${chip}": {\n${lines.join(",\n")}\n    }`;
  });
  const text = `{\n  "source": ${JSON.stringify(source)},\n  "version": "${version}",\n  "chips": {\n${rows.join(",\n")}\n  }\n}\n`;
  await fs.writeFile(file, text);
  const devices = Object.values(chips).flatMap((each) => Object.values(each));
  const names = new Set(devices.flat()).size;
  return `${path.basename(file)}: ${devices.length} devices, ${names} names, ${rows.length} chips, list of ${version}`;
}

async function textOf(from: string): Promise<string> {
  if (!/^https?:\/\//.test(from)) return fs.readFile(from, "utf8");
  const response = await fetch(from, { signal: AbortSignal.timeout(60_000) });
  if (!response.ok)
    throw new Error(`${from}: answers ${response.status}; name a file or another URL`);
  return response.text();
}
