import { CallError, Failure } from "../../../components/clients/failure";
import { placesOf } from "../../../components/program/preflight/web";
import type { AskedNode, BoundClaim, NodeState } from "../../../components/program/cluster/cluster";
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
export const archive = "gpu-operator-v25.10.1.tgz";
const installer = `factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`;
/** The repository's index. */
export const index = `entries:
  gpu-operator:
  - {version: v25.10.1, urls: [${archive}]}
  - {version: v25.3.4, urls: [x.tgz]}
`;

/** A certificate with this text as its content. */
export const certificate = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
/** The node of the machine, with some fields replaced. */
export const node = (changes: Partial<AskedNode> = {}): AskedNode => ({
  name: "gpu-1",
  bootId: "boot-1",
  addresses: ["10.0.0.1"],
  kubelet: "v1.34.1",
  ...changes,
});
/** A node that belongs to no machine of the stack. */
export const strange = node({ name: "other", bootId: "boot-77", addresses: ["192.0.2.1"] });

/** A previous answer of the preflight in which it remembers the machine, in its written form. */
export const brought = (history: string[]) => ({
  machines: { "gpu-1": { wanted: "1", brought: 0, adopted: "10.0.0.1" } },
  histories: [history],
});

/** What the preflight requests by HTTP: the chart's index and archive, and the machine's image. */
type Asked = "index" | "archive" | "image";
const addresses: Record<Asked, string> = {
  index: `${repository}/index.yaml`,
  archive: `${repository}/${archive}`,
  image: `https://factory.talos.dev/v2/metal-installer/${schematics.gpu}/manifests/v1.12.6`,
};
/** Answers with which all three exist. */
const there: Record<Asked, Answer> = {
  index: { status: 200, body: index },
  archive: { status: 200, body: "" },
  image: { status: 307, body: "" },
};

/** The world that a preflight meets, and its task: servers, nodes, machines and credentials. */
export interface Stand {
  /** Answers that are not the default ones. */
  web: Partial<Record<Asked, Answer>>;
  /** Answers at other addresses, by URL. */
  mirror: Record<string, Answer>;
  /** Nodes of the cluster, or the error of their list. Default: the machine's node alone. */
  nodes: AskedNode[] | CallError;
  /** DaemonSets and Deployments of the cluster. */
  workloads: Workload[];
  /** Errors of the first requests for the workloads, in order. Later requests are answered. */
  silentOffers: string[];
  /** Whether the operator's policy turns its device plugin off. */
  withoutPlugin: boolean;
  /** The RuntimeClass `nvidia`. */
  runtimeClass: Awaited<ReturnType<AskedCluster["runtimeClass"]>>;
  /** What the stack installs. */
  installs: PreflightTask["installs"];
  /** Errors of the first requests for the nodes, in order. Later requests are answered. */
  silentAtFirst: string[];
  /** Text of the certificate authority in the kubeconfig. */
  authority: string;
  owners: Record<string, string>;
  /** Kubernetes release of the owned machines. */
  release: PreflightTask["release"];
  /** Kubernetes releases of the API servers. */
  apiServers: string[];
  requested: Awaited<ReturnType<AskedCluster["requestedApis"]>>;
  /** Objects by the path of their resource. */
  objects: Record<string, string[] | undefined>;
  volumes: PreflightTask["volumes"];
  claims: BoundClaim[];
  /** Pods that use a RuntimeClass whose handler no machine has any more. */
  classed: string[];
  version: string;
  drain: boolean;
  wanted: string;
  /** Machines of the task, each as the fields that differ from those of gpu-1. Default: gpu-1 alone. */
  machines: Partial<PreflightTask["machines"][number]>[];
  omni: PreflightTask["omni"];
  /** State of the machine's node in Kubernetes. */
  state: NodeState | undefined;
  environment: NodeJS.ProcessEnv;
  expired: Failure["findings"];
  /** Fields and answers of the machine. */
  machine: Partial<FakeMachine>;
  /** Wraps each client. */
  through: <Client extends object>(
    client: Client,
    kind: "machine" | "cluster" | "omni",
    clock: FakeClock,
  ) => Client;
}

/**
 * Runs the preflight in a world without faults, apart from the changes.
 *
 * @param previous answer of the previous run, in its written form
 */
export async function ask(changes: Partial<Stand> = {}, previous?: unknown) {
  const { nodes = [node()], authority, owners = {}, environment = {}, drain = true } = changes;
  const through: Stand["through"] = changes.through ?? ((client) => client);
  const { volumes = [], claims = [], machines = [{}], classed } = changes;
  const answers = { ...there, ...changes.web };
  const webAnswers: Record<string, Answer> = {
    [addresses.index]: answers.index,
    [addresses.archive]: answers.archive,
    [addresses.image]: answers.image,
    ...changes.mirror,
  };
  const task = preflightTask.parse({
    machines: machines.map((differs) => ({
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
      wanted: changes.wanted ?? "1",
      ...differs,
    })),
    omni: changes.omni ?? [],
    installers: [installer],
    chart: { name: "gpu-operator", version: changes.version ?? "v25.10.1", repository },
    kubernetes: true,
    ...(changes.release && { release: changes.release }),
    namespaces: ["gpu-operator"],
    volumes,
    mark: { annotation: "talos-gpu/owner", ours: "shop/prod/" },
    ...(changes.installs && { installs: changes.installs }),
    ...(classed && { classGone: { name: "nvidia", but: "gpu-operator" } }),
    drain,
    limit: "3m",
  });
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  Object.assign(machine, changes.machine);
  const asked: string[] = [];
  const silent = [...(changes.silentAtFirst ?? [])];
  const silentOffers = [...(changes.silentOffers ?? [])];
  const web: Web = {
    get: async (url) => {
      asked.push(url);
      return webAnswers[url] ?? { status: 404, body: "nothing here" };
    },
  };
  const cluster: AskedCluster = {
    server: "https://10.0.0.9:6443",
    authority: authority && certificate(authority),
    nodes: async () => {
      const silence = silent.shift();
      if (silence !== undefined) throw new CallError("unreachable", silence);
      if (nodes instanceof CallError) throw nodes;
      return nodes;
    },
    node: async () => changes.state,
    annotationOf: async (namespace) => owners[namespace],
    boundClaims: async () => claims,
    podsOfClass: async () => classed ?? [],
    runtimeClass: async () => changes.runtimeClass,
    apiServers: async () => changes.apiServers ?? [],
    requestedApis: async () => ("requested" in changes ? changes.requested : []),
    objectsAt: async (path) => ({ [path]: [], ...changes.objects })[path],
    gpuOffers: async () => {
      const silence = silentOffers.shift();
      if (silence !== undefined) throw new CallError("unreachable", silence);
      return {
        offers: gpuOffers(changes.workloads ?? []),
        withoutPlugin: changes.withoutPlugin ?? false,
      };
    },
  };
  const lines: string[] = [];
  const around = {
    web,
    places: placesOf(environment),
    talosconfig: "context: home\n",
    cluster: through(cluster, "cluster", clock),
    machineAt: () => through(machine, "machine", clock),
    omni: through(new FakeOmni(), "omni", clock),
    expired: changes.expired ?? [],
    clock,
    report: (line: string) => void lines.push(line),
  };
  const last = previous === undefined ? undefined : preflightResult.parse(previous);
  const outcome = await preflight(task, around, last).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    return error.findings.map(
      ({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`,
    );
  });
  return { outcome, lines, asked, machine };
}
