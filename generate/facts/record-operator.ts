import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, parseAllDocuments, parseDocument } from "yaml";

/** A Kubernetes object. */
export interface Manifest {
  kind: string;
  metadata: { name: string };
  [key: string]: unknown;
}

/** Objects that the real chart of the GPU Operator renders. */
export interface OperatorFacts {
  source: string;
  /** Variants: the values of each rendering, by name. The release was `it`, and the namespace `gpu`. */
  variants: Record<string, object>;
  /** Each object with the variants that contain it, by release. `VERSION` stands for the release. */
  objects: { in: Record<string, string[]>; object: Manifest }[];
  /** Custom resource definitions of the chart, without their schemas. */
  definitions: Definition[];
}

interface Definition {
  releases: string[];
  name: string;
  group: string;
  scope: string;
  names: Record<string, unknown>;
  versions: { name: string; served: boolean; storage: boolean; subresources: string[] }[];
}

const recorded = path.resolve(__dirname, "../../lab/charts/facts/gpu-operator.json");

/**
 * Records the objects that the real chart of the GPU Operator renders.
 *
 * @param sources `v25.3.4=FOLDER`, …: `deployments/gpu-operator` of github.com/NVIDIA/gpu-operator at that tag. Its
 * Chart.yaml gets the
 *   release written into it, as the release process does. Node Feature Discovery's objects are left out: the lab has the real subchart.
 */
export function recordOperator(helm: string, sources: readonly string[]): void {
  const { variants } = JSON.parse(fs.readFileSync(recorded, "utf8")) as OperatorFacts;
  const objects = new Map<string, OperatorFacts["objects"][number]>();
  const definitions = new Map<string, Definition>();
  for (const source of sources) {
    const [release = "", folder = ""] = source.split("=");
    const chart = stamped(folder, release);
    for (const [variant, values] of Object.entries(variants))
      for (const object of rendered(helm, chart, values)) {
        const text = JSON.stringify(object).replaceAll(release, "VERSION");
        const entry = objects.get(text) ?? { in: {}, object: JSON.parse(text) as Manifest };
        (entry.in[release] ??= []).push(variant);
        objects.set(text, entry);
      }
    for (const customResource of fs
      .readdirSync(path.join(chart, "crds"))
      .map((crd) => definition(chart, crd))) {
      const entry = definitions.get(JSON.stringify(customResource)) ?? {
        releases: [],
        ...customResource,
      };
      entry.releases.push(release);
      definitions.set(JSON.stringify(customResource), entry);
    }
    fs.rmSync(chart, { recursive: true });
  }
  const source =
    "github.com/NVIDIA/gpu-operator, deployments/gpu-operator at each tag, by `npm run facts -- operator`";
  // One line per object, so that a diff shows the changed objects.
  const lines = (itemsByKey: Map<string, object>): string =>
    `[\n${[...itemsByKey.values()].map((item) => JSON.stringify(item)).join(",\n")}\n]`;
  const head = `"source":${JSON.stringify(source)},\n"variants":${JSON.stringify(variants)}`;
  fs.writeFileSync(
    recorded,
    `{${head},\n"objects":${lines(objects)},\n"definitions":${lines(definitions)}}\n`,
  );
}

function stamped(folder: string, release: string): string {
  const chart = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-chart-"));
  fs.cpSync(folder, chart, { recursive: true });
  stamp(chart, release, release);
  return chart;
}

/** Writes a release into a chart's Chart.yaml, as the release process of its project does. */
export function stamp(chart: string, version: string, appVersion: string): void {
  const file = path.join(chart, "Chart.yaml");
  const description = parseDocument(fs.readFileSync(file, "utf8"));
  for (const [key, value] of Object.entries({ version, appVersion })) description.set(key, value);
  fs.writeFileSync(file, description.toString());
}

function rendered(helm: string, chart: string, values: object): Manifest[] {
  const file = path.join(chart, "recorded-values.json");
  fs.writeFileSync(file, JSON.stringify(values));
  const options = { env: { HOME: os.tmpdir(), PATH: process.env["PATH"] }, maxBuffer: 2 ** 26 };
  const text = execFileSync(
    helm,
    ["template", "it", chart, "-n", "gpu", "-f", file],
    options,
  ).toString();
  const objects = parseAllDocuments(text).map(
    (document) => (document as { toJS(): unknown }).toJS() as Manifest | null,
  );
  return objects.flatMap((object) =>
    object?.metadata.name.includes("node-feature-discovery") ? [] : (object ?? []),
  );
}

/** A definition without its schemas, which are long and not needed here. */
function definition(chart: string, crd: string): Omit<Definition, "releases"> {
  const text = fs.readFileSync(path.join(chart, "crds", crd), "utf8");
  const { metadata, spec } = parse(text) as { metadata: { name: string }; spec: Definition };
  const { group, scope, names } = spec;
  const versions = spec.versions.map(({ name, served, storage, subresources = {} }) => ({
    name,
    served,
    storage,
    subresources: Object.keys(subresources),
  }));
  return { name: metadata.name, group, scope, names, versions };
}
