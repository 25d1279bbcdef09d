import { execFile } from "node:child_process";
import * as fs from "node:fs";
import { promisify } from "node:util";
import * as semver from "semver";
import { parseAllDocuments } from "yaml";
import { planCluster } from "../../components/recipe";
import { externalOf } from "../../components/recipe/external/external";
import { isLabChart } from "../charts";
import { chartRepositories, inChartNotation } from "../charts/releases";
import type { KubernetesObject } from "../kubernetes/cluster";
import type { Lab } from "./lab";

/**
 * Installs the release that a stack lists under `external`, like its owner: Helm by hand; Flux, whose helm-controller
 * labels what Helm makes (fluxcd/helm-controller, internal/postrender/build.go); Argo CD, which renders the chart,
 * leaves Helm's hooks out and annotates what it applies (argo-cd, docs/user-guide/resource_tracking.md). It also
 * creates the namespace, and the RuntimeClass that the device plugin's chart lacks. A second call upgrades the release.
 *
 * @returns a description of the release; undefined if the stack has no `external`.
 */
export async function installExternalRelease(lab: Lab): Promise<string | undefined> {
  const { spec, controlPlane, kubernetes, charts, tools, session } = lab;
  const external = externalOf(spec);
  if (external === undefined) return undefined;
  const { by: tool = "Helm", kind, runtimeClassName } = external;
  const { name, namespace, chart, version, values } = planCluster(spec).kubernetes.release;
  const release = semver.parse(version)?.version;
  if (!isLabChart(chart) || release === undefined)
    throw new Error(
      `external: the lab installs ${chart} before the first update, but no file contains its version; write external.version`,
    );
  charts?.offer(chart, version);
  const repository = chartRepositories[chart];
  const args = [
    chart,
    "--repo",
    charts?.addressOf(repository) ?? repository,
    "--version",
    inChartNotation(chart, release),
  ];
  const apply = (object: KubernetesObject): Promise<void> =>
    kubernetes.apply(object, { fieldManager: tool.toLowerCase(), force: true });
  const runHelm = async (command: string[], extraArgs: string[] = []): Promise<string> => {
    const file = session.dir("outside.json"); // JSON is YAML
    fs.writeFileSync(file, JSON.stringify(values), { mode: 0o600 });
    const access = [
      "--namespace",
      namespace,
      "--kubeconfig",
      controlPlane.adminKubeconfig,
      "--values",
      file,
    ];
    const env = { PATH: process.env["PATH"], HOME: session.dir() }; // a user's settings of Helm stay out
    const options = { env, signal: session.signal, maxBuffer: 2 ** 26 };
    const helmArgs = [...command, name, ...args, ...access, ...extraArgs];
    return (await promisify(execFile)(tools.helm, helmArgs, options)).stdout;
  };
  const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } });
  if (kind === "devicePlugin" && runtimeClassName !== "")
    await apply({
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: runtimeClassName },
      handler: "nvidia",
    });
  if (tool === "Argo CD") {
    const manifest = await runHelm(["template"], ["--include-crds"]);
    for (const object of renderedObjects(manifest, namespace)) {
      const { metadata } = object;
      const resource = `${object.apiVersion.split("/").slice(0, -1).join("/")}/${object.kind}:${metadata.namespace}/${metadata.name}`;
      const annotations = {
        ...metadata.annotations,
        "argocd.argoproj.io/tracking-id": `gpu:${resource}`,
      };
      await apply({ ...object, metadata: { ...metadata, annotations } });
    }
  } else
    await runHelm(
      ["upgrade", "--install"],
      tool === "Flux" ? ["--post-renderer", postRenderer(session.dir(), name, namespace)] : [],
    );
  return `${chart} ${version} in ${namespace}, by ${tool}`;
}

type RenderedObject = KubernetesObject & {
  apiVersion: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
};

/**
 * Objects of a rendered chart, definitions first, without Helm's hooks. A namespaced object without a namespace gets
 * the release's.
 */
function renderedObjects(text: string, namespace: string): RenderedObject[] {
  const objects = parseAllDocuments(text)
    .map((document) => document.toJS() as RenderedObject | null)
    .filter((object) => object?.kind !== undefined)
    .map((object) => ({ ...object!, metadata: { namespace, ...object!.metadata } }))
    .filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === undefined);
  const rank = ({ kind }: RenderedObject): number => (kind === "CustomResourceDefinition" ? 0 : 1);
  return objects.sort((first, second) => rank(first) - rank(second));
}

/** Helm's post-renderer: a program that adds labels to the objects of a release. */
function postRenderer(folder: string, name: string, namespace: string): string {
  const file = `${folder}/flux.js`;
  const labels = {
    "helm.toolkit.fluxcd.io/name": name,
    "helm.toolkit.fluxcd.io/namespace": namespace,
  };
  const program = [
    `#!${process.execPath}`,
    `const { parseAllDocuments } = require(${JSON.stringify(require.resolve("yaml"))});`,
    'const objects = parseAllDocuments(require("fs").readFileSync(0, "utf8")).map((one) => one.toJS()).filter(Boolean);',
    `for (const { metadata } of objects) metadata.labels = { ...metadata.labels, ...${JSON.stringify(labels)} };`,
    'console.log(objects.map((one) => JSON.stringify(one)).join("\\n---\\n"));',
  ];
  fs.writeFileSync(file, `${program.join("\n")}\n`, { mode: 0o755 });
  return file;
}
