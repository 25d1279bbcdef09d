import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { leftovers } from "../run/leftovers";
import { processesOf } from "../run/take-snapshot";
import { valuesOf, type MachineSnapshot, type LabSnapshot } from "../run/snapshot";
import type { Plan } from "../../components/recipe";
import { planOf } from "../../tests/support/plans";

/** Values of an adopted machine's configuration, as its owner wrote it. */
const ownersValues = valuesOf(
  "machine: {sysctls: {vm.max_map_count: '262144'}, install: {image: old}}",
);
/** The same configuration with the stack's patches. */
const patchedValues = valuesOf(
  "machine: {sysctls: {vm.max_map_count: '262144'}, install: {image: new}, kernel: {modules: [x]}}",
);
const plainMachine = { image: "v1.11.1 plain", configuration: ownersValues };
const gpuMachine = { image: "v1.11.1 gpu", configuration: ownersValues };

const namespaceLine = "Namespace default";
const labelLine = "node NODE: label kubernetes.io/os=linux";
/** Lines of every state, unless a test leaves one out. `NODE` stands for the name of the machine's node. */
const usualLines = [namespaceLine, labelLine, "process 1 machines"];

/** Differences of a state from the usual one: further lines, missing lines, and the machine. */
interface Differences {
  added?: string[];
  missing?: string[];
  machine?: MachineSnapshot;
}

/** The state of a lab with one machine. */
const stateOf = (
  name: string,
  { added = [], missing = [], machine = gpuMachine }: Differences = {},
): LabSnapshot => ({
  lines: [...usualLines.filter((line) => !missing.includes(line)), ...added].map((line) =>
    line.replaceAll("NODE:", `${name}:`),
  ),
  machines: { [name]: machine },
});

/** Leftovers of a stack with one machine, from the states before the first update and after the destroy. */
function leftoversOf(stack: string, name: string, after: Differences, before: Differences = {}) {
  const stateAfterUpdate = stateOf(name, {
    machine: { ...gpuMachine, configuration: patchedValues },
  });
  return leftovers(
    planOf(stack),
    stateOf(name, { machine: plainMachine, ...before }),
    stateAfterUpdate,
    stateOf(name, after),
  );
}

/** A stack with one adopted machine and the device plugin. Its name is also the machine's. */
const adopted = "velaryon";
/** A stack that owns its machines: it writes their whole configuration. */
const owned = "rtx5070ti";

test("a clean destroy leaves nothing but the image, which is not downgraded", () => {
  expect(leftoversOf(adopted, adopted, {})).toEqual({
    faults: [],
    allowed: ["machine velaryon: image v1.11.1 gpu: machines are neither wiped nor downgraded"],
  });
});

const notReady = "node NODE: taint node.kubernetes.io/not-ready:NoExecute";

const configurationWithoutImage = ownersValues.filter(
  (value) => !value.startsWith("machine.install.image"),
);

test.each<{ title: string; after: Differences; expected: string[] }>([
  {
    title: "a new Pod is reported",
    after: { added: ["Pod nvidia/test"] },
    expected: ["Pod nvidia/test"],
  },
  {
    title: "a new StorageClass is reported",
    after: { added: ["StorageClass fast"] },
    expected: ["StorageClass fast"],
  },
  {
    // They may appear after the state before the update was read.
    title: "new objects of the lab itself are not reported",
    after: { added: ["StorageClass lab", "Pod kube-system/lab-network-velaryon"] },
    expected: [],
  },
  {
    title: "a namespace that was there before is reported as gone",
    after: { missing: [namespaceLine] },
    expected: ["missing, and not the stack's: Namespace default"],
  },
  {
    title: "a new label of the node is reported",
    after: { added: ["node NODE: label role=gpu"] },
    expected: ["node velaryon: label role=gpu"],
  },
  {
    // With the device plugin the stack sets this label. In operator mode the operator sets it.
    title: "the label nvidia.com/gpu.present is reported, because the stack set it",
    after: { added: ["node NODE: label nvidia.com/gpu.present=true"] },
    expected: ["node velaryon: label nvidia.com/gpu.present=true"],
  },
  {
    title: "a new taint of the node is reported",
    after: { added: ["node NODE: taint gpu=true:NoSchedule"] },
    expected: ["node velaryon: taint gpu=true:NoSchedule"],
  },
  {
    title: "the taint of a node that is not ready any more is reported",
    after: { added: [notReady] },
    expected: [notReady.replace("NODE:", "velaryon:")],
  },
  {
    title: "a label that the node had before is reported as gone",
    after: { missing: [labelLine] },
    expected: ["missing, and not the stack's: node velaryon: label kubernetes.io/os=linux"],
  },
  {
    title: "an older image on the machine is reported, because no machine is downgraded",
    after: { machine: plainMachine },
    expected: ["machine velaryon: it runs v1.11.1 plain, and should run v1.11.1 gpu"],
  },
  {
    title: "a setting of the owner that the configuration lacks is reported",
    after: { machine: { ...gpuMachine, configuration: configurationWithoutImage } },
    expected: ["machine velaryon: configuration, gone: machine.install.image"],
  },
  {
    title: "a process that still runs is reported",
    after: { added: ["process 7 sleep 30"] },
    expected: ["process 7 sleep 30"],
  },
])("after a destroy, $title", ({ after, expected }) => {
  expect(leftoversOf(adopted, adopted, after).faults).toEqual(expected);
});

