import { CallError, Failure } from "../../../components/clients/failure";
import { placesOf } from "../../../components/program/preflight/web";
import type {
  AskedNode,
  BoundClaim,
  NodeState,
  Storage,
} from "../../../components/program/cluster/cluster";
import { type AskedCluster, preflight } from "../../../components/program/preflight/preflight";
import {
  preflightResult,
  preflightTask,
  type PreflightTask,
} from "../../../components/program/preflight/task";
import type { Answer, Web } from "../../../components/program/preflight/web";
import { gpuOffers, type Workload } from "../../../components/clients/kubernetes/gpu-offers";
import { FakeOmni } from "../omni/fake-omni";
import { FakeClock, FakeMachine, schematics } from "../fakes";

/** The chart's repository. */
export const repository = "https://charts.example/nvidia";
/** Name of the chart's archive, which lies next to the index. */
export const chartArchive = "gpu-operator-v25.10.1.tgz";
const installer = `factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`;
/** The repository's index. */
export const repositoryIndex = `entries:
  gpu-operator:
  - {version: v25.10.1, urls: [${chartArchive}]}
  - {version: v25.3.4, urls: [x.tgz]}
`;

/** A certificate with this text as its content. */
export const certificate = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
/** The node of the machine, with some fields replaced. */
export const node = (fields: Partial<AskedNode> = {}): AskedNode => ({
  name: "gpu-1",
  bootId: "boot-1",
  addresses: ["10.0.0.1"],
  kubelet: "v1.34.1",
  silent: false,
  ...fields,
});
/** A node that belongs to no machine of the stack. */
export const foreignNode = node({ name: "other", bootId: "boot-77", addresses: ["192.0.2.1"] });

/** Result of an earlier preflight that remembers the machine with these schematics, as it was written. */
export const earlierResult = (schematicIds: string[]) => ({
  machines: { "gpu-1": { hash: "1", history: 0, adopted: "10.0.0.1" } },
  histories: [schematicIds],
});

/** The preflight's HTTP requests: for the chart's index and archive, and for the machine's image. */
type WebRequest = "index" | "archive" | "image";
const urls: Record<WebRequest, string> = {
  index: `${repository}/index.yaml`,
  archive: `${repository}/${chartArchive}`,
  image: `https://factory.talos.dev/v2/metal-installer/${schematics.gpu}/manifests/v1.12.6`,
};
/** Answers of servers that have all three. */
const successfulAnswers: Record<WebRequest, Answer> = {
  index: { status: 200, body: repositoryIndex },
  archive: { status: 200, body: "" },
  image: { status: 307, body: "" },
};

/** Storage of a cluster with a default StorageClass. */
const storageWithDefault: Storage = {
  classes: [{ name: "local-path", isDefault: true }],
  classesOfFreeVolumes: [],
};

/** Everything that a preflight gets: its task, and the answers of servers, cluster, machines and Omni. */
export interface PreflightSetup {
  /** Answers to HTTP requests that are not the default ones. */
  web: Partial<Record<WebRequest, Answer>>;
  /** Answers at other addresses, by URL. */
  webByUrl: Record<string, Answer>;
  /** Nodes of the cluster, or the error of their list. Default: the machine's node alone. */
  nodes: AskedNode[] | CallError;
  /** DaemonSets and Deployments of the cluster. */
  workloads: Workload[];
  /** Errors of the first requests for the workloads, in order. Later requests are answered. */
  workloadErrors: string[];
  /** Whether the operator's policy turns its device plugin off. */
  withoutPlugin: boolean;
  /** The RuntimeClass `nvidia`. */
  runtimeClass: Awaited<ReturnType<AskedCluster["runtimeClass"]>>;
  /** What the stack installs. */
  installs: PreflightTask["installs"];
  /** Errors of the first requests for the nodes, in order. Later requests are answered. */
  nodeErrors: string[];
  /** Text of the certificate authority in the kubeconfig. */
  authority: string;
  /** Annotation with the owner, by namespace. */
  namespaceOwners: Record<string, string>;
  /** Kubernetes release of the owned machines. */
  kubernetesRelease: PreflightTask["release"];
  /** Kubernetes releases of the API servers. */
  apiServers: string[];
  /** Removed APIs that clients requested; undefined if the metrics may not be read. */
  requestedApis: Awaited<ReturnType<AskedCluster["requestedApis"]>>;
  /** Objects by the path of their resource. */
  objectsByPath: Record<string, string[] | undefined>;
  volumes: PreflightTask["volumes"];
  claims: BoundClaim[];
  /** What can back new claims; undefined if the credentials may not list it. Default: a default StorageClass. */
  storage: Storage | undefined;
  /** Pods that use a RuntimeClass whose handler no machine has any more. */
  podsOfRemovedClass: string[];
  chartVersion: string;
  drain: boolean;
  /** Hash of everything that may reboot the machine. */
  machineHash: string;
  /** Machines of the task, each as the fields that differ from those of gpu-1. Default: gpu-1 alone. */
  machines: Partial<PreflightTask["machines"][number]>[];
  omni: PreflightTask["omni"];
  /** Namespaces and Secrets that the stack uses and does not make. */
  needs: PreflightTask["needs"];
  /** Names of needed objects that do not exist. */
  missingObjects: string[];
  /** State of the machine's node in Kubernetes. */
  nodeState: NodeState | undefined;
  environment: NodeJS.ProcessEnv;
  expiredCredentials: Failure["findings"];
  /** Fields and answers of the machine. */
  machine: Partial<FakeMachine>;
  /** Wraps each client, for example to let a call fail. */
  wrapClient: <Client extends object>(
    client: Client,
    kind: "machine" | "cluster" | "omni",
    clock: FakeClock,
  ) => Client;
}

