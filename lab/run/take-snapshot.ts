import * as fs from "node:fs";
import { someAtATime } from "../../components/clients/clock";
import { SecretFiles } from "../../components/clients/secret-files";
import { KubernetesError } from "../../components/clients/kubernetes/error";
import { TalosMachine } from "../../components/clients/talos/talos-machine";
import { Talosctl } from "../../components/clients/talos/talosctl";
import { configPatchType, extensionsType } from "../../components/recipe";
import type { Lab } from "../cluster/lab";
import { taintsOfNode } from "../kubernetes/node";
import type { Cluster, KubernetesObject } from "../kubernetes/cluster";
import { valuesOf, type LabSnapshot } from "./snapshot";
import { until } from "../until";

/** Kinds whose objects the cluster creates and deletes all the time. */
const volatileKinds = new Set(["Event", "APIService", "ComponentStatus", "CSINode"]);

/** Records everything that a stack can change. */
export async function takeSnapshot(lab: Lab): Promise<LabSnapshot> {
  const processes = processesOf(lab.session.workspace.dir); // lists the processes first, since the calls below start processes
  // Real machines serve no cluster before the stack has bootstrapped one.
  const isCluster = fs.existsSync(lab.controlPlane.adminKubeconfig);
  const [objects, nodes, machines] = await Promise.all([
    isCluster ? objectsOf(lab) : [],
    isCluster ? nodesOf(lab) : [],
    machinesOf(lab),
  ]);
  return { lines: [...objects, ...nodes, ...omniOf(lab), ...processes], machines };
}

/** A resource as the API server's discovery lists it, with its group, version and kind. */
interface ListedResource {
  resource: string;
  verbs: string[];
  responseKind: { kind: string };
}

/**
 * Answer of the discovery of the core API, or of all groups (kubernetes.io/docs/reference/using-api/api-concepts,
 * aggregated discovery).
 */
interface Discovery {
  items: {
    metadata?: { name?: string };
    versions?: { version: string; resources: ListedResource[] }[];
  }[];
}

const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Every listable object of every kind of the API server, including kinds that charts define. */
async function objectsOf({ kubernetes: cluster, session }: Lab): Promise<string[]> {
  const { signal } = session;
  const discover = async (path: string): Promise<{ path: string; kind: string }[]> => {
    const discovery = await cluster.ask<Discovery>(path, path, { accept: aggregatedDiscovery });
    return discovery!.items.flatMap(({ metadata, versions: [preferred] = [] }) =>
      (preferred?.resources ?? [])
        .filter(
          ({ verbs, responseKind }) =>
            verbs.includes("list") && !volatileKinds.has(responseKind.kind),
        )
        .map(({ resource, responseKind: { kind } }) => ({
          path: [path, metadata?.name, preferred!.version, resource].filter(Boolean).join("/"),
          kind,
        })),
    );
  };
  const kinds = (await Promise.all(["/api", "/apis"].map(discover))).flat();
  const lines: string[] = [];
  await someAtATime(kinds, async ({ path, kind }) => {
    for (const { metadata } of await listObjects(cluster, path, signal)) {
      const namespacePrefix = metadata?.namespace === undefined ? "" : `${metadata.namespace}/`;
      lines.push(`${kind} ${namespacePrefix}${metadata?.name}`);
    }
  });
  return lines;
}

/** Seconds within which the API server must serve a kind that has just been defined. */
const servedSeconds = 30;

/** Media type of a list that has only the metadata of each object. */
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/**
 * Lists objects of a kind. While the API server prepares a new kind, it answers 429, "storage is (re)initializing"
 * (kubernetes, apiserver/pkg/storage/cacher).
 */
async function listObjects(
  cluster: Cluster,
  path: string,
  signal: AbortSignal,
): Promise<KubernetesObject[]> {
  const request = { accept: metadataOnly, instead: { 404: { items: [] } } }; // its definition was deleted meanwhile
  const list = (): Promise<KubernetesObject[] | KubernetesError> =>
    cluster.list<KubernetesObject>(path, path, request).catch((error: unknown) => {
      if (error instanceof KubernetesError && error.code === 429) return error;
      throw error;
    });
  const patience = { seconds: servedSeconds, every: 100, signal };
  const { seen: objects } = await until(
    patience,
    list,
    (result) => !(result instanceof KubernetesError),
  );
  if (objects instanceof KubernetesError) throw objects;
  return objects;
}