test("a node that was not ready before the update, but is ready now, is not reported", () => {
  expect(leftoversOf(adopted, adopted, {}, { added: [notReady] }).faults).toEqual([]);
});

test("a call of the lab that was under way before the first update is not missed", () => {
  const call = "process 7 /tools/talosctl get extensions -o json --nodes 10.4.0.30";
  expect(leftoversOf("velaryon", "velaryon", {}, { added: [call] }).faults).toEqual([]);
});

test("Kubernetes' own new objects may stay in a bootstrapped cluster, but not in an existing one", () => {
  const kubernetesOwnObjects = [
    "ClusterRole system:node",
    "Pod kube-system/kube-scheduler-control",
    "Secret kube-system/bootstrap-token-a",
  ];
  const otherObjects = ["DaemonSet kube-system/nvidia", "Namespace gpu-operator"];
  const after = {
    added: [...kubernetesOwnObjects, ...otherObjects],
    machine: { image: "v1.11.1 gpu", configuration: patchedValues },
  };
  expect(leftoversOf("modern", "gpu", after, { missing: [namespaceLine] }).faults).toEqual(
    otherObjects,
  );
  expect(leftoversOf("modern", "gpu", after).faults.toSorted()).toEqual(
    [...kubernetesOwnObjects, ...otherObjects].toSorted(),
  );
});

test("a leftover patch on an adopted machine is reported by its paths, without values", () => {
  const result = leftoversOf(adopted, adopted, {
    machine: { ...gpuMachine, configuration: patchedValues },
  });
  expect(result.faults).toEqual([
    "machine velaryon: configuration, changed: machine.install.image",
  ]);
  expect(result.allowed).toContain(
    "machine velaryon: configuration, added: machine.kernel.modules[]: the image stays, and does not boot without this",
  );
});

test("an owned machine may keep its configuration, but a change by the destroy is reported", () => {
  const name = "k8s-worker4";
  const result = leftoversOf(owned, name, {
    machine: { ...gpuMachine, configuration: patchedValues },
  });
  expect(result.faults).toEqual([]);
  expect(result.allowed).toContainEqual(
    expect.stringContaining(`machine ${name}: configuration: `),
  );
  expect(leftoversOf(owned, name, {}).faults).toContain(
    `machine ${name}: configuration, gone: machine.kernel.modules[]`,
  );
});

test("a machine of Omni is reported if it does not have its former image, or if Omni keeps a patch", () => {
  expect(leftoversOf("frank", "gpu-1", { machine: plainMachine })).toEqual({
    faults: [],
    allowed: [],
  });
  const patch = "Omni has ConfigPatches x";
  expect(leftoversOf("frank", "gpu-1", { machine: plainMachine, added: [patch] }).faults).toEqual([
    patch,
  ]);
  expect(leftoversOf("frank", "gpu-1", {}).faults).toEqual([
    "machine gpu-1: it runs v1.11.1 gpu, and should run v1.11.1 plain",
  ]);
});

test("leftovers of Helm and of the GPU Operator are listed with the reason", () => {
  const definition = "CustomResourceDefinition clusterpolicies.nvidia.com";
  const labels = ["present=true", "deploy.operator-validator=false"].map(
    (label) => `node NODE: label nvidia.com/gpu.${label}`,
  );
  const result = leftoversOf("frank", "gpu-1", {
    machine: plainMachine,
    added: [definition, ...labels],
  });
  // In operator mode the stack sets the validator's label.
  expect(result.faults).toEqual([
    "node gpu-1: label nvidia.com/gpu.deploy.operator-validator=false",
  ]);
  expect(result.allowed.map((line) => line.split(": ").slice(0, -1).join(": "))).toEqual([
    definition,
    "node gpu-1: label nvidia.com/gpu.present=true",
  ]);
});

