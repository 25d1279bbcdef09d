import { withAway } from "../../components/lookups/machines-away";
import { clusterArgs, registerCluster, resourceTypes } from "../support/gpu-cluster";
import { findResource, findResources } from "../support/graph";
import { warningsAndNotes } from "../support/warnings-and-notes";

const machine = { address: "10.0.0.1", mayBeAway: true };
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

test.each<[string, boolean, object, string | undefined, boolean]>([
  ["is off", true, {}, "Unknown", false],
  ["has left the cluster", true, {}, undefined, false],
  ["is ready", false, {}, "True", false],
  ["answers while its node is not ready", false, {}, "False", true],
  [
    "is off without mayBeAway",
    false,
    { machines: { "gpu-1": { address: "10.0.0.1" } } },
    "Unknown",
    false,
  ],
  ["is off in a pool with mayBeAway", true, { machines: {}, pools: pool() }, "Unknown", false],
  ["is off in a stack that sets away", false, { away: [] }, "Unknown", false],
  ["is null", false, { machines: [null] }, "Unknown", false],
])("a machine that %s counts as away: %s", async (_, isAway, stack, status, answers) => {
  const said = { kubeconfig: "a cluster's", machines: { "gpu-1": machine }, ...stack };
  const found = withAway(
    said,
    () => ({ read: async () => node(status) }),
    async () => answers,
    {},
  );
  expect(await found).toEqual(isAway ? { away: ["gpu-1"] } : {});
});

test("no machine counts as away if the cluster does not answer", async () => {
  const read = (): Promise<never> => Promise.reject(new Error("connection refused"));
  const said = { kubeconfig: "x", machines: { "gpu-1": machine } };
  expect(
    await withAway(
      said,
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
  const kinds = [
    resourceTypes.configuration,
    resourceTypes.program,
    resourceTypes.node,
    resourceTypes.job,
  ];
  const left = kinds
    .flatMap((type) => findResources(run, type))
    .filter(({ ignoreChanges }) => ignoreChanges.includes("*"));
  expect(
    left.map(({ name: resource }) => resource.replace(name!, "M").replace(/-\w{6}$/, "")),
  ).toEqual(["lab-M-configuration", "lab-M-upgrade", "lab-M-node", "gpu-smoke-test-M"]);
  expect(findResource(run, resourceTypes.program, "lab-preflight").ignoreChanges).toEqual([]);
  const { machines: _, talosconfig: __, machineSecrets: ___, kubeconfig: ____, ...rest } = stack;
  expect(warningsAndNotes({ ...rest, machines, away: [name!] })).toContainEqual(
    expect.stringContaining(`machines: this update skips the machines that are away: ${name}`),
  );
});

function pool(): object {
  return {
    many: {
      names: "gpu-#",
      addresses: ["10.0.0.1"],
      role: "worker",
      configuration: "adopted",
      mayBeAway: true,
    },
  };
}

test("the smoke test of a machine that is away is not restored", async () => {
  const stack = clusterArgs("rtx5070ti");
  const [name] = Object.keys(stack.machines!);
  const machines = { ...stack.machines, [name!]: { ...stack.machines![name!]!, mayBeAway: true } };
  const run = await registerCluster({ ...stack, machines, away: [name!], reconcileToken: "two" });
  const looks = findResources(run, resourceTypes.program).filter(({ name: resource }) =>
    resource.includes("-reconcile-"),
  );
  const looked = looks.map(({ inputs }) => inputs["stdin"] as string).join("\n");
  expect(looked).toContain('"kind":"DaemonSet"');
  expect(looked).not.toContain("talos-gpu/tests"); // only a smoke test has this annotation
});
