import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { leftovers } from "../run/leftovers";
import { processesOf } from "../run/look-around";
import { valuesOf, type MachineStanding, type Standing } from "../run/standing";
import type { Plan } from "../../components/recipe";
import { planOf } from "../../tests/support/plans";

const configuration = valuesOf(
  "machine: {sysctls: {vm.max_map_count: '262144'}, install: {image: old}}",
);
const ours = valuesOf(
  "machine: {sysctls: {vm.max_map_count: '262144'}, install: {image: new}, kernel: {modules: [x]}}",
);
const plain = { image: "v1.11.1 plain", configuration };
const gpu = { image: "v1.11.1 gpu", configuration };

/** What stands always; `N` is the machine. */
const lines = ["Namespace default", "node N: label kubernetes.io/os=linux", "process 1 machines"];

/** Differences: further or missing lines, and the machine. */
interface Unlike {
  more?: string[];
  less?: string[];
  machine?: MachineStanding;
}

const standing = (
  name: string,
  { more = [], less = [], machine = gpu }: Unlike = {},
): Standing => ({
  lines: [...lines.filter((line) => !less.includes(line)), ...more].map((line) =>
    line.replaceAll("N:", `${name}:`),
  ),
  machines: { [name]: machine },
});

/** What a destroy leaves of a stack of one machine, given what differs from before, and what was before. */
function left(stack: string, name: string, after: Unlike, before: Unlike = {}) {
  const up = standing(name, { machine: { ...gpu, configuration: ours } });
  return leftovers(
    planOf(stack),
    standing(name, { machine: plain, ...before }),
    up,
    standing(name, after),
  );
}

test("a clean destroy leaves nothing but the image, which is not downgraded", () => {
  expect(left("velaryon", "velaryon", {})).toEqual({
    left: [],
    stays: ["machine velaryon: image v1.11.1 gpu: machines are neither wiped nor downgraded"],
  });
});

const late = "node N: taint node.kubernetes.io/not-ready:NoExecute";

test.each<[Unlike, string[]]>([
  [{ more: ["Pod nvidia/test"] }, ["Pod nvidia/test"]],
  [{ more: ["StorageClass fast"] }, ["StorageClass fast"]],
  // The lab's own, however late they came.
  [{ more: ["StorageClass lab", "Pod kube-system/lab-network-velaryon"] }, []],
  [{ less: [lines[0]!] }, ["gone, and not ours: Namespace default"]],
  [{ more: ["node N: label role=gpu"] }, ["node velaryon: label role=gpu"]],
  // The stack itself sets this one with the device plugin; in operator mode it would be the operator's.
  [
    { more: ["node N: label nvidia.com/gpu.present=true"] },
    ["node velaryon: label nvidia.com/gpu.present=true"],
  ],
  [{ more: ["node N: taint gpu=true:NoSchedule"] }, ["node velaryon: taint gpu=true:NoSchedule"]],
  [{ more: [late] }, [late.replace("N:", "velaryon:")]],
  [{ less: [lines[1]!] }, ["gone, and not ours: node velaryon: label kubernetes.io/os=linux"]],
  [{ machine: plain }, ["machine velaryon: it runs v1.11.1 plain, and should run v1.11.1 gpu"]],
  [
    { machine: { ...gpu, configuration: configuration.slice(1) } },
    ["machine velaryon: configuration, gone: machine.install.image"],
  ],
  [{ more: ["process 7 sleep 30"] }, ["process 7 sleep 30"]],
])("if %j differs after the destroy, the leftovers are %j", (after, found) => {
  expect(left("velaryon", "velaryon", after).left).toEqual(found);
});

test("a node that was not ready before the update, but is ready now, is not reported", () => {
  expect(left("velaryon", "velaryon", {}, { more: [late] }).left).toEqual([]);
});

test("Kubernetes' own new objects may stay in a bootstrapped cluster, but not in an existing one", () => {
  const own = [
    "ClusterRole system:node",
    "Pod kube-system/kube-scheduler-control",
    "Secret kube-system/bootstrap-token-a",
  ];
  const others = ["DaemonSet kube-system/nvidia", "Namespace gpu-operator"];
  const after = {
    more: [...own, ...others],
    machine: { image: "v1.11.1 gpu", configuration: ours },
  };
  expect(left("modern", "gpu", after, { less: [lines[0]!] }).left).toEqual(others);
  expect(left("modern", "gpu", after).left.toSorted()).toEqual([...own, ...others].toSorted());
});

test("a leftover patch on an adopted machine is reported by its paths, without values", () => {
  const found = left("velaryon", "velaryon", { machine: { ...gpu, configuration: ours } });
  expect(found.left).toEqual(["machine velaryon: configuration, changed: machine.install.image"]);
  expect(found.stays).toContain(
    "machine velaryon: configuration, added: machine.kernel.modules[]: the image stays, and does not boot without this",
  );
});

