import { diagnose, type Diagnosis, type Observations } from "../../components/diagnosis";
import { systemOf } from "../../components/diagnosis/rules/system";
import { planCluster } from "../../components/recipe/index";
import { validStack } from "../recipe/stacks";
import { healthy, keeper, namespace, node, plan } from "./healthy";
import { failing, waiting } from "./stuck";

/** What is seen whether or not a stack is given. */
const both = (seen: Observations): Diagnosis["fix"][][] =>
  [plan, undefined].map((p) => diagnose(seen, p).map(({ fix }) => fix));

test("nothing is wrong with a healthy system", () => expect(both(healthy)).toEqual([[], []]));

test("operatorValidatorLabel", () => {
  const pods = [...(healthy.pods ?? []), waiting("nvidia-operator-validator-x", "driver-validation")];
  const seen = { ...healthy, pods, nodes: [node({ "nvidia.com/gpu.deploy.operator-validator": "true" })] };
  expect(both(seen)).toEqual([["operatorValidatorLabel"], ["operatorValidatorLabel"]]);
  expect(both({ ...healthy, pods })).toEqual([[], []]); // one that the label is just taking away
});

test("operatorValidatorLabel, left on a node that has gone on to Talos 1.13", () => {
  const osImage = "Talos (v1.13.0)";
  const pods = [...(healthy.pods ?? []), waiting("nvidia-device-plugin-daemonset-x", "toolkit-validation")];
  const seen = { ...healthy, daemonSets: [], machines: [], pods };
  const told = (nodes: Observations["nodes"]): Diagnosis["fix"][] =>
    diagnose({ ...seen, ...(nodes ? { nodes } : {}) }, undefined).map(({ fix }) => fix);
  expect(told([{ ...node(), osImage }])).toEqual(["operatorValidatorLabel"]);
  expect(told([{ ...node({ "nvidia.com/gpu.deploy.operator-validator": "true" }), osImage }])).toEqual([]);
});

test.each([
  "PostStartHookError: rpc error: failed to exec in container: nvidia-container-cli: initialization error: init 250 result=11: unknown",
  "Exec lifecycle hook failed: nvidia-container-cli: initialization error: init 250 result=11",
])("modelsPull: %s", (message) => {
  const events = [{ namespace: "ollama", object: "Pod/ollama-x", reason: "FailedPostStartHook", message }];
  expect(both({ ...healthy, events })).toEqual([["modelsPull"], ["modelsPull"]]);
});

test("init 250 result=11 in a log, without a hook that fails, is harmless and told of nobody", () => {
  const events = [{ namespace: "ollama", object: "Pod/ollama-x", reason: "Started", message: "init 250 result=11" }];
  expect(both({ ...healthy, events })).toEqual([[], []]);
});

test("a postStart hook that fails for reasons of its own is somebody else's", () => {
  const message = "PostStartHookError: command '[/bin/sh -c x]' exited with 1: no space left on device";
  expect(both({ ...healthy, events: [{ object: "Pod/x", message }] })).toEqual([[], []]);
});

describe("nodeSelector", () => {
  const stale = { "node-role.kubernetes.io/gpu": "true" };

  test("a DaemonSet that wants 0 pods, and the pods that wait for it", () => {
    const pods = [...(healthy.pods ?? []), waiting("nvidia-device-plugin-daemonset-x", "toolkit-validation")];
    const daemonSets = [{ ...keeper, desired: 0, ready: 0, nodeSelector: stale }];
    const seen = { ...healthy, daemonSets, pods };
    expect(both(seen)).toEqual([["nodeSelector"], ["nodeSelector"]]);
    expect(diagnose(seen)[0]?.evidence).toEqual([
      "DaemonSet/nvidia-validation-markers wants 0 pods: no node has node-role.kubernetes.io/gpu=true",
    ]);
  });

  test("a pod that stays Pending", () => {
    const pod = { namespace: "ollama", name: "ollama-x", phase: "Pending", gpus: true, nodeSelector: stale };
    expect(both({ ...healthy, pods: [pod, ...(healthy.pods ?? [])] })).toEqual([["nodeSelector"], ["nodeSelector"]]);
  });

  test("pods without a GPU are somebody else's", () => {
    const pod = { namespace: "web", name: "x", phase: "Pending", gpus: false, nodeSelector: stale };
    expect(both({ ...healthy, pods: [pod, ...(healthy.pods ?? [])] })).toEqual([[], []]);
  });
});

