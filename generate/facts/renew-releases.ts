import * as fs from "node:fs/promises";
import { readExtensions } from "../../components/recipe/facts/factory";
import {
  capabilitiesOf,
  driverRows,
  extensionsOf,
} from "../../components/recipe/facts/talos-release";
import { defined } from "../../components/recipe/mapping";
import { parseTalosVersion } from "../../components/recipe/facts/version";
import { tableFile } from "./tables";

const table = tableFile("talos-releases.json");

/** Position of the rows in the table's file. */
const rowsOfFile = /("drivers": \[\n)[^\]]*(\n {2}\])/;

/**
 * Adds the drivers of releases that the tables lack, as the Image Factory lists them. Returns a line for each, and for
 * each new minor, whose containerd and Kubernetes the Image Factory does not list. Also names extensions that the
 * tables lack.
 *
 * @param factory URL of the Image Factory.
 */
export async function renewReleases(
  factory = "https://factory.talos.dev",
  file = table,
): Promise<string[]> {
  // The first patch release of a minor whose row is inferred. Rows from that release on are dropped, and asked for
  // again.
  const firstInferred = (minor: number): number =>
    driverRows.find((row) => row.minor === minor && row.inferred)?.from ?? Infinity;
  const rows = driverRows
    .filter(({ minor, from }) => from === 0 || from < firstInferred(minor))
    .map((row) => ({ ...row }));
  const report: string[] = [];
  const versions = ((await read(`${factory}/versions`)) as string[]).flatMap(
    (text) => parseTalosVersion(text) ?? [],
  );
  const stable = versions
    .filter(({ prerelease }) => !prerelease)
    .sort((a, b) => a.minor - b.minor || a.patch - b.patch);
  for (const { text, minor, patch } of stable) {
    const last = rows.findLastIndex((row) => row.minor === minor);
    const newest = rows[last];
    if (!newest) {
      if (minor > rows.at(-1)!.minor)
        report.push(`${text}: a minor that the tables do not have; read its sources first`);
      continue;
    }
    if (patch <= newest.to && !newest.inferred) continue;
    const {
      newFeature,
      extensions = [],
      ...factoryFacts
    } = readExtensions(await read(`${factory}/version/${text}/extensions/official`));
    const { lts, production, toolkit } = factoryFacts;
    const hasToolkit = toolkit !== undefined || capabilitiesOf(text).toolkit === "operator";
    if (lts === undefined || production === undefined || !hasToolkit) {
      report.push(`${text}: the Image Factory does not list its drivers and toolkit`);
      continue;
    }
    const newDrivers = { lts, production, ...defined({ "new-feature": newFeature, toolkit }) };
    const isSame = Object.entries(newDrivers).every(
      ([key, value]) => newest[key as keyof typeof newDrivers] === value,
    );
    if (newest.inferred)
      rows.splice(last, 1, { minor, from: newest.from, to: patch, ...newDrivers });
    else if (isSame && patch === newest.to + 1) newest.to = patch;
    else
      rows.splice(last + 1, 0, {
        minor,
        from: isSame ? patch : newest.to + 1,
        to: patch,
        ...newDrivers,
      });
    const words = toolkit === undefined ? "" : `, toolkit ${toolkit}`;
    report.push(`${text}: ${lts} (lts), ${production} (production)${words}`);
    const unknownExtensions = extensions.filter((name) => !extensionsOf(minor).has(name));
    if (unknownExtensions.length > 0)
      report.push(
        `${text}: has extensions that since.json does not: ${unknownExtensions.join(", ")}`,
      );
  }
  const previousText = await fs.readFile(file, "utf8");
  if (!rowsOfFile.test(previousText)) throw new Error(`${file}: has no table of drivers to renew`);
  const lines = rows
    .map((row) => `    ${JSON.stringify(row, null, 1).replace(/\n */g, " ")}`)
    .join(",\n");
  await fs.writeFile(
    file,
    previousText.replace(
      rowsOfFile,
      (_all, start: string, end: string) => `${start}${lines}${end}`,
    ),
  );
  return report;
}

async function read(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
  if (!response.ok)
    throw new Error(`${url}: answers ${response.status}; name another Image Factory`);
  return response.json();
}