/**
 * Runs the preflight in a setup without faults, apart from the changes.
 *
 * @param previous result of the previous run, as it was written
 */
export async function runPreflight(changes: Partial<PreflightSetup> = {}, previous?: unknown) {
  const {
    nodes = [node()],
    authority,
    namespaceOwners = {},
    environment = {},
    drain = true,
  } = changes;
  const wrapClient: PreflightSetup["wrapClient"] = changes.wrapClient ?? ((client) => client);
  const { volumes = [], claims = [], machines = [{}], podsOfRemovedClass } = changes;
  const answers = { ...successfulAnswers, ...changes.web };
  const answersByUrl: Record<string, Answer> = {
    [urls.index]: answers.index,
    [urls.archive]: answers.archive,
    [urls.image]: answers.image,
    ...changes.webByUrl,
  };
  const task = preflightTask.parse({
    machines: machines.map((machineFields) => ({
      machine: "gpu-1",
      address: "10.0.0.1",
      configuration: "adopted",
      gpu: true,
      talosVersion: "v1.12.6",
      schematicId: schematics.gpu,
      installerImage: installer,
      image: {
        extensions: ["siderolabs/nvidia-open-gpu-kernel-modules-production"],
        kernelArgs: [],
      },
      settingsHash: changes.machineHash ?? "1",
      ...machineFields,
    })),
    omni: changes.omni ?? [],
    installers: [installer],
    chart: { name: "gpu-operator", version: changes.chartVersion ?? "v25.10.1", repository },
    kubernetes: true,
    release: changes.kubernetesRelease,
    namespaces: ["gpu-operator"],
    volumes,
    needs: changes.needs,
    mark: { annotation: "talos-gpu/owner", valuePrefix: "shop/prod/" },
    installs: changes.installs,
    removedRuntimeClass: podsOfRemovedClass && { name: "nvidia", exceptNamespace: "gpu-operator" },
    drain,
    limit: "3m",
  });
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  Object.assign(machine, changes.machine);
  const requestedUrls: string[] = [];
  const remainingNodeErrors = [...(changes.nodeErrors ?? [])];
  const remainingWorkloadErrors = [...(changes.workloadErrors ?? [])];
  const web: Web = {
    get: async (url) => {
      requestedUrls.push(url);
      return answersByUrl[url] ?? { status: 404, body: "nothing here" };
    },
  };
  const cluster: AskedCluster = {
    server: "https://10.0.0.9:6443",
    authority: authority && certificate(authority),
    nodes: async () => {
      const message = remainingNodeErrors.shift();
      if (message !== undefined) throw new CallError("unreachable", message);
      if (nodes instanceof CallError) throw nodes;
      return nodes;
    },
    node: async () => changes.nodeState,
    exists: async ({ name }) => changes.missingObjects?.includes(name) !== true,
    annotationOf: async (namespace) => namespaceOwners[namespace],
    boundClaims: async () => claims,
    storage: async () => ("storage" in changes ? changes.storage : storageWithDefault),
    podsOfClass: async () => podsOfRemovedClass ?? [],
    runtimeClass: async () => changes.runtimeClass,
    apiServers: async () => changes.apiServers ?? [],
    requestedApis: async () => ("requestedApis" in changes ? changes.requestedApis : []),
    objectsAt: async (path) => ({ [path]: [], ...changes.objectsByPath })[path],
    gpuOffers: async () => {
      const message = remainingWorkloadErrors.shift();
      if (message !== undefined) throw new CallError("unreachable", message);
      return {
        offers: gpuOffers(changes.workloads ?? []),
        withoutPlugin: changes.withoutPlugin ?? false,
      };
    },
  };
  const lines: string[] = [];
  const surroundings = {
    web,
    places: placesOf(environment),
    talosconfig: "context: home\n",
    cluster: wrapClient(cluster, "cluster", clock),
    machineAt: () => wrapClient(machine, "machine", clock),
    omni: wrapClient(new FakeOmni(), "omni", clock),
    expired: changes.expiredCredentials ?? [],
    clock,
    report: (line: string) => void lines.push(line),
  };
  const previousResult = previous === undefined ? undefined : preflightResult.parse(previous);
  const outcome = await preflight(task, surroundings, previousResult).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    return error.findings.map(
      ({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`,
    );
  });
  return { outcome, lines, requestedUrls, machine };
}
