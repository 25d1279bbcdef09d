import * as fs from "node:fs/promises";
import * as path from "node:path";
import { pciCards } from "./pci-cards";
import { tableFile } from "./tables";

/** Daily list of the PCI ID project; Debian's package `pci.ids` contains the same file. */
const published = "https://pci-ids.ucw.cz/v2.2/pci.ids";

const table = tableFile("pci-cards.json");

/** Writes the table of cards from a list of PCI IDs (a file or a URL), and returns one line that sums it up. */
export async function renewCards(fileOrUrl = published, file = table): Promise<string> {
  const { version, chips } = pciCards(await textOf(fileOrUrl));
  const source =
    "pci.ids of the PCI ID project (https://pci-ids.ucw.cz), vendor 10de; written by `npm run facts -- cards`";
  // One line per device, so that a renewed list is a short diff. The lines are sorted here: JavaScript objects would
  // list keys of digits first, e.g. `1180` before `118a` and `11b6`, regardless of their insertion.
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
  const devices = Object.values(chips).flatMap((chipDevices) => Object.values(chipDevices));
  const names = new Set(devices.flat()).size;
  return `${path.basename(file)}: ${devices.length} devices, ${names} names, ${rows.length} chips, list of ${version}`;
}

async function textOf(source: string): Promise<string> {
  if (!/^https?:\/\//.test(source)) return fs.readFile(source, "utf8");
  const response = await fetch(source, { signal: AbortSignal.timeout(60_000) });
  if (!response.ok)
    throw new Error(`${source}: answers ${response.status}; name a file or another URL`);
  return response.text();
}