test("schematic: the right release, another image than the configuration names", () => {
  const plain = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
  const machine = { ...healthy.machines![0]!, schematicId: plain, modules: [], driverVersion: null };
  expect(both({ ...healthy, machines: [machine] })).toEqual([["schematic"], ["schematic"]]);
  const earlier = { ...machine, talosVersion: "v1.12.5" };
  expect(diagnose({ ...healthy, machines: [earlier] }, plan)).toEqual([]); // not upgraded yet
  // An image that `talosctl upgrade` brought: the driver is there, and the configuration still names the one before.
  expect(both({ ...healthy, machines: [{ ...machine, modules: ["nvidia"] }] })).toEqual([[], []]);
  const other = { ...node(), name: "cp-1", labels: {} };
  const storage = { ...healthy, nodes: [node(), other], machines: [{ ...machine, name: "cp-1", modules: ["zfs"] }] };
  expect(diagnose(storage)).toEqual([]);
  expect(diagnose({ ...storage, nodes: [{ ...other, labels: { "nvidia.com/gpu.present": "true" } }] })).toMatchObject([
    { fix: "schematic" },
  ]);
});

test("schematic: that of a machine of Omni's is Omni's own, and neither blamed nor expected", () => {
  const omni = planCluster(validStack("omni"));
  const seen = (name: string, modules: string[]): Observations => {
    const schematicId = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
    return { ...healthy, machines: [{ ...healthy.machines![0]!, name, schematicId, modules }] };
  };
  const found = (name: string, modules: string[]): Diagnosis["fix"][] =>
    diagnose(seen(name, modules), omni).map(({ fix }) => fix);
  expect(found("gpu-1", ["nvidia"])).toEqual([]);
  expect(found("gpu-1", [])).toEqual(["kernelModules"]);
  expect(found("somebody-else", [])).toEqual(["schematic"]);
});

test.each([
  ["alone it is of NVIDIA's manifest without Helm", [], { mode: "devicePlugin", namespace: "kube-system" }],
  ["beside the operator it is the operator's", ["gpu-operator"], { mode: "operator", namespace: "gpu" }],
  ["beside an operand that only the operator has, too", ["nvidia-operator-validator"], { mode: "operator" }],
])("nvidia-device-plugin-daemonset: %s", (_, others, system) => {
  const set = (where: string, name: string) => ({ namespace: where, name, desired: 1, ready: 1 });
  const daemonSets = [set("kube-system", "nvidia-device-plugin-daemonset"), ...others.map((name) => set("gpu", name))];
  expect(systemOf({ daemonSets })).toMatchObject(system);
});

describe("driverBranches", () => {
  test("modules and toolkit of two drivers, as the node's labels tell", () => {
    const mixed = {
      ...node(),
      labels: {
        "extensions.talos.dev/nvidia-open-gpu-kernel-modules-lts": "580.126.09-v1.12.6",
        "extensions.talos.dev/nvidia-container-toolkit-production": "570.211.01-v1.18.2",
      },
    };
    expect(both({ ...healthy, nodes: [mixed] })).toEqual([["driverBranches"], ["driverBranches"]]);
  });

  test("what the runtime says", () => {
    const message = "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown";
    expect(both({ ...healthy, pods: [...healthy.pods!, failing("x", "k8s-worker4", message)] })).toEqual([
      ["driverBranches"],
      ["driverBranches"],
    ]);
  });
});

test.each([
  "Failed to allocate device vector A (error code CUDA driver version is insufficient for CUDA runtime version)!",
  "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver",
])("cudaImage: %s", (message) =>
  expect(both({ ...healthy, pods: [...healthy.pods!, failing("x", "k8s-worker4", message)] })).toEqual([
    ["cudaImage"],
    ["cudaImage"],
  ]),
);

