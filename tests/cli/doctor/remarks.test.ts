import { foreignCluster, remarks } from "../../../cli/doctor/remarks";
import type { Observations } from "../../../components/diagnosis";
import { planOf } from "../../support/plans";

type Pod = NonNullable<Observations["pods"]>[number];

const pod = (more: Partial<Pod>): Pod => ({
  namespace: "web",
  name: "x",
  phase: "Running",
  runtimeClass: "nvidia",
  gpus: false,
  images: ["nvcr.io/nvidia/cuda:12.8.0-base-ubuntu24.04"],
  ...more,
});

/** Whether a pod sees cards that it has not asked for. Seen on a card: real-node runs with container toolkit 1.19.1. */
test.each<[string, Partial<Pod>, boolean]>([
  ["a CUDA image, by its own NVIDIA_VISIBLE_DEVICES=all", {}, true],
  ["a plain image that sets it itself", { images: ["busybox"], visibleDevices: "all" }, true],
  ["a plain image", { images: ["busybox"] }, false],
  ["one that asks for a card", { gpus: true }, false],
  ["one that wants none", { visibleDevices: "void" }, false],
  ["one of another RuntimeClass", { runtimeClass: "runc" }, false],
  ["one that has ended", { phase: "Succeeded" }, false],
  ["the release's own", { namespace: "nvidia-gpu-operator" }, false],
])("%s", (_, more, told) => {
  expect(remarks({ pods: [pod(more)] }, planOf("rtx5070ti"))).toHaveLength(told ? 1 : 0);
});

test("a machine that could not be tested, since others use its cards", () => {
  const untested = "all 2 units of nvidia.com/gpu are in use by default/train (2)";
  const job = {
    namespace: "nvidia-gpu-operator",
    name: "gpu-smoke-test-k8s-worker4-1",
    succeeded: 0,
  };
  expect(remarks({ jobs: [{ ...job, untested }, job] }, planOf("rtx5070ti"))).toEqual([
    `Job nvidia-gpu-operator/gpu-smoke-test-k8s-worker4-1 could not test its machine: ${untested}; to run it, use kubectl -n nvidia-gpu-operator patch job gpu-smoke-test-k8s-worker4-1 --type merge -p '{"spec":{"suspend":false}}', once a unit is free`,
  ]);
});

test("an Xid error of a program is reported as the program's; an error of the card is not", () => {
  const errors = [
    "NVRM: Xid (PCI:0000:0b:00): 31, pid=11, name=ollama",
    "NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen",
  ];
  const machines = [{ name: "k8s-worker4", errors }];
  expect(remarks({ machines }, planOf("rtx5070ti"))).toEqual([
    expect.stringContaining(`machine k8s-worker4: ${errors[0]}; a program caused it`),
  ]);
});

test("a cluster with nodes but none of the stack's is another cluster; an empty cluster is not", () => {
  const plan = planOf("rtx5070ti");
  const nodes = (...names: string[]): Observations => ({
    nodes: names.map((name) => ({ name, labels: {} })),
  });
  expect(foreignCluster(plan, nodes("a", "b"))).toContain(
    "its nodes are a, b, the stack's machines k8s-worker4",
  );
  for (const seen of [nodes("a", "k8s-worker4"), nodes(), {}])
    expect(foreignCluster(plan, seen)).toBeUndefined();
});
