import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { writeTable } from "./write-table";

/**
 * Makes components/recipe/facts/data/talos-schema.json: the keys and types that Talos accepts in documents of a machine
 * configuration, minor by minor. Keys and types are those of the structures into which Talos decodes them (by
 * reflection, structures/main.go). Its published schema leaves out every deprecated field that still works, such as
 * `machine.network` and `machine.registries`; enumerations, patterns and required keys come from the schema
 * (pkg/machinery/config/schemas/config.schema.json). Both are in the Go module of each release; for a release without a
 * module, pass a folder with its machinery: `npm run facts:schemas -- 1.14.0-rc.1=DIR`.
 */

const releases = ["1.8.3", "1.9.5", "1.10.6", "1.11.6", "1.12.7", "1.13.9"];
const machinery = "github.com/siderolabs/talos/pkg/machinery";

/** A node of a JSON schema, as far as Talos uses it. */
interface Node {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  pattern?: string;
  items?: Node;
  oneOf?: Node[];
  properties?: Record<string, Node>;
  patternProperties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  required?: string[];
}

type Definitions = Record<string, Node>;

/** One release's structures: keys and types (see components/recipe/facts/talos-schema.ts). */
interface Structures {
  minor: number;
  /** Structure of each kind of document; `Config` is the one with `machine` and `cluster`. */
  kinds: Record<string, string>;
  defs: Record<string, Record<string, string>>;
}

/** Types that decode themselves, for which the schema does not list the accepted values. */
const custom: Record<string, string> = {
  "v1alpha1.ArgValue": "(string [string)",
  "meta.ArgValue": "(string [string)",
  "network.PortRange": "(integer string)",
  "v1alpha1.ClusterInlineManifests": "[@v1alpha1.ClusterInlineManifest",
  "x509.PEMEncodedCertificateAndKey": "@x509.PEMEncodedCertificateAndKey",
  "x509.PEMEncodedCertificate": "@x509.PEMEncodedCertificate",
  "x509.PEMEncodedKey": "@x509.PEMEncodedKey",
};

/** Types of siderolabs/crypto, x509: base64 of PEM. */
const certificates: Structures["defs"] = {
  "x509.PEMEncodedCertificateAndKey": { crt: "base64", key: "base64" },
  "x509.PEMEncodedCertificate": { crt: "base64" },
  "x509.PEMEncodedKey": { key: "base64" },
};

function folderOf(release: string): string {
  const [version = release, folder] = release.split("=");
  if (folder !== undefined) return path.resolve(folder);
  const answer = execFileSync("go", ["mod", "download", "-json", `${machinery}@v${version}`], {
    encoding: "utf8",
  });
  return (JSON.parse(answer) as { Dir: string }).Dir;
}

/** Runs structures/main.go with a release's machinery. */
function decoded(release: string, folder: string): Omit<Structures, "minor"> {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "talos-structures-"));
  const go = (...args: string[]): string =>
    execFileSync("go", args, {
      cwd: work,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 1 << 26,
    });
  try {
    fs.copyFileSync(path.join(__dirname, "structures", "main.go"), path.join(work, "main.go"));
    const version = release.split("=")[0]!;
    go("mod", "init", "structures");
    go("mod", "edit", "-require", `${machinery}@v${version}`);
    if (release.includes("="))
      go(
        "mod",
        "edit",
        "-replace",
        `${machinery}=${folder}`,
        ...(process.env["GO_MOD_EDIT"]?.split(" ") ?? []),
      );
    go("mod", "tidy");
    return JSON.parse(go("run", ".", ...kindsIn(path.join(folder, "config", "types")))) as Omit<
      Structures,
      "minor"
    >;
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/** Every word of the sources that may be a kind; structures/main.go skips the others. */
function kindsIn(folder: string): string[] {
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".go"));
  const words = files.flatMap((file) =>
    [...fs.readFileSync(path.join(folder, file), "utf8").matchAll(/= "([A-Z]\w+)"/g)].map(
      (match) => match[1]!,
    ),
  );
  return [...new Set([...words, "Config"])].sort();
}

function structuresOf(release: string): Structures & { published: Definitions } {
  const folder = folderOf(release);
  const file = path.join(folder, "config", "schemas", "config.schema.json");
  const { $defs } = JSON.parse(fs.readFileSync(file, "utf8")) as { $defs: Definitions };
  return { minor: Number(release.split(".")[1]), ...decoded(release, folder), published: $defs };
}

