import type { V1ResourceSlice } from "@kubernetes/client-node";
import { cardsOf } from "../../cli/discover/cards";
import { reportedCards } from "../../components/clients/kubernetes/reported-cards";
import { cardMemory } from "../../components/diagnosis/differences/card-memory";

const nodeWithLabels = (product: string, memory: string) => ({
  metadata: {
    name: "gpu-1",
    labels: { "nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": memory },
  },
});

const slice = (nodeName: string, type = "gpu"): V1ResourceSlice => ({
  spec: {
    driver: "gpu.nvidia.com",
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
    devices: [
      {
        name: "gpu-0",
        attributes: {
          type: { string: type },
          productName: { string: "NVIDIA GeForce RTX 4060 Ti" },
        },
        capacity: { memory: { value: "16380Mi" } },
      },
    ],
  },
});

const card4060Ti = { vendor_id: "0x10de", class_id: "0x03", product_id: "0x2803" };

test.each([
  [
    "the labels of GPU Feature Discovery",
    nodeWithLabels("NVIDIA-GeForce-RTX-4060-Ti", "16380"),
    [],
  ],
  ["the labels of shared cards", nodeWithLabels("NVIDIA-GeForce-RTX-4060-Ti-SHARED", "16380"), []],
  [
    "the ResourceSlices of the DRA driver",
    { metadata: { name: "gpu-1" } },
    [slice("gpu-1"), slice("gpu-2"), slice("gpu-1", "mig")],
  ],
])("a card's memory is read from %s, and discover writes it", (_, node, slices) => {
  const cards = reportedCards(node, slices);
  expect(cards).toEqual([{ product: expect.stringContaining("4060") as string, memoryMiB: 16380 }]);
  expect(cardsOf([card4060Ti], cards)).toEqual({
    gpus: [{ model: "RTX 4060 Ti", memory: "16380Mi" }],
    notes: [],
  });
});

test("a card's memory is not derived from a MIG slice", () => {
  expect(reportedCards(nodeWithLabels("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "4864"), [])).toEqual([]);
  expect(reportedCards({ metadata: { name: "gpu-1" } }, [])).toEqual([]);
});

test("if no label reports the memory of a card, discover asks for it only if the card exists with several sizes", () => {
  const { gpus, notes } = cardsOf([card4060Ti, { ...card4060Ti, product_id: "0x2204" }]);
  expect(gpus).toEqual([{ model: "RTX 4060 Ti" }, { model: "RTX 3090" }]);
  expect(notes).toEqual([expect.stringContaining("the RTX 4060 Ti exists with 8188Mi or 16380Mi")]);
});

test("the doctor reports only a card whose memory differs from the plan", () => {
  const cards = [{ product: "NVIDIA-GeForce-RTX-4060-Ti", memoryMiB: 8188 }];
  const plannedCards = (memory?: string) => [
    { model: "RTX 4060 Ti", ...(memory === undefined ? {} : { memory }) },
  ];
  expect(cardMemory(plannedCards("16Gi"), { cards })).toEqual([
    expect.stringContaining("its RTX 4060 Ti has 8188Mi of memory, the plan says 16380Mi"),
  ]);
  expect(cardMemory(plannedCards("8Gi"), { cards })).toEqual([]);
  expect(cardMemory(plannedCards(), { cards })).toEqual([]);
  expect(cardMemory([{ model: "RTX 3090" }], { cards })).toEqual([]);
  expect(cardMemory(plannedCards("16Gi"), { cards: [] })).toEqual([]);
});
