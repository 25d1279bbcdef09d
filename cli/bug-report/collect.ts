import type * as k8s from "@kubernetes/client-node";
import { KubeConfig } from "@kubernetes/client-node";
import { someAtATime } from "../../components/clients/clock";
import { KubernetesApi } from "../../components/clients/kubernetes/api";
import { slicesPath } from "../../components/clients/kubernetes/devices";
import type { TalosMachine } from "../../components/clients/talos/talos-machine";
import type { Plan } from "../../components/recipe/index";
import { redact, withoutSecrets } from "../../components/recipe/rules/redact";
import { examine } from "../doctor/examine";
import { logPath } from "../doctor/observe/last-words";
import { addressesOf } from "../doctor/observe/observe-cluster";
import { type DoctorReport, renderReport } from "../doctor/report";
import { redacted } from "../plan/differences";
import type { ClusterAccess } from "../reach/access";
import { askMachines, readEach } from "../reach/machines";

/** Collected files, free of secrets. */
export interface Collected {
  /** Texts by the names of their files. */
  files: Map<string, string>;
  /** One sentence for each failed read, with the reason. */
  missing: string[];
}

/** Files of a machine that NVIDIA's nvidia-bug-report.sh reads and that Talos' API can return. */
const machineFiles = [
  "/proc/cmdline",
  "/proc/cpuinfo",
  "/proc/interrupts",
  "/proc/iomem",
  "/proc/meminfo",
  "/proc/modules",
  "/proc/version",
  "/proc/driver/nvidia/version",
  "/proc/driver/nvidia/params",
  "/proc/driver/nvidia/registry",
];

/**
 * Talos resources and services that `talosctl support` collects and that matter for a card (talos v1.13.0,
 * pkg/cluster/support). NVIDIA's services are not in the list.
 */
const machineResources = [
  "extensions",
  "pcidevices",
  "machinestatus",
  "loadedkernelmodules",
  "kernelmodulespecs",
];
const otherServices = /^(cri|containerd|kubelet|machined)$/;

/**
 * Kubernetes objects that the GPU Operator's must-gather.sh collects, and the DeviceClasses and ResourceSlices of the
 * DRA driver.
 */
const objects: Record<string, string> = {
  nodes: "/api/v1/nodes",
  runtimeclasses: "/apis/node.k8s.io/v1/runtimeclasses",
  clusterpolicies: "/apis/nvidia.com/v1/clusterpolicies",
  nvidiadrivers: "/apis/nvidia.com/v1alpha1/nvidiadrivers",
  deviceclasses: "/apis/resource.k8s.io/v1/deviceclasses",
  resourceslices: slicesPath,
};
const namespaced: Record<string, string> = {
  pods: "/api/v1/pods",
  events: "/api/v1/events",
  daemonsets: "/apis/apps/v1/daemonsets",
  deployments: "/apis/apps/v1/deployments",
};

/** Number of lines that are kept of each log. */
const LINES = 5_000;

/** Labels that NVIDIA's charts, Node Feature Discovery and the stack set on their own objects, in any namespace. */
const providerLabels: Record<string, RegExp> = {
  "app.kubernetes.io/managed-by": /^(?:talos-gpu|gpu-operator)$/,
  "app.kubernetes.io/part-of": /^(?:nvidia-gpu|gpu-operator)$/,
  "app.kubernetes.io/name":
    /^(?:gpu-operator|nvidia-device-plugin|gpu-feature-discovery|dcgm-exporter|node-feature-discovery|(?:nvidia-)?dra-driver(?:-nvidia-gpu|-gpu)?)$/,
  app: /^(?:gpu-operator|gpu-feature-discovery|nvidia-(?:device-plugin-daemonset|dcgm|dcgm-exporter|mig-manager|operator-validator|driver-daemonset|container-toolkit-daemonset))$/,
};

/**
 * Matches names of objects of a GPU provider. An event has no labels, so only the name of its object shows that it
 * concerns the provider.
 */
const gpuObjectName =
  /^(nvidia-|gpu-operator|gpu-feature-discovery|gpu-smoke-test|dcgm)|node-feature-discovery|dra-driver-nvidia/;

/** Pods that see the cards of their machine and contain NVIDIA's programs. */
const podNameWithGpuAccess =
  /nvidia-device-plugin|dcgm-exporter|dra-driver(?:(?!dra-driver).)*kubelet-plugin/;

