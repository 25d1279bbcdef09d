import { differences, type Observations } from "../../components/diagnosis";
import { inventoryOf } from "../../components/diagnosis/inventory";
import { systemOf } from "../../components/diagnosis/system";
import { remarks } from "../../cli/doctor/remarks";
import { planOf } from "../support/plans";
import { asPlanned } from "./as-planned";

/** A device plugin, and an RTX 3090 in eight slices. */
const plan = planOf("rtx3090");
const seen = asPlanned(plan) as Required<Observations>;
const [node] = seen.nodes;
const [machine] = seen.machines;

describe("a card that differs from the stack's", () => {
  const problems = (change: Observations) =>
    differences({ ...seen, ...change }, plan).map(({ problem }) => problem);
  const another =
    "has a card RTX 3060, the plan says RTX 3090: the machine's gpus must list its real card";

  test("is found by the node's labels, or by the machine's PCI bus", () => {
    const told = { ...node!, cards: [{ product: "NVIDIA-GeForce-RTX-3060", memoryMiB: 12288 }] };
    expect(problems({ nodes: [told] })).toEqual([another]);
    expect(problems({ machines: [{ ...machine!, cardIds: ["10de:2504"] }] })).toEqual([another]);
  });

  test("is not reported for the stack's card or an unknown PCI ID", () => {
    const told = { ...node!, cards: [{ product: "NVIDIA-GeForce-RTX-3090", memoryMiB: 24576 }] };
    expect(problems({ nodes: [told] })).toEqual([]);
    expect(problems({ machines: [{ ...machine!, cardIds: ["10de:2204"] }] })).toEqual([]);
    expect(problems({ machines: [{ ...machine!, cardIds: ["10de:ffff"] }] })).toEqual([]);
  });
});

describe("pods that wait for GPUs", () => {
  const waiting = (requests: Record<string, number>, placed?: string): Observations => {
    const pod = { namespace: "ai", name: "train", phase: "Pending", gpus: true, requests };
    return {
      ...seen,
      pods: [...seen.pods, { ...pod, ...(placed === undefined ? {} : { node: placed }) }],
    };
  };
  const told = (requests: Record<string, number>, placed?: string): string[] =>
    [plan, undefined].flatMap((its) =>
      differences(waiting(requests, placed), its).map(
        ({ about, problem }) => `${about} ${problem}`,
      ),
    );

  test.each<[string, Record<string, number>, string]>([
    [
      "more than any node has",
      { "nvidia.com/gpu": 9 },
      "Pod ai/train stays Pending: it requests 9 of nvidia.com/gpu, but no node offers more than 8; lower the pod's limit",
    ],
    [
      "a resource that is misspelt",
      { "nvidia.com/gpus": 1 },
      'Pod ai/train stays Pending: it requests nvidia.com/gpus, which no node offers; did you mean "nvidia.com/gpu"? the nodes offer nvidia.com/gpu',
    ],
  ])(
    "are reported if no node can ever run them, with and without a plan: %s",
    (_, requests, line) => {
      expect(told(requests)).toEqual([line, line]);
    },
  );

  test("are only noted if a node can run them later, and not mentioned after they got a node", () => {
    expect(told({ "nvidia.com/gpu": 8 })).toEqual([]);
    expect(remarks(waiting({ "nvidia.com/gpu": 8 }), plan)).toEqual([
      expect.stringMatching(
        /^Pod ai\/train is Pending, and requests 8 of nvidia\.com\/gpu: it waits for free GPUs/,
      ),
    ]);
    expect(remarks(waiting({ "nvidia.com/gpu": 9 }), plan)).toEqual([]);
    expect([
      ...told({ "nvidia.com/gpu": 9 }, "rtx3090"),
      ...remarks(waiting({}, "rtx3090"), plan),
    ]).toEqual([]);
  });
});

test("kernel arguments without effect are noted", () => {
  const its = planOf("rtx3090", {
    machines: { rtx3090: { ...plan.spec.machines["rtx3090"], kernelArgs: ["iommu=pt", "quiet"] } },
  });
  const of = (commandLine?: string): string[] =>
    remarks(
      {
        ...seen,
        machines: [{ ...machine!, ...(commandLine === undefined ? {} : { commandLine }) }],
      },
      its,
    );
  expect(of("talos.platform=metal quiet")).toEqual([
    expect.stringMatching(
      /^machine rtx3090: the running kernel does not match these kernelArgs: iommu=pt;/,
    ),
  ]);
  expect([...of("quiet iommu=pt"), ...of()]).toEqual([]);
});

test("the inventory has one line for each machine", () => {
  const two = { ...seen, machines: [{ ...machine!, cardIds: ["10de:2204", "10de:2204"] }] };
  const driver = machine!.driverVersion;
  expect(inventoryOf(systemOf(seen, plan), seen)).toEqual([
    `rtx3090: RTX 3090, driver ${driver}, 8 × nvidia.com/gpu`,
  ]);
  expect(inventoryOf(systemOf(two, plan), two)).toEqual([
    `rtx3090: 2 × RTX 3090, driver ${driver}, 8 × nvidia.com/gpu`,
  ]);
  expect(inventoryOf(systemOf({}, plan), {})).toEqual(["rtx3090: RTX 3090"]);
});