/** Adds the schema's enumeration or pattern to a decoded type. */
function refine(type: string, node: Node | undefined): string {
  const plain = type.replace(/^custom:/, "");
  if (custom[plain] !== undefined) return custom[plain];
  if (type.startsWith("[")) return `[${refine(type.slice(1), node?.items)}`;
  if (type.startsWith("{")) {
    const values = Object.values(node?.patternProperties ?? {})[0] ?? node?.additionalProperties;
    return `{${refine(type.slice(1), typeof values === "object" ? values : undefined)}`;
  }
  if (!["string", "integer", "unsigned"].includes(type) && !type.startsWith("custom:")) return type;
  if (node?.enum) return `=${node.enum.map(String).join("|")}`;
  if (type.startsWith("custom:"))
    return node?.pattern === undefined ? "string" : `/${node.pattern}`;
  return type;
}

/** Decoded structures, with additions for their keys from the schema of this release or an older one. */
function refined(all: (Structures & { published: Definitions })[]): Structures[] {
  return all.map(({ minor, kinds, defs }, index) => {
    const nodeOf = (name: string, key: string): Node | undefined =>
      all
        .slice(0, index + 1)
        .toReversed()
        .map(({ published }) => published[name]?.properties?.[key])
        .find((node) => node !== undefined);
    const required = (name: string): Set<string> => new Set(all[index]!.published[name]?.required);
    return {
      minor,
      kinds,
      defs: {
        ...Object.fromEntries(
          Object.entries(defs).map(([name, keys]) => [
            name,
            Object.fromEntries(
              Object.entries(keys).map(([key, type]) => [
                key,
                `${required(name).has(key) ? "!" : ""}${refine(type, nodeOf(name, key))}`,
              ]),
            ),
          ]),
        ),
        ...certificates,
      },
    };
  });
}

/** A value for a range of minors, `[value, from, to]`; or only the value if it holds in all of them. */
type Ranged = string | [string, number, number][];

function ranged(values: (string | undefined)[], minors: number[]): Ranged {
  if (new Set(values).size === 1) return values[0]!;
  const ranges: [string, number, number][] = [];
  values.forEach((value, index) => {
    const last = ranges.at(-1);
    if (value === undefined) return;
    if (last?.[0] === value && last[2] === minors[index - 1]) last[2] = minors[index]!;
    else ranges.push([value, minors[index]!, minors[index]!]);
  });
  return ranges;
}

function rangedRecord(
  recordsByMinor: { minor: number; record: Record<string, string> }[],
): Record<string, Ranged> {
  const keys = [...new Set(recordsByMinor.flatMap(({ record }) => Object.keys(record)))].sort();
  const minors = recordsByMinor.map(({ minor }) => minor);
  const valuesOf = (key: string): (string | undefined)[] =>
    recordsByMinor.map(({ record }) => record[key]);
  return Object.fromEntries(keys.map((key) => [key, ranged(valuesOf(key), minors)]));
}

async function main(otherReleases: string[]): Promise<void> {
  const sources = [...releases, ...otherReleases];
  const minors = sources.map((source) => Number(source.split(".")[1])).sort((a, b) => a - b);
  const missing = minors.findIndex((minor, index) => index > 0 && minor !== minors[index - 1]! + 1);
  if (missing > 0)
    throw new Error(
      `talos-schemas: no release of Talos 1.${minors[missing]! - 1} is named; its documents would be judged by the neighboring minors; add one to the list, or name its folder, e.g. 1.${minors[missing]! - 1}.0=DIR`,
    );
  const all = refined(sources.map(structuresOf).sort((a, b) => a.minor - b.minor));
  const names = [...new Set(all.flatMap(({ defs }) => Object.keys(defs)))].sort();
  const records = (name: string): { minor: number; record: Record<string, string> }[] =>
    all.flatMap(({ minor, defs }) =>
      defs[name] === undefined ? [] : [{ minor, record: defs[name] }],
    );
  const data = {
    source:
      "siderolabs/talos, pkg/machinery/config: the decoder's structures, and schemas/config.schema.json",
    releases: sources.map((source) => `v${source.split("=")[0]}`),
    kinds: rangedRecord(all.map(({ minor, kinds }) => ({ minor, record: kinds }))),
    defs: Object.fromEntries(names.map((name) => [name, rangedRecord(records(name))])),
  };
  await writeTable("talos-schema.json", data);
}

void main(process.argv.slice(2));
