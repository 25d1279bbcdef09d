import { leftovers } from "../run/leftovers";
import { valuesOf, type Standing } from "../run/standing";
import type { Plan } from "../../components/recipe";
import { planOf } from "../../tests/support/plans";

const configuration = valuesOf("machine: {sysctls: {vm.max_map_count: '262144'}, install: {image: old}}");
const ours = valuesOf(
  "machine: {sysctls: {vm.max_map_count: '262144'}, install: {image: new}, kernel: {modules: [x]}}",
);

function standing(machine: string, more: Partial<Standing> = {}): Standing {
  return {
    objects: ["Namespace default"],
    nodes: { [machine]: ["label kubernetes.io/os=linux"] },
    machines: { [machine]: { image: "v1.11.1 plain", configuration } },
    omni: [],
    processes: { 1: "machines" },
    ...more,
  };
}

/** What a destroy leaves of a stack of one machine, given what differs from before, and what was before. */
function left(stack: string, machine: string, after: Partial<Standing>, before: Partial<Standing> = {}) {
  const up = standing(machine, { machines: { [machine]: { image: "v1.11.1 gpu", configuration: ours } } });
  return leftovers(planOf(stack), standing(machine, before), up, {
    ...standing(machine, { machines: { [machine]: { image: "v1.11.1 gpu", configuration } } }),
    ...after,
  });
}

test("a clean destroy leaves nothing but the image, which is not downgraded", () => {
  expect(left("velaryon", "velaryon", {})).toEqual({
    left: [],
    stays: ["machine velaryon: image v1.11.1 gpu: machines are neither wiped nor downgraded"],
  });
});

test("the lab's storage class is no leftover, however late it came; another one is", () => {
  const objects = (name: string) => ({ objects: ["Namespace default", `StorageClass ${name}`] });
  expect(left("velaryon", "velaryon", objects("lab")).left).toEqual([]);
  expect(left("velaryon", "velaryon", objects("fast")).left).toEqual(["StorageClass fast"]);
});

test("a node that was late with its lease before, and is ready again, is no leftover; one that is late afterwards is", () => {
  const late = { velaryon: ["label kubernetes.io/os=linux", "taint node.kubernetes.io/not-ready:NoExecute"] };
  expect(left("velaryon", "velaryon", {}, { nodes: late }).left).toEqual([]);
  expect(left("velaryon", "velaryon", { nodes: late }).left).toEqual([
    "node velaryon: taint node.kubernetes.io/not-ready:NoExecute",
  ]);
});

test.each([
  [{ objects: ["Namespace default", "Pod nvidia/test"] }, "Pod nvidia/test"],
  [{ objects: [] }, "gone, and not ours: Namespace default"],
  [{ nodes: { velaryon: ["label kubernetes.io/os=linux", "label role=gpu"] } }, "node velaryon: label role=gpu"],
  // The stack sets this one itself beside the device plugin; in operator mode it would be the operator's.
  [
    { nodes: { velaryon: ["label kubernetes.io/os=linux", "label nvidia.com/gpu.present=true"] } },
    "node velaryon: label nvidia.com/gpu.present=true",
  ],
  [
    { nodes: { velaryon: ["label kubernetes.io/os=linux", "taint gpu=true:NoSchedule"] } },
    "node velaryon: taint gpu=true:NoSchedule",
  ],
  [{ nodes: { velaryon: [] } }, "node velaryon: gone, and not ours: label kubernetes.io/os=linux"],
  [
    { machines: { velaryon: { image: "v1.11.1 plain", configuration } } },
    "machine velaryon: it runs v1.11.1 plain, and should run v1.11.1 gpu",
  ],
  [
    { machines: { velaryon: { image: "v1.11.1 gpu", configuration: configuration.slice(1) } } },
    "machine velaryon: configuration, gone: machine.install.image",
  ],
  [{ processes: { 1: "machines", 7: "sleep 30" } }, "process 7 sleep 30"],
] as [Partial<Standing>, string][])("%j is found: %s", (after, line) => {
  expect(left("velaryon", "velaryon", after).left).toEqual([line]);
});

test("a patch of ours on an adopted machine is found by its paths, never by its values", () => {
  const found = left("velaryon", "velaryon", {
    machines: { velaryon: { image: "v1.11.1 gpu", configuration: ours } },
  });
  expect(found.left).toEqual(["machine velaryon: configuration, changed: machine.install.image"]);
  expect(found.stays).toContain(
    "machine velaryon: configuration, added: machine.kernel.modules[]: the image stays, and does not boot without",
  );
});

