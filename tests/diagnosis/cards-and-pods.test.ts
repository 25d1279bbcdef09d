import { differences, type Observations } from "../../components/diagnosis";
import { inventoryOf } from "../../components/diagnosis/inventory";
import { systemOf } from "../../components/diagnosis/system";
import { remarks } from "../../cli/doctor/remarks";
import type { Plan } from "../../components/recipe";
import { planOf } from "../support/plans";
import { asPlanned } from "./as-planned";

/** A stack with the device plugin, and an RTX 3090 in eight slices. */
const plan = planOf("rtx3090");
const observations = asPlanned(plan) as Required<Observations>;
const [node] = observations.nodes;
const [machine] = observations.machines;

describe("a card that differs from the stack's", () => {
  const problems = (change: Observations) =>
    differences({ ...observations, ...change }, plan).map(({ problem }) => problem);
  const otherCard =
    "has a card RTX 3060, the plan says RTX 3090: the machine's `gpus` must list its real card";

  test("is found by the node's labels, or by the machine's PCI bus", () => {
    const labelledNode = {
      ...node!,
      cards: [{ product: "NVIDIA-GeForce-RTX-3060", memoryMiB: 12288 }],
    };
    expect(problems({ nodes: [labelledNode] })).toEqual([otherCard]);
    expect(problems({ machines: [{ ...machine!, cardIds: ["10de:2504"] }] })).toEqual([otherCard]);
  });

  test("is not reported for the stack's card or an unknown PCI ID", () => {
    const labelledNode = {
      ...node!,
      cards: [{ product: "NVIDIA-GeForce-RTX-3090", memoryMiB: 24576 }],
    };
    expect(problems({ nodes: [labelledNode] })).toEqual([]);
    expect(problems({ machines: [{ ...machine!, cardIds: ["10de:2204"] }] })).toEqual([]);
    expect(problems({ machines: [{ ...machine!, cardIds: ["10de:ffff"] }] })).toEqual([]);
  });
});

describe("pods that wait for GPUs", () => {
  const withPendingPod = (requests: Record<string, number>, nodeName?: string): Observations => {
    const pod = { namespace: "ai", name: "train", phase: "Pending", gpus: true, requests };
    return {
      ...observations,
      pods: [
        ...observations.pods,
        { ...pod, ...(nodeName === undefined ? {} : { node: nodeName }) },
      ],
    };
  };
  const problemsOf = (observed: Observations, comparedPlan?: Plan): string[] =>
    differences(observed, comparedPlan).map(({ about, problem }) => `${about} ${problem}`);

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
      const waiting = withPendingPod(requests);
      expect(problemsOf(waiting, plan)).toEqual([line]);
      expect(problemsOf(waiting)).toEqual([line]);
    },
  );

  test("are only noted if a node can run them later, and not mentioned after they got a node", () => {
    const waiting = withPendingPod({ "nvidia.com/gpu": 8 });
    expect(problemsOf(waiting, plan)).toEqual([]);
    expect(problemsOf(waiting)).toEqual([]);
    expect(remarks(waiting, plan)).toEqual([
      expect.stringMatching(
        /^Pod ai\/train is Pending, and requests 8 of nvidia\.com\/gpu: it waits for free GPUs/,
      ),
    ]);
    expect(remarks(withPendingPod({ "nvidia.com/gpu": 9 }), plan)).toEqual([]);
    const placed = withPendingPod({ "nvidia.com/gpu": 9 }, "rtx3090");
    expect(problemsOf(placed, plan)).toEqual([]);
    expect(problemsOf(placed)).toEqual([]);
    expect(remarks(withPendingPod({}, "rtx3090"), plan)).toEqual([]);
  });
});

test("kernel arguments of the stack that the running kernel lacks are noted", () => {
  const planWithArgs = planOf("rtx3090", {
    machines: { rtx3090: { ...plan.spec.machines["rtx3090"], kernelArgs: ["iommu=pt", "quiet"] } },
  });
  const remarksFor = (commandLine: string | undefined): string[] => {
    const observed = commandLine === undefined ? machine! : { ...machine!, commandLine };
    return remarks({ ...observations, machines: [observed] }, planWithArgs);
  };
  expect(remarksFor("talos.platform=metal quiet")).toEqual([
    expect.stringMatching(
      /^machine rtx3090: the running kernel does not match these kernelArgs: iommu=pt;/,
    ),
  ]);
  expect(remarksFor("quiet iommu=pt")).toEqual([]);
  expect(remarksFor(undefined)).toEqual([]);
});

test("the inventory has one line for each machine", () => {
  const cardIds = ["10de:2204", "10de:2204"];
  const withTwoCards = { ...observations, machines: [{ ...machine!, cardIds }] };
  const driver = machine!.driverVersion;
  expect(inventoryOf(systemOf(observations, plan), observations)).toEqual([
    `rtx3090: RTX 3090, driver ${driver}, 8 × nvidia.com/gpu`,
  ]);
  expect(inventoryOf(systemOf(withTwoCards, plan), withTwoCards)).toEqual([
    `rtx3090: 2 × RTX 3090, driver ${driver}, 8 × nvidia.com/gpu`,
  ]);
  expect(inventoryOf(systemOf({}, plan), {})).toEqual(["rtx3090: RTX 3090"]);
});
