import { foreignCluster, remarks } from "../../../cli/doctor/remarks";
import type { Observations } from "../../../components/diagnosis";
import { planOf } from "../../support/plans";

type Pod = NonNullable<Observations["pods"]>[number];

const pod = (fields: Partial<Pod>): Pod => ({
  namespace: "web",
  name: "x",
  phase: "Running",
  runtimeClass: "nvidia",
  gpus: false,
  images: ["nvcr.io/nvidia/cuda:12.8.0-base-ubuntu24.04"],
  ...fields,
});

/**
 * Whether a pod sees cards that it did not request. Observed in real-node runs with container toolkit 1.19.1.
 */
test.each<[string, Partial<Pod>]>([
  ["a pod with a CUDA image, which sets NVIDIA_VISIBLE_DEVICES", {}],
  ["a pod that sets NVIDIA_VISIBLE_DEVICES", { images: ["busybox"], visibleDevices: "all" }],
])("a remark reports that %s sees cards without requesting them", (_, fields) => {
  expect(remarks({ pods: [pod(fields)] }, planOf("rtx5070ti"))).toHaveLength(1);
});

test.each<[string, Partial<Pod>]>([
  ["a plain image", { images: ["busybox"] }],
  ["a request for a card", { gpus: true }],
  ["NVIDIA_VISIBLE_DEVICES=void", { visibleDevices: "void" }],
  ["another RuntimeClass", { runtimeClass: "runc" }],
  ["the phase Succeeded", { phase: "Succeeded" }],
  ["the namespace of the release", { namespace: "nvidia-gpu-operator" }],
])("no remark is made about a pod with %s", (_, fields) => {
  expect(remarks({ pods: [pod(fields)] }, planOf("rtx5070ti"))).toEqual([]);
});

test("a remark reports a machine that could not be tested because other pods use its cards", () => {
  const untested = "all 2 units of nvidia.com/gpu are in use by default/train (2)";
  const job = {
    namespace: "nvidia-gpu-operator",
    name: "gpu-smoke-test-k8s-worker4-1",
    succeeded: 0,
  };
  expect(remarks({ jobs: [{ ...job, untested }, job] }, planOf("rtx5070ti"))).toEqual([
    `Job nvidia-gpu-operator/gpu-smoke-test-k8s-worker4-1 could not test its machine: ${untested}; once a GPU is free, start the test with kubectl -n nvidia-gpu-operator patch job gpu-smoke-test-k8s-worker4-1 --type merge -p '{"spec":{"suspend":false}}'`,
  ]);
});

test("a remark says that a program caused an Xid error, but not for an error of the card", () => {
  const errors = [
    "NVRM: Xid (PCI:0000:0b:00): 31, pid=11, name=ollama",
    "NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen",
  ];
  const machines = [{ name: "k8s-worker4", errors }];
  expect(remarks({ machines }, planOf("rtx5070ti"))).toEqual([
    expect.stringContaining(`machine k8s-worker4: ${errors[0]}; a program caused this error`),
  ]);
});

test("a cluster counts as another one if it has nodes, but none of the stack's", () => {
  const plan = planOf("rtx5070ti");
  const nodes = (...names: string[]): Observations => ({
    nodes: names.map((name) => ({ name, labels: {} })),
  });
  expect(foreignCluster(plan, nodes("a", "b"))).toContain(
    "its nodes are a, b, but the stack's machines are k8s-worker4",
  );
  for (const observations of [nodes("a", "k8s-worker4"), nodes(), {}])
    expect(foreignCluster(plan, observations)).toBeUndefined();
});