test("an owned machine may keep its configuration, but a change by the destroy is reported", () => {
  const name = "k8s-worker4";
  const kept = left("rtx5070ti", name, { machine: { ...gpu, configuration: ours } });
  expect(kept.left).toEqual([]);
  expect(kept.stays).toContainEqual(expect.stringContaining(`machine ${name}: configuration: `));
  expect(left("rtx5070ti", name, {}).left).toContain(
    `machine ${name}: configuration, gone: machine.kernel.modules[]`,
  );
});

test("a machine of Omni is reported if it does not have its former image, or if Omni keeps a patch", () => {
  expect(left("frank", "gpu-1", { machine: plain })).toEqual({ left: [], stays: [] });
  const patch = "Omni has ConfigPatches x";
  expect(left("frank", "gpu-1", { machine: plain, more: [patch] }).left).toEqual([patch]);
  expect(left("frank", "gpu-1", {}).left).toEqual([
    "machine gpu-1: it runs v1.11.1 gpu, and should run v1.11.1 plain",
  ]);
});

test("leftovers of Helm and of the GPU Operator are listed with the reason", () => {
  const definition = "CustomResourceDefinition clusterpolicies.nvidia.com";
  const labels = ["present=true", "deploy.operator-validator=false"].map(
    (each) => `node N: label nvidia.com/gpu.${each}`,
  );
  const { left: found, stays } = left("frank", "gpu-1", {
    machine: plain,
    more: [definition, ...labels],
  });
  // The validator's label is the stack's own in operator mode.
  expect(found).toEqual(["node gpu-1: label nvidia.com/gpu.deploy.operator-validator=false"]);
  expect(stays.map((line) => line.split(": ").slice(0, -1).join(": "))).toEqual([
    definition,
    "node gpu-1: label nvidia.com/gpu.present=true",
  ]);
});

test("the operator may delete an existing RuntimeClass, but the device plugin may not", () => {
  const runtimeClass = "RuntimeClass nvidia";
  const before = { more: [runtimeClass] };
  const { left: found, stays } = left("frank", "gpu-1", { machine: plain }, before);
  expect(found).toEqual([]);
  expect(stays).toEqual([
    `gone, and not ours: ${runtimeClass}: the operator took it over, and deleted it with itself`,
  ]);
  expect(left("velaryon", "velaryon", {}, before).left).toEqual([
    `gone, and not ours: ${runtimeClass}`,
  ]);
});

describe("a machine that joined the cluster during the run", () => {
  const come = (name: string): string[] => [`Node ${name}`, `Lease kube-node-lease/${name}`];

  test("may stay a node of a bootstrapped cluster, whose other new objects are reported", () => {
    const daemon = "DaemonSet gpu-operator/nvidia-device-plugin-daemonset";
    const { left: found } = left(
      "modern",
      "gpu",
      { more: [...come("gpu"), daemon] },
      { less: [lines[1]!] },
    );
    expect(found.filter((line) => !line.startsWith("machine"))).toEqual([daemon]);
  });

  test("may stay a node of Omni, but must lose the stack's patches", () => {
    const waiting = {
      less: [lines[1]!],
      machine: { image: plain.image, configuration: undefined },
    };
    const after = (made: string[]) =>
      left(
        "frank",
        "gpu-1",
        { more: come("gpu-1"), machine: { ...plain, configuration: made } },
        waiting,
      ).left;
    expect(after(configuration)).toEqual([]);
    expect(after(ours)).toEqual(["machine gpu-1: configuration, nothing of the stack was removed"]);
    expect(after([...configuration, "machine.env.A: 1"])).toEqual([
      "machine gpu-1: configuration, added: machine.env.A",
    ]);
  });
});

// What stays for a reason must not hide what stays without: both ways of each.
describe("a label that both the operator and the stack set", () => {
  const found = (plan: Plan, name: string, earlier: Plan[] = []): string[] => {
    const [key, value] = Object.entries(
      plan.machines.find((machine) => machine.name === name)!.nodeLabels,
    ).find(([label]) => /^nvidia\.com\/gpu\.(present|deploy\.operator-validator)$/.test(label))!;
    const after = standing(name, { more: [`node N: label ${key}=${value}`] });
    const { left: all } = leftovers(plan, standing(name), standing(name), after, earlier);
    return all.filter((line) => line.startsWith("node "));
  };

  test.each([
    ["rtx5070ti", 0],
    ["aarhus-h100", 1],
  ])(
    "is reported after an edit from %s to the device plugin this many times: %d",
    (earlier, count) => {
      const plan = planOf("aarhus-h100");
      expect(found(plan, plan.machines[0]!.name, [planOf(earlier)])).toHaveLength(count);
    },
  );

  // The operator is still there when a machine behind `upgrade.first` loses ours, and writes its own.
  test.each<[string[], number]>([
    [[], 1],
    [["other"], 1],
    [["gpu"], 0],
  ])(
    "is reported with %j in upgrade.first on another machine this many times: %d",
    (first, count) => {
      const { spec } = planOf("modern");
      const card = Object.values(spec.machines).find(({ gpus }) => gpus)!;
      const machines = { ...spec.machines, other: { ...card, address: "192.0.2.99" } };
      expect(found(planOf("modern", { machines, upgrade: { first } }), "other")).toHaveLength(
        count,
      );
    },
  );
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