test("an owned machine keeps its configuration, and a change of it by the destroy is found", () => {
  const name = "k8s-worker4";
  const kept = left("rtx5070ti", name, { machines: { [name]: { image: "v1.11.1 gpu", configuration: ours } } });
  expect(kept.left).toEqual([]);
  expect(kept.stays).toContainEqual(expect.stringContaining(`machine ${name}: configuration: `));
  expect(left("rtx5070ti", name, {}).left).toContain(`machine ${name}: configuration, gone: machine.kernel.modules[]`);
});

test("Omni's machine is as before, and what others keep in Omni is there", () => {
  const before = { machines: { "gpu-1": { image: "v1.11.1 plain", configuration } } };
  expect(left("frank", "gpu-1", before)).toEqual({ left: [], stays: [] });
  expect(left("frank", "gpu-1", { ...before, omni: ["ConfigPatches x"] }).left).toEqual(["Omni has ConfigPatches x"]);
  expect(left("frank", "gpu-1", {}).left).toEqual(["machine gpu-1: it runs v1.11.1 gpu, and should run v1.11.1 plain"]);
});

test("what Helm and the GPU Operator leave stays, with the reason", () => {
  const before = { machines: { "gpu-1": { image: "v1.11.1 plain", configuration } } };
  const { left: found, stays } = left("frank", "gpu-1", {
    ...before,
    objects: ["Namespace default", "CustomResourceDefinition clusterpolicies.nvidia.com"],
    nodes: {
      "gpu-1": [
        "label kubernetes.io/os=linux",
        "label nvidia.com/gpu.present=true",
        "label nvidia.com/gpu.deploy.operator-validator=false",
      ],
    },
  });
  // The validator's label is the stack's own in operator mode.
  expect(found).toEqual(["node gpu-1: label nvidia.com/gpu.deploy.operator-validator=false"]);
  expect(stays.map((line) => line.split(": ").slice(0, -1).join(": "))).toEqual([
    "CustomResourceDefinition clusterpolicies.nvidia.com",
    "node gpu-1: label nvidia.com/gpu.present=true",
  ]);
});

describe("a machine that joined meanwhile", () => {
  const come = (name: string): string[] => [
    `Node ${name}`,
    `Lease kube-node-lease/${name}`,
    "DaemonSet gpu-operator/nvidia-device-plugin-daemonset",
  ];

  test("of a bootstrapped cluster stays a node, and nothing else that came does", () => {
    const after = { objects: ["Namespace default", ...come("gpu")] };
    const { left: found } = left("modern", "gpu", after, { nodes: {} });
    expect(found.filter((line) => !line.startsWith("machine"))).toEqual([come("gpu")[2]]);
  });

  test("because its owner added it in Omni stays a node, without our patches and with its earlier image", () => {
    const image = "v1.11.1 plain";
    const waiting = { nodes: {}, machines: { "gpu-1": { image, configuration: undefined } } };
    const objects = ["Namespace default", ...come("gpu-1").slice(0, 2)];
    const after = (machine: Standing["machines"][string]) =>
      left("frank", "gpu-1", { objects, machines: { "gpu-1": machine } }, waiting).left;
    expect(after({ image, configuration })).toEqual([]);
    expect(after({ image, configuration: ours })).toEqual(["machine gpu-1: configuration, nothing of ours has gone"]);
    expect(after({ image, configuration: [...configuration, "machine.env.A: 1"] })).toEqual([
      "machine gpu-1: configuration, added: machine.env.A",
    ]);
  });
});

// What stays for a reason must not hide what stays without: both ways of each.
describe("a label of the operator's that the stack sets as well", () => {
  const found = (plan: Plan, name: string, earlier: Plan[] = []): string[] => {
    const [key, value] = Object.entries(plan.machines.find((machine) => machine.name === name)!.nodeLabels).find(
      ([label]) => /^nvidia\.com\/gpu\.(present|deploy\.operator-validator)$/.test(label),
    )!;
    const nodes = { [name]: ["label kubernetes.io/os=linux", `label ${key}=${value}`] };
    return leftovers(plan, standing(name), standing(name), standing(name, { nodes }), earlier).left;
  };

  test.each([
    ["rtx5070ti", 0],
    ["aarhus-h100", 1],
  ])("is %s's before it had the device plugin: %d left", (earlier, count) => {
    const plan = planOf("aarhus-h100");
    expect(found(plan, plan.machines[0]!.name, [planOf(earlier)])).toHaveLength(count);
  });

  // The operator is still there when a machine behind `upgrade.first` loses ours, and writes its own.
  test.each<[string[], number]>([
    [[], 1],
    [["other"], 1],
    [["gpu"], 0],
  ])("with %j upgraded first: %d left on another machine", (first, count) => {
    const { spec } = planOf("modern");
    const gpu = Object.values(spec.machines).find(({ gpus }) => gpus)!;
    const machines = { ...spec.machines, other: { ...gpu, address: "192.0.2.99" } };
    expect(found(planOf("modern", { machines, upgrade: { first } }), "other")).toHaveLength(count);
  });
});