/**
 * Collects what NVIDIA and Sidero ask for: kernel log, services and resources of the GPU machines through the Talos
 * API; objects and logs of the GPU provider; the plan and the doctor's report. It only reads: it starts no pod, and
 * runs no command in one.
 *
 * @param timeLimit limit in milliseconds for the whole collection.
 */
export async function collect(
  clusterAccess: ClusterAccess,
  plan: Plan | undefined,
  timeLimit: number,
): Promise<Collected> {
  const collected: Collected = { files: new Map(), missing: [...clusterAccess.leftOut] };
  const kubeconfig = Object.assign(new KubeConfig(), clusterAccess.kubeconfig, {
    users: clusterAccess.kubeconfig.users.map((user) => ({ ...user })), // a client removes the credential plugin from it
  });
  const end = performance.now() + 0.9 * timeLimit;
  const report = await examine(clusterAccess, plan, 0.4 * timeLimit);
  collected.files.set("doctor.txt", redact(`${renderReport(report, false)}\n`));
  collected.files.set("doctor.json", asText(report));
  if (plan) collected.files.set("plan.json", asText(plan));
  const remainingTime = (): number => end - performance.now();
  const api = new KubernetesApi(kubeconfig, [], 0.2 * timeLimit);
  const nodes = await collectFromCluster(api, report, remainingTime, collected);
  if (clusterAccess.machines === undefined) return collected;
  const plannedMachines = plan?.machines.map(({ name, address }): [string, string] => [
    name,
    address,
  ]);
  const addresses = plannedMachines ?? Object.entries(addressesOf(nodes));
  const withCards = addresses.filter(([name]) => report.system.gpuMachines.includes(name));
  const machines = withCards.length > 0 ? withCards : addresses; // a machine with a failed card may seem to have none
  const machineAccess = { ...clusterAccess.machines, limit: Math.max(remainingTime(), 0) };
  const ask = (name: string, talos: TalosMachine): Promise<void> =>
    collectFromMachine(name, talos, machineAccess.secrets, collected);
  collected.missing.push(...(await askMachines(machines, machineAccess, ask)));
  return collected;
}

/** A file name made from the name of an object or a machine, without characters that could lead into another folder. */
const fileName = (name: string): string => name.replace(/[^\w.-]/g, "_").replace(/^\.{1,2}$/, "_");

async function collectFromMachine(
  name: string,
  machine: TalosMachine,
  secrets: readonly string[],
  { files, missing }: Collected,
): Promise<void> {
  const addFile = (file: string, text: string): unknown =>
    files.set(`machines/${fileName(name)}/${file}`, redact(text, secrets));
  const facts: Record<string, () => Promise<unknown>> = {
    dmesg: async () => addFile("dmesg.log", await machine.log()),
  };
  for (const path of machineFiles)
    facts[path] = async () => {
      const text = await machine.read(path);
      if (text === undefined) throw new Error("does not exist");
      addFile(path.slice(1).replaceAll("/", "-"), text);
    };
  for (const type of machineResources)
    facts[type] = async () =>
      files.set(`machines/${fileName(name)}/${type}.json`, asText(await machine.resources(type)));
  const services = await machine.services().catch((): Record<string, string> => ({}));
  // Only names and states, so nothing is hidden: the name of a service may look like a secret.
  files.set(
    `machines/${fileName(name)}/services.json`,
    `${JSON.stringify(services, undefined, 2)}\n`,
  );
  for (const serviceName of Object.keys(services).filter(
    (serviceName) => /^ext-[\w.-]+$/.test(serviceName) || otherServices.test(serviceName),
  ))
    facts[`log of ${serviceName}`] = async () =>
      addFile(`${serviceName}.log`, await machine.log(serviceName, LINES));
  const failed = await readEach(facts);
  missing.push(
    ...failed.map(({ description, error }) => `machine ${name}: ${description}: ${error.message}`),
  );
}