test("the operator may delete an existing RuntimeClass, but the device plugin may not", () => {
  const runtimeClass = "RuntimeClass nvidia";
  const before = { added: [runtimeClass] };
  const result = leftoversOf("frank", "gpu-1", { machine: plainMachine }, before);
  expect(result.faults).toEqual([]);
  expect(result.allowed).toEqual([
    `missing, and not the stack's: ${runtimeClass}: the operator took it over, and deleted it with itself`,
  ]);
  expect(leftoversOf(adopted, adopted, {}, before).faults).toEqual([
    `missing, and not the stack's: ${runtimeClass}`,
  ]);
});

describe("a machine that joined the cluster during the run", () => {
  const joinedNode = (name: string): string[] => [`Node ${name}`, `Lease kube-node-lease/${name}`];

  test("may stay a node of a bootstrapped cluster, whose other new objects are reported", () => {
    const daemon = "DaemonSet gpu-operator/nvidia-device-plugin-daemonset";
    const { faults } = leftoversOf(
      "modern",
      "gpu",
      { added: [...joinedNode("gpu"), daemon] },
      { missing: [labelLine] },
    );
    expect(faults.filter((line) => !line.startsWith("machine"))).toEqual([daemon]);
  });

  test("may stay a node of Omni, but must lose the stack's patches, and have no new setting", () => {
    const beforeJoining = {
      missing: [labelLine],
      machine: { image: plainMachine.image, configuration: undefined },
    };
    const faultsWith = (configuration: string[]) =>
      leftoversOf(
        "frank",
        "gpu-1",
        { added: joinedNode("gpu-1"), machine: { ...plainMachine, configuration } },
        beforeJoining,
      ).faults;
    expect(faultsWith(ownersValues)).toEqual([]);
    expect(faultsWith(patchedValues)).toEqual([
      "machine gpu-1: configuration, nothing of the stack was removed",
    ]);
    expect(faultsWith([...ownersValues, "machine.env.A: 1"])).toEqual([
      "machine gpu-1: configuration, added: machine.env.A",
    ]);
  });
});

// A label that the operator may leave must not hide one that the stack left.
describe("a label that both the operator and the stack set", () => {
  const reportedLabels = (plan: Plan, name: string, earlier: Plan[] = []): string[] => {
    const [key, value] = Object.entries(
      plan.machines.find((machine) => machine.name === name)!.nodeLabels,
    ).find(([label]) => /^nvidia\.com\/gpu\.(present|deploy\.operator-validator)$/.test(label))!;
    const after = stateOf(name, { added: [`node NODE: label ${key}=${value}`] });
    const { faults } = leftovers(plan, stateOf(name), stateOf(name), after, earlier);
    return faults.filter((line) => line.startsWith("node "));
  };

  test.each([
    [0, "rtx5070ti"],
    [1, "aarhus-h100"],
  ])("is reported %d times after an edit from %s to the device plugin", (count, earlier) => {
    const plan = planOf("aarhus-h100");
    expect(reportedLabels(plan, plan.machines[0]!.name, [planOf(earlier)])).toHaveLength(count);
  });

  // The operator still runs when a machine behind `upgrade.first` loses the stack's label, and sets the label itself.
  test.each<[string[], number]>([
    [[], 1],
    [["other"], 1],
    [["gpu"], 0],
  ])("with upgrade.first: %j, is reported on the other machine %d times", (first, count) => {
    const { spec } = planOf("modern");
    const gpuMachineSpec = Object.values(spec.machines).find(({ gpus }) => gpus)!;
    const machines = { ...spec.machines, other: { ...gpuMachineSpec, address: "192.0.2.99" } };
    expect(
      reportedLabels(planOf("modern", { machines, upgrade: { first } }), "other"),
    ).toHaveLength(count);
  });
});

test("a process of another lab, or one that has just ended, is not reported", () => {
  const proc = fs.mkdtempSync(path.join(os.tmpdir(), "proc-"));
  const processes = {
    1: ["machines", "serve", ""],
    2: [""],
    3: undefined,
    4: ["esbuild", "--service=0"],
  };
  for (const [pid, command] of Object.entries({ ...processes, 5: ["other", ""] })) {
    fs.mkdirSync(path.join(proc, pid));
    const environment = ["HOME=/", `TALOS_GPU_LAB=${pid === "5" ? "/other" : "/lab"}`, ""];
    fs.writeFileSync(path.join(proc, pid, "environ"), environment.join("\0"));
    if (command !== undefined)
      fs.writeFileSync(path.join(proc, pid, "cmdline"), command.join("\0"));
  }
  expect(processesOf("/lab", proc)).toEqual(["process 1 machines serve"]);
  fs.rmSync(proc, { recursive: true });
});