describe("migManager", () => {
  const manager = {
    namespace,
    name: "nvidia-mig-manager-x",
    phase: "Running",
    node: "k8s-worker4",
    containers: [{ name: "nvidia-mig-manager", state: "running", ready: true }],
  };
  const seen = (labels: Record<string, string>, pods = [manager]): Observations => ({
    ...healthy,
    nodes: [node(labels)],
    pods: [...healthy.pods!, ...pods],
  });
  const config = { "nvidia.com/mig.config": "all-1g.12gb" };

  test("a manager that failed, and one that says nothing", () => {
    const failed = seen({ ...config, "nvidia.com/mig.config.state": "failed" });
    expect(both(failed)).toEqual([["migManager"], ["migManager"]]);
    expect(diagnose(failed)[0]?.evidence).toEqual([
      "node k8s-worker4: nvidia.com/mig.config.state=failed for all-1g.12gb",
    ]);
    expect(both(seen(config))).toEqual([["migManager"], ["migManager"]]);
  });

  test("one that is at work or done, or not there yet, or that nobody asks for anything", () => {
    for (const state of ["pending", "success"])
      expect(both(seen({ ...config, "nvidia.com/mig.config.state": state }))).toEqual([[], []]);
    expect(both(seen(config, []))).toEqual([[], []]);
    expect(both(seen({}))).toEqual([[], []]);
  });

  test("where the stack has the fix, the advice is for what else makes it fail", () => {
    const mig = planCluster(validStack("mig"));
    const [found] = diagnose(seen({ ...config, "nvidia.com/mig.config.state": "failed" }), mig);
    expect(found?.remedy).toContain("read the log of the pod nvidia-mig-manager");
  });
});

test("without a stack the system is read off the cluster, and the advice is for one's own set-up", () => {
  const seen = { ...healthy, machines: [{ name: "k8s-worker4", modules: ["drm"], driverVersion: null }] };
  const [found, ...more] = diagnose(seen);
  expect(more).toEqual([]);
  expect(found).toMatchObject({
    fix: "kernelModules",
    remedy: "see to it that machine.kernel.modules names nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset",
  });
});

describe("perMachinePatch", () => {
  const path = "/etc/cri/conf.d/20-customization.part";
  const line = "resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists";
  const looping = (more: Partial<NonNullable<Observations["machines"]>[number]>): Observations => ({
    ...healthy,
    nodes: [{ ...node(), ready: false }],
    machines: [{ name: "k8s-worker4", talosVersion: "v1.12.6", stage: "booting", modules: ["drm"], ...more }],
  });

  test("by the log of the boot that does not go on", () => {
    expect(both(looping({ bootErrors: [`[talos] ${line}`] }))).toEqual([["perMachinePatch"], ["perMachinePatch"]]);
  });

  test("by the configuration in force, also while the machine has just begun to boot", () => {
    expect(both(looping({ repeatedFiles: [path] }))).toEqual([["perMachinePatch"], ["perMachinePatch"]]);
  });

  test("another file, or another error, is another matter", () => {
    const other = looping({
      repeatedFiles: ["/var/a"],
      bootErrors: ['writeUserFiles failed: file must exist: "/etc/a"'],
    });
    expect(both(other).flat()).not.toContain("perMachinePatch");
  });
});

test("modules that the image does not have are not missed in the configuration", () => {
  const machine = { name: "k8s-worker4", talosVersion: "v1.12.6", modules: ["drm"], extensions: ["iscsi-tools"] };
  const omni = planCluster(validStack("omni"));
  const seen = (extensions: string[]): Diagnosis["fix"][] =>
    diagnose({ machines: [{ ...machine, name: "gpu-1", extensions }] }, omni).map(({ fix }) => fix);
  expect(seen(["iscsi-tools"])).toEqual([]); // Omni has not upgraded it yet
  expect(seen(["nvidia-open-gpu-kernel-modules-production"])).toEqual(["kernelModules"]);
});
