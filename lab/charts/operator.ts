import { readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { stringify } from "yaml";
import { operatorFacts, recordedObjects } from "./facts";
import { moduleChart, stampedCopy } from "./modules";
import { discoveryModule, nearest } from "./releases";

/**
 * Facts about a release of the operator's chart. Source: the real chart's values.yaml and Chart.yaml, reduced to
 * their facts.
 */
interface OperatorData {
  /** Without a `v`. */
  version: string;
  /** Release of its subchart Node Feature Discovery. */
  nodeFeatureDiscovery: string;
  values: Values;
}

type Values = Record<string, unknown>;

/** Releases of the operator's chart whose values are known. */
export const operatorReleases = (): string[] => data.map(({ version }) => version);

/**
 * Writes the emulated chart of the GPU Operator, since no registry here has the real one. Values and their defaults
 * are the real ones; the preview reports misspelt values. The lab's own templates make the real chart's objects
 * (lab/tests/charts/operator-facts.test.ts compares them). The subchart is the real Node Feature Discovery.
 *
 * @param version any release; the nearest known one is written under its name
 */
export async function writeOperatorChart(folder: string, version: string): Promise<void> {
  const known = nearest(operatorReleases(), version);
  const found = data.find((each) => each.version === known)!;
  const discovery = found.nodeFeatureDiscovery.replace(/^v/, "");
  for (const part of ["templates", "crds", "charts"])
    await mkdir(path.join(folder, part), { recursive: true });
  const description = {
    apiVersion: "v2",
    name: "gpu-operator",
    version: `v${version}`,
    appVersion: `v${version}`,
    description:
      "The lab's gpu-operator: the real chart's values, the lab's own templates, the real Node Feature Discovery",
    dependencies: [
      { name: "node-feature-discovery", version: discovery, condition: "nfd.enabled" },
    ],
  };
  const files = {
    "Chart.yaml": yaml11(description),
    "values.yaml": yaml11(found.values),
    ...Object.fromEntries(definitionsOf(`v${known}`).map(([file, text]) => [`crds/${file}`, text])),
    "facts.json": JSON.stringify(factsOf(`v${known}`)),
  };
  await Promise.all(
    Object.entries(files).map(([file, text]) => writeFile(path.join(folder, file), text)),
  );
  const templates = path.join(__dirname, "gpu-operator");
  for (const file of readdirSync(templates))
    await copyFile(
      path.join(templates, file),
      path.join(folder, "templates", file.replace(/\.yaml\.tpl$/, ".yaml")),
    );
  await stampedCopy(
    await moduleChart(discoveryModule(discovery)),
    path.join(folder, "charts/node-feature-discovery"),
    discovery,
    `v${discovery}`,
  );
}

/** Recorded parts that the templates use: rules of the roles, and Node Feature Discovery's. */
function factsOf(release: string): Record<string, unknown> {
  const [plain, all] = ["defaults", "rich"].map((variant) => recordedObjects(release, variant));
  return {
    clusterRules: plain?.get("ClusterRole/gpu-operator")?.["rules"],
    rules: plain?.get("Role/gpu-operator")?.["rules"],
    featureRule: [...(all?.values() ?? [])].find(({ kind }) => kind === "NodeFeatureRule"),
  };
}

/**
 * The CRDs of its kinds, which accept any field: the preview checks the values (components/recipe/checks/values.ts).
 */
function definitionsOf(release: string): [file: string, text: string][] {
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  return operatorFacts.definitions
    .filter(({ releases }) => releases.includes(release))
    .map(({ releases: _, name, ...spec }) => {
      const versions = spec.versions.map(({ subresources, ...version }) => ({
        ...version,
        subresources: Object.fromEntries(subresources.map((each) => [each, {}])),
        schema,
      }));
      const kind = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
      const text = yaml11({ ...kind, metadata: { name }, spec: { ...spec, versions } });
      return [`${spec.group}_${spec.names["plural"] as string}.yaml`, text];
    });
}

/** Helm reads YAML 1.1, where a plain `off` is a boolean: such strings need quotes. */
const yaml11 = (value: unknown): string =>
  stringify(value, { version: "1.1", aliasDuplicateObjects: false });

/** The releases, oldest first. The file has the values of the first one, and what each later one changed (RFC 7386). */
function releasesIn(file: string): OperatorData[] {
  let values: Values = {};
  const { releases } = JSON.parse(readFileSync(file, "utf8")) as { releases: OperatorData[] };
  return releases.map((release) => ({
    ...release,
    values: (values = patched(values, release.values)),
  }));
}

const isMapping = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function patched(values: Values, changes: Values): Values {
  const all = { ...values };
  for (const [key, value] of Object.entries(changes))
    if (value === null) delete all[key];
    else all[key] = isMapping(value) ? patched(isMapping(all[key]) ? all[key] : {}, value) : value;
  return all;
}

const data = releasesIn(path.join(__dirname, "data/gpu-operator.json"));
