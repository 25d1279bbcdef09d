import { parse } from "yaml";
import { diagnose, type Observations } from "../../components/diagnosis";
import { planCluster, type Plan } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import { fixture } from "../support/table";
import { ready } from "./as-planned";

/** A table of tests/fixtures/diagnosis. */
export const table = <Rows>(name: string): Rows =>
  parse(fixture(`diagnosis/${name}.yaml`), { merge: true }) as Rows;

/** A row of causes.yaml, which says what each part of it is. */
export interface CauseRow {
  name: string;
  of?: keyof typeof bases;
  seen?: Record<string, unknown>;
  add?: Record<string, unknown>;
  stack?: string | null | (string | null)[];
  told: (string | Record<string, string[]>)[];
  remedy?: string;
}

/** What is seen in a row. */
export function seenIn({ of, seen, add }: CauseRow): Observations {
  const all: Record<string, unknown> = { ...(of && bases[of]), ...(spelledOut(seen) as object) };
  for (const [part, more] of Object.entries((spelledOut(add) as object | undefined) ?? {}))
    all[part] = [...(all[part] as unknown[]), ...more];
  return all;
}

/** The plans that a row's stacks have; undefined is without one. */
export const plansOf = ({ stack }: CauseRow): (Plan | undefined)[] =>
  [stack].flat().map((name) => (name ? planCluster(validStack(name)) : undefined));

/** What is told, in the form of the row's. */
export const toldOf = (row: CauseRow, plan?: Plan): unknown[] =>
  diagnose(seenIn(row), plan).map(({ fix, evidence }, index) => {
    const parts = row.told[index];
    if (typeof parts !== "object") return fix;
    const wanted = Object.values(parts)[0]!;
    return {
      [fix]: evidence.map((line, at) =>
        wanted[at] !== undefined && line.includes(wanted[at]) ? wanted[at] : line,
      ),
    };
  });

type Pod = NonNullable<Observations["pods"]>[number];
type Node = NonNullable<Observations["nodes"]>[number];

const operator = "nvidia-gpu-operator";

/** What causes.yaml writes short: `{ failing: [pod, node, words] }` and so on. */
const short: Record<string, (given: any) => object> = {
  /** A pod that crashes again and again, on a node or on none. */
  failing: ([name, node, lastMessage]: [string, string | null, string]): Pod => ({
    namespace: "ollama",
    name,
    phase: "Running",
    ...(node === null ? {} : { node }),
    containers: [
      { name: "main", state: "waiting", ready: false, reason: "CrashLoopBackOff", lastMessage },
    ],
  }),
  /** Pods of the operator's, each of which waits in one of its init containers. */
  waiting: (given: Record<string, string>): Pod =>
    waiting(...(Object.entries(given)[0] as [string, string])),
  /** The node of the operator's stack, with further labels. */
  node: (labels: Record<string, string>): Node => ({
    name: "k8s-worker4",
    osImage: "Talos (v1.12.6)",
    ready: true,
    allocatable: {},
    labels: {
      "extensions.talos.dev/nvidia-open-gpu-kernel-modules-production": "570.211.01-v1.12.6",
      "extensions.talos.dev/nvidia-container-toolkit-production": "570.211.01-v1.18.2",
      "nvidia.com/gpu.present": "true",
      "nvidia.com/gpu.deploy.operator-validator": "false",
      ...labels,
    },
  }),
  /** The healthy machine, by another name. */
  machine: (name: string) => ({ ...healthyMachine, name }),
};

function spelledOut(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(spelledOut);
  if (typeof value !== "object" || value === null) return value;
  const [key] = Object.keys(value);
  if (key === undefined || !Object.hasOwn(short, key)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, spelledOut(part)]),
    );
  }
  const { [key]: given, ...more } = value as Record<string, unknown>;
  return { ...short[key]!(given), ...more };
}

const waiting = (name: string, container: string): Pod => ({
  namespace: operator,
  name,
  phase: "Pending",
  node: "k8s-worker4",
  initContainers: [{ name: container, state: "running", ready: false }],
  containers: [{ name: "main", state: "waiting", ready: false, reason: "PodInitializing" }],
});

const [{ schematicId, installerImage }] = planCluster(validStack("rtx5070ti")).machines as [
  Plan["machines"][number],
];
const healthyMachine = {
  name: "k8s-worker4",
  talosVersion: "v1.12.6",
  schematicId,
  installImage: installerImage,
  modules: ["nvidia", "nvidia_uvm"],
  driverVersion: "570.211.01",
  services: { "ext-nvidia-persistenced": "Running" },
};

const bases = {
  /** The operator's stack when all is well. */
  healthy: {
    nodes: [short["node"]!({}) as Node],
    pods: [
      {
        namespace: operator,
        name: "gpu-operator-x",
        phase: "Running",
        node: "k8s-worker4",
        containers: [ready],
      },
    ],
    daemonSets: [
      { namespace: operator, name: "nvidia-validation-markers", desired: 1, ready: 1 },
      // The operator's own, which want no pods on Talos, and that is right.
      {
        namespace: operator,
        name: "nvidia-mig-manager",
        desired: 0,
        ready: 0,
        nodeSelector: { "nvidia.com/gpu.deploy.mig-manager": "true" },
      },
    ],
    runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
    events: [],
    machines: [healthyMachine],
  },
  /** The same while the plugin waits: it looks alike with and without a driver. */
  stuck: {
    pods: [
      waiting("nvidia-device-plugin-daemonset-x", "toolkit-validation"),
      waiting("gpu-feature-discovery-x", "toolkit-validation"),
      waiting("nvidia-operator-validator-x", "driver-validation"),
    ],
    daemonSets: [
      { namespace: operator, name: "nvidia-device-plugin-daemonset", desired: 1, ready: 0 },
    ],
    nodes: [
      {
        name: "k8s-worker4",
        labels: { "nvidia.com/gpu.present": "true" },
        allocatable: {},
        ready: true,
      },
    ],
    machines: [
      { ...healthyMachine, modules: ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"] },
    ],
    runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
  },
} satisfies Record<string, Observations>;

/** A row of differences.yaml, which says what each part of it is. */
export interface UnlikeRow {
  name: string;
  set?: unknown[][];
  take?: (string | number)[][];
  unlike: string[];
  told?: string[];
}

/** What is seen once a row's change is made to it. */
export function changed<Seen>(
  seen: Seen,
  { set = [], take = [] }: Pick<UnlikeRow, "set" | "take">,
): Seen {
  const found = JSON.parse(JSON.stringify(seen)) as Seen;
  const place = (path: readonly unknown[]): [any, string | number] => {
    let at: any = found;
    const keyIn = (key: unknown): any => {
      const named = Array.isArray(at) ? at.findIndex(({ name }) => name === key) : -1;
      return named < 0 ? key : named;
    };
    for (const key of path.slice(0, -1)) at = at[keyIn(key)];
    return [at, keyIn(path.at(-1))];
  };
  for (const path of set) {
    const [at, key] = place(path.slice(0, -1));
    at[key] = path.at(-1);
  }
  for (const path of take) {
    const [at, key] = place(path);
    if (!(key in at)) throw new Error(`there is no ${path.join(".")}`);
    if (Array.isArray(at)) at.splice(key as number, 1);
    else delete at[key];
  }
  return found;
}
