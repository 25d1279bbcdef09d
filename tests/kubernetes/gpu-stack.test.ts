import { afterGate, gpuStack, passed } from "../../components/kubernetes";
import type { Plan } from "../../components/recipe";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { planOf } from "../support/plans";
import { record, type Run } from "../support/recorder";

const types = {
  namespace: "kubernetes:core/v1:Namespace",
  runtimeClass: "kubernetes:node.k8s.io/v1:RuntimeClass",
  daemonSet: "kubernetes:apps/v1:DaemonSet",
  configMap: "kubernetes:core/v1:ConfigMap",
  release: "kubernetes:helm.sh/v3:Release",
  job: "kubernetes:batch/v1:Job",
};

const recordStack = (plan: Plan): Promise<Run> =>
  record(() => void gpuStack("lab", plan, { dependsOn: [] }, {}));

test("with the device plugin, the RuntimeClass comes before the release, and no namespace is created", async () => {
  const run = await recordStack(planOf("aarhus-h100"));
  const release = findResource(run, types.release);
  const runtimeClass = findResource(run, types.runtimeClass);
  expect(runtimeClass.inputs).toMatchObject({ metadata: { name: "nvidia" }, handler: "nvidia" });
  expect(dependencyUrns(run, release)).toContain(runtimeClass.urn);
  expect(findResources(run, types.namespace)).toEqual([]);
  expect(findResources(run, types.daemonSet)).toEqual([]);
});

test("a release that moves to another namespace is deleted before it is installed again", async () => {
  expect(
    findResource(await recordStack(planOf("rtx5070ti")), types.release).deleteBeforeReplace,
  ).toBe(true);
});

test.each([
  ["rtx5070ti", []],
  ["rtx3090", ["values.nfd", "values.gfd"]],
])(
  "%s: a change of these values replaces the release, because a Helm upgrade installs no CRDs: %j",
  async (stack, paths) => {
    expect(findResource(await recordStack(planOf(stack)), types.release).replaceOnChanges).toEqual(
      paths,
    );
  },
);

test("the release has the stack's name, namespace, chart version and timeout", async () => {
  const { inputs } = findResource(
    await recordStack(planOf("rtx5070ti", { timeouts: { release: "3m" } })),
    types.release,
  );
  expect(inputs).toMatchObject({
    name: "gpu-operator",
    namespace: "nvidia-gpu-operator",
    chart: "gpu-operator",
    version: "v25.10.1",
    repositoryOpts: { repo: "https://helm.ngc.nvidia.com/nvidia" },
    timeout: 180,
    cleanupOnFail: true,
    atomic: false,
  });
  expect(inputs.values.driver).toEqual({ enabled: false });
});

test("Helm replaces the device plugin's objects when it upgrades them", async () => {
  expect(
    findResource(await recordStack(planOf("rtx3090")), types.release).inputs["forceUpdate"],
  ).toBe(true);
});

test("the operator's release does not set forceUpdate, so Helm patches its objects", async () => {
  const { inputs } = findResource(await recordStack(planOf("rtx5070ti")), types.release);
  expect(inputs["forceUpdate"]).toBeUndefined();
});

test.each(["rtx5070ti", "aarhus-h100"])(
  "%s: the release does not use the provider's deprecated input allowNullValues",
  async (stack) => {
    expect(findResource(await recordStack(planOf(stack)), types.release).inputs).not.toHaveProperty(
      "allowNullValues",
    );
  },
);

test("at preview a workload knows its runtime class, and depends on the gate, which depends on every smoke test", async () => {
  const { core } = await import("@pulumi/kubernetes");
  const machines = {
    "gpu-1": {
      address: "192.0.2.1",
      role: "worker",
      configuration: "adopted",
      gpus: [{ model: "H100 NVL" }],
    },
    "gpu-2": {
      address: "192.0.2.2",
      role: "worker",
      configuration: "adopted",
      gpus: [{ model: "H100 NVL" }],
    },
  };
  const run = await record(
    () => {
      const gate = gpuStack("lab", planOf("aarhus-h100", { machines }), { dependsOn: [] }, {});
      new core.v1.ConfigMap("user", { data: { runtimeClass: afterGate(gate, "nvidia") } });
    },
    { preview: true },
  );
  const userConfigMap = findResource(run, types.configMap, "user");
  expect(userConfigMap.inputs.data.runtimeClass).toBe("nvidia");
  const tests = findResources(run, types.job);
  expect(tests).toHaveLength(2);
  const gate = findResource(run, "command:local:Command", "-gate");
  expect(userConfigMap.dependencies).toContain(gate.urn);
  expect(gate.dependencies).toEqual(expect.arrayContaining(tests.map((test) => test.urn)));
});

test.each([
  [{}, true],
  [{ "aarhus-h100": "all 2 units of nvidia.com/gpu are in use by default/train (2)" }, false],
])(
  "if the gate's untested machines are %j, the output passed is %s",
  async (untested, expected) => {
    let result: boolean | undefined;
    await record(
      () =>
        passed(gpuStack("lab", planOf("aarhus-h100"), { dependsOn: [] }, {})).apply(
          (value) => void (result = value),
        ),
      {
        outputs: ({ name }) =>
          name === "lab-gate" ? { stdout: JSON.stringify({ passed: [], untested }) } : {},
      },
    );
    expect(result).toBe(expected);
  },
);

test("the gate leaves out the test of a machine that is away, and not every machine counts as tested", async () => {
  const worker = { role: "worker", configuration: "adopted", gpus: [{ model: "H100 NVL" }] };
  const machines = {
    "gpu-1": { ...worker, address: "192.0.2.1" },
    "gpu-2": { ...worker, address: "192.0.2.2", mayBeAway: true },
  };
  const plan = planOf("aarhus-h100", { machines, away: ["gpu-2"] });
  let result: boolean | undefined;
  const run = await record(() =>
    passed(gpuStack("lab", plan, { dependsOn: [] }, {})).apply((value) => void (result = value)),
  );
  const gate = findResource(run, "command:local:Command", "lab-gate");
  const { tests } = JSON.parse(gate.inputs["stdin"] as string) as { tests: { machine: string }[] };
  expect(tests.map(({ machine }) => machine)).toEqual(["gpu-1"]);
  expect(findResources(run, types.job)).toHaveLength(2);
  expect(result).toBe(false);
});
