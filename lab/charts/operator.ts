import { readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { stringify } from "yaml";
import { operatorFacts, recordedObjects } from "./facts";
import { moduleChart, stampedCopy } from "./modules";
import { discoveryModule, nearestRelease } from "./releases";

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
  const knownRelease = nearestRelease(operatorReleases(), version);
  const chartData = data.find((release) => release.version === knownRelease)!;
  const discoveryVersion = chartData.nodeFeatureDiscovery.replace(/^v/, "");
  for (const subfolder of ["templates", "crds", "charts"])
    await mkdir(path.join(folder, subfolder), { recursive: true });
  const description = {
    apiVersion: "v2",
    name: "gpu-operator",
    version: `v${version}`,
    appVersion: `v${version}`,
    description:
      "The lab's gpu-operator: the real chart's values, the lab's own templates, the real Node Feature Discovery",
    dependencies: [
      { name: "node-feature-discovery", version: discoveryVersion, condition: "nfd.enabled" },
    ],
  };
  const files = {
    "Chart.yaml": yaml11(description),
    "values.yaml": yaml11(chartData.values),
    ...Object.fromEntries(
      definitionsOf(`v${knownRelease}`).map(([file, text]) => [`crds/${file}`, text]),
    ),
    "facts.json": JSON.stringify(factsOf(`v${knownRelease}`)),
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
    await moduleChart(discoveryModule(discoveryVersion)),
    path.join(folder, "charts/node-feature-discovery"),
    discoveryVersion,
    `v${discoveryVersion}`,
  );
}

/** Recorded parts that the templates use: rules of the roles, and Node Feature Discovery's. */
function factsOf(release: string): Record<string, unknown> {
  const [defaultObjects, richObjects] = ["defaults", "rich"].map((variant) =>
    recordedObjects(release, variant),
  );
  return {
    clusterRules: defaultObjects?.get("ClusterRole/gpu-operator")?.["rules"],
    rules: defaultObjects?.get("Role/gpu-operator")?.["rules"],
    featureRule: [...(richObjects?.values() ?? [])].find(({ kind }) => kind === "NodeFeatureRule"),
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
        subresources: Object.fromEntries(subresources.map((subresource) => [subresource, {}])),
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
    values: (values = mergePatch(values, release.values)),
  }));
}

const isMapping = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function mergePatch(values: Values, changes: Values): Values {
  const merged = { ...values };
  for (const [key, value] of Object.entries(changes))
    if (value === null) delete merged[key];
    else
      merged[key] = isMapping(value)
        ? mergePatch(isMapping(merged[key]) ? merged[key] : {}, value)
        : value;
  return merged;
}

const data = releasesIn(path.join(__dirname, "data/gpu-operator.json"));
