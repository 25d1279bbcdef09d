import { withAway } from "../../components/lookups/machines-away";
import { clusterArgs, registerCluster, resourceTypes } from "../support/gpu-cluster";
import { findResource, findResources } from "../support/graph";
import { warningsAndNotes } from "../support/warnings-and-notes";

const machine = { address: "10.0.0.1", mayBeAway: true };

/** The machine's node, with the status of its condition Ready; undefined without a status. */
const node = (status?: string) =>
  status === undefined
    ? undefined
    : {
        apiVersion: "v1",
        kind: "Node",
        name: "gpu-1",
        uid: "1",
        holds: [],
        owner: undefined,
        object: { status: { conditions: [{ type: "Ready", status }] } },
      };

const poolsThatMayBeAway = {
  many: {
    names: "gpu-#",
    addresses: ["10.0.0.1"],
    role: "worker",
    configuration: "adopted",
    mayBeAway: true,
  },
};

interface AwayCase {
  machineState: string;
  isAway: boolean;
  /** Changes of the stack. Default: none. */
  change?: object;
  /** The status of the node's condition Ready. Default: there is no node. */
  ready?: string;
  /** Whether the machine answers at its address. Default: it does not. */
  answers?: true;
}

test.each<AwayCase>([
  { machineState: "is off", isAway: true, ready: "Unknown" },
  { machineState: "has left the cluster", isAway: true },
  { machineState: "is ready", isAway: false, ready: "True" },
  {
    machineState: "answers while its node is not ready",
    isAway: false,
    ready: "False",
    answers: true,
  },
  {
    machineState: "is off without mayBeAway",
    isAway: false,
    change: { machines: { "gpu-1": { address: "10.0.0.1" } } },
    ready: "Unknown",
  },
  {
    machineState: "is off in a pool with mayBeAway",
    isAway: true,
    change: { machines: {}, pools: poolsThatMayBeAway },
    ready: "Unknown",
  },
  {
    machineState: "is off in a stack that sets away",
    isAway: false,
    change: { away: [] },
    ready: "Unknown",
  },
  { machineState: "is null", isAway: false, change: { machines: [null] }, ready: "Unknown" },
])(
  "a machine that $machineState counts as away: $isAway",
  async ({ isAway, change, ready, answers = false }) => {
    const stack = { kubeconfig: "a cluster's", machines: { "gpu-1": machine }, ...change };
    const fields = await withAway(
      stack,
      () => ({ read: async () => node(ready) }),
      async () => answers,
      {},
    );
    expect(fields).toEqual(isAway ? { away: ["gpu-1"] } : {});
  },
);

test("no machine counts as away if the cluster does not answer", async () => {
  const read = (): Promise<never> => Promise.reject(new Error("connection refused"));
  const stack = { kubeconfig: "x", machines: { "gpu-1": machine } };
  expect(
    await withAway(
      stack,
      () => ({ read }),
      async () => false,
      {},
    ),
  ).toEqual({});
});

test("resources of a machine that is away do not change, and a note reports that", async () => {
  const stack = clusterArgs("rtx5070ti");
  const [name] = Object.keys(stack.machines!);
  const machines = { ...stack.machines, [name!]: { ...stack.machines![name!]!, mayBeAway: true } };
  const run = await registerCluster({ ...stack, machines, away: [name!] });
  const frozenResources = [
    resourceTypes.configuration,
    resourceTypes.program,
    resourceTypes.node,
    resourceTypes.job,
  ]
    .flatMap((type) => findResources(run, type))
    .filter(({ ignoreChanges }) => ignoreChanges.includes("*"));
  expect(
    frozenResources.map(({ name: resource }) =>
      resource.replace(name!, "M").replace(/-\w{6}$/, ""),
    ),
  ).toEqual(["lab-M-configuration", "lab-M-upgrade", "lab-M-node", "gpu-smoke-test-M"]);
  expect(findResource(run, resourceTypes.program, "lab-preflight").ignoreChanges).toEqual([]);
  const {
    talosconfig: _talosconfig,
    machineSecrets: _machineSecrets,
    kubeconfig: _kubeconfig,
    ...withoutCredentials
  } = stack;
  expect(warningsAndNotes({ ...withoutCredentials, machines, away: [name!] })).toContainEqual(
    expect.stringContaining(`machines: this update skips the machines that are away: ${name}`),
  );
});

test("the smoke test of a machine that is away is not restored", async () => {
  const stack = clusterArgs("rtx5070ti");
  const [name] = Object.keys(stack.machines!);
  const machines = { ...stack.machines, [name!]: { ...stack.machines![name!]!, mayBeAway: true } };
  const run = await registerCluster({ ...stack, machines, away: [name!], reconcileToken: "two" });
  const reconcileRuns = findResources(run, resourceTypes.program).filter(({ name: resource }) =>
    resource.includes("-reconcile-"),
  );
  const reconcileInputs = reconcileRuns.map(({ inputs }) => inputs["stdin"] as string).join("\n");
  expect(reconcileInputs).toContain('"kind":"DaemonSet"');
  expect(reconcileInputs).not.toContain("talos-gpu/tests"); // only a smoke test has this annotation
});