/** Collects the files about the Kubernetes cluster, and returns the cluster's nodes. */
async function collectFromCluster(
  api: KubernetesApi,
  { system: { namespace } }: DoctorReport,
  remainingTime: () => number,
  { files, missing }: Collected,
): Promise<k8s.V1Node[]> {
  const isInProviderNamespace = (namespaceOfObject: string | undefined): boolean =>
    namespaceOfObject === namespace && namespaceOfObject !== "kube-system";
  const hasProviderLabel = (labels: Record<string, string> = {}): boolean =>
    Object.entries(providerLabels).some(([label, value]) => value.test(labels[label] ?? ""));
  const namespacesWithProviderPods = new Set<string>();
  /**
   * Whether an object belongs to the GPU provider: it is in the provider's namespace, or its labels show the provider.
   * An event has no labels. It belongs to the provider if its namespace contains a pod of the provider and
   * `gpuObjectName` matches the event's object. So pods are read before events.
   */
  const belongsToProvider = (
    kind: string,
    { metadata, involvedObject }: k8s.CoreV1Event,
  ): boolean => {
    if (isInProviderNamespace(metadata.namespace)) return true;
    if (kind !== "events") return hasProviderLabel(metadata.labels);
    return (
      namespacesWithProviderPods.has(metadata.namespace ?? "") &&
      gpuObjectName.test(involvedObject?.name ?? "")
    );
  };
  const listed = new Map<string, object[]>();
  const list = async ([kind, path]: [string, string]): Promise<void> => {
    const allObjects = await api.list<object>(kind, path, { instead: { 404: undefined } });
    const relevantObjects =
      kind in namespaced
        ? allObjects.filter((object) => belongsToProvider(kind, object as k8s.CoreV1Event))
        : allObjects;
    if (kind === "pods")
      for (const pod of relevantObjects as k8s.V1Pod[])
        namespacesWithProviderPods.add(pod.metadata?.namespace ?? "");
    listed.set(kind, relevantObjects);
    if (relevantObjects.length > 0) files.set(`cluster/${kind}.json`, asText(relevantObjects));
  };
  const runOrReport = async (description: string, read: Promise<void>): Promise<void> =>
    read.catch((error: Error) => void missing.push(`${description}: ${error.message}`));
  const { events, ...otherKinds } = namespaced;
  await someAtATime(Object.entries({ ...objects, ...otherKinds }), (entry) =>
    runOrReport(entry[0], list(entry)),
  );
  await runOrReport("events", list(["events", events!]));
  const pods = (listed.get("pods") ?? []) as k8s.V1Pod[];
  const execCommands = pods
    .filter(
      ({ metadata, status }) =>
        podNameWithGpuAccess.test(metadata?.name ?? "") && status?.phase === "Running",
    )
    .map(
      ({ metadata: { namespace = "", name = "" } = {} }) =>
        `kubectl exec -n ${namespace} ${name} -- nvidia-smi -q\n`,
    );
  files.set(
    "nvidia-smi.txt",
    `No command was run in a pod. Each of these commands runs nvidia-smi in a pod that has cards:\n${execCommands.join("")}`,
  );
  const containerRuns = pods.flatMap(({ metadata, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(
      ({ name, restartCount }) =>
        [false, ...(restartCount > 0 ? [true] : [])].map((previous) => ({
          metadata,
          name,
          previous,
        })),
    ),
  );
  await someAtATime(containerRuns, async ({ metadata, name, previous }) => {
    const { namespace: podNamespace = "", name: pod = "" } = metadata ?? {};
    const description = `log of Pod ${podNamespace}/${pod} ${name}${previous ? " before its last restart" : ""}`;
    if (remainingTime() < 0)
      return void missing.push(`${description}: not read within the time limit`);
    const path = logPath(podNamespace, pod, name, previous, LINES);
    const file = `cluster/${fileName(podNamespace)}/${fileName(pod)}/${fileName(name)}${previous ? ".previous" : ""}.log`;
    const addLog = (text: string): void => void files.set(file, redact(text));
    await runOrReport(description, api.text(description, path).then(addLog));
  });
  return listed.get("nodes") ?? [];
}

/** Data as text, without secrets, and without annotations in which tools keep a copy of the object. */
function asText(data: unknown): string {
  const isNote = (key: string): boolean =>
    key === "managedFields" || key === "kubectl.kubernetes.io/last-applied-configuration";
  const plain = JSON.stringify(data, (key, value: unknown) => (isNote(key) ? undefined : value));
  return `${JSON.stringify(redacted(withoutSecrets(JSON.parse(plain))), undefined, 2)}\n`;
}