async function nodesOf({ kubernetes }: Lab): Promise<string[]> {
  const linesOf = (kind: string, values: Record<string, string> = {}): string[] =>
    Object.entries(values).map(([key, value]) => `${kind} ${key}=${value}`);
  return Object.entries(await kubernetes.nodes()).flatMap(([name, node]) =>
    [
      ...linesOf("label", node.metadata?.labels),
      ...linesOf("annotation", node.metadata?.annotations),
      ...taintsOfNode(node).map((taint) => `taint ${taint}`),
      ...(node.spec?.unschedulable ? ["cordoned"] : []),
    ].map((line) => `node ${name}: ${line}`),
  );
}

async function machinesOf({
  machines,
  spec,
  session,
  tools,
}: Lab): Promise<LabSnapshot["machines"]> {
  const talosconfig = session.dir("talosconfig");
  const states = await machines.state();
  const snapshots: LabSnapshot["machines"] = {};
  const talosctl = new Talosctl({ binary: tools.talosctl, talosconfig, secrets: [] });
  const files = new SecretFiles();
  try {
    for (const [name, { address }] of Object.entries(spec.machines)) {
      const { talosVersion, schematicId, stage } = states[name]!;
      const configured = stage !== "maintenance" && fs.existsSync(talosconfig);
      const configurations = configured
        ? await new TalosMachine(talosctl, address, files).configurations()
        : {};
      const text = configurations.persistent ?? configurations.active;
      snapshots[name] = {
        image: `${talosVersion} ${schematicId}`,
        configuration: text === undefined ? undefined : valuesOf(text),
      };
    }
    return snapshots;
  } finally {
    talosctl.stop();
    files.close();
  }
}

function omniOf({ omni }: Lab): string[] {
  const resources = [configPatchType, extensionsType].flatMap(
    (type) => omni?.resources.all(type) ?? [],
  );
  return resources.map(
    ({ metadata, spec }) =>
      `Omni has ${metadata.type} ${metadata.id} ${JSON.stringify([metadata.labels, spec])}`,
  );
}

/** esbuild, which bundles changed sources (`bundle.js`) and ends with the lab. */
const compiler = /\besbuild --service=/;

/** The controller manager, which the lab restarts (`ControlPlane.learnKinds`). */
const controllers = /\bkube-controller-manager --/;

/** Programs that connect a virtual machine to this computer, and end with the machine (`lab/talos/machine.ts`). */
const machineConnectors = /\/(connect|trustd) \d+\./;

/**
 * Processes that have the lab's mark in their environment, which every child inherits (`session.ts`). Only Linux shows
 * it.
 */
export function processesOf(dir: string, proc = "/proc"): string[] {
  const read = (pid: string, file: string): string[] => {
    try {
      return fs.readFileSync(`${proc}/${pid}/${file}`, "utf8").split("\0");
    } catch {
      return []; // the process ended meanwhile, or belongs to another user
    }
  };
  const pids = fs.existsSync(proc) ? fs.readdirSync(proc).filter((name) => /^\d+$/.test(name)) : [];
  const labPids = pids.filter((pid) => read(pid, "environ").includes(`TALOS_GPU_LAB=${dir}`));
  const commands = labPids.map((pid): [string, string] => [
    pid,
    read(pid, "cmdline").join(" ").trim(),
  ]);
  const ignoredPrograms = [compiler, controllers, machineConnectors];
  return (
    commands
      // A process that ended between the two reads has no command line.
      .filter(
        ([, command]) =>
          command !== "" && !ignoredPrograms.some((pattern) => pattern.test(command)),
      )
      .map(([pid, command]) => `process ${pid} ${command}`)
  );
}
