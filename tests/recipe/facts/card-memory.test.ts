import { type ClusterSpec, findingsOf, type GpuSpec } from "../../../components/recipe";
import { warningsAndNotes } from "../../support/warnings-and-notes";
import { cardOf, findCard } from "../../../components/recipe/facts/card";
import { validStack } from "../stacks";

/** A stack whose only GPU machine has these cards, and whose Ollama claims a card with this memory. */
function stackWithClaim(gpus: GpuSpec[], memory: string): ClusterSpec {
  const stack = validStack("dra");
  const [name = "", machine] =
    Object.entries(stack.machines).find(([, { gpus: cards = [] }]) => cards.length > 0) ?? [];
  return {
    ...stack,
    machines: { [name]: { ...machine!, gpus } },
    workloads: { ollama: { storageClass: "local-path", claim: { memory } } },
  };
}

const checksAndFields = (stack: ClusterSpec): string[] =>
  findingsOf(stack).map(({ check, field }) => `${check} ${field}`);
const memoryWarnings = (stack: ClusterSpec): string[] =>
  warningsAndNotes(stack).filter((note) => note.includes(".gpus[0].memory"));

const cardsOfTwoSizes: [model: string, smaller: string, larger: string][] = [
  ["RTX 4060 Ti", "8188Mi", "16380Mi"],
  ["RTX 5060 Ti", "8151Mi", "16311Mi"],
  ["RTX 3080", "10240Mi", "12288Mi"],
  ["RTX 3060", "8192Mi", "12288Mi"],
  ["RTX 3050", "4096Mi", "8192Mi"],
  ["RTX 2060", "6144Mi", "12288Mi"],
  ["GTX 1060", "3072Mi", "6144Mi"],
  ["GTX 960", "2048Mi", "4096Mi"],
  ["RTX A2000", "6138Mi", "12282Mi"],
  ["M40", "11520Mi", "22945Mi"],
];

describe.each(cardsOfTwoSizes)("a stack with the card %s", (model, smaller, larger) => {
  test("may claim the larger size if memory is not set, but a warning asks for memory", () => {
    const stack = stackWithClaim([{ model }], larger);
    expect(checksAndFields(stack)).toEqual([]);
    expect(memoryWarnings(stack).join()).toContain(`the ${model} exists with `);
    expect(memoryWarnings(stack).join()).toContain(larger);
  });

  test("gets no warning if memory is not set and the smaller size meets the claim", () => {
    const stack = stackWithClaim([{ model }], smaller);
    expect(checksAndFields(stack)).toEqual([]);
    expect(memoryWarnings(stack)).toEqual([]);
  });

  test("may claim the larger size without a warning if memory is the larger size", () => {
    const stack = stackWithClaim([{ model, memory: larger }], larger);
    expect(checksAndFields(stack)).toEqual([]);
    expect(memoryWarnings(stack)).toEqual([]);
  });

  test("is refused if memory is the smaller size and a workload claims the larger size", () => {
    expect(checksAndFields(stackWithClaim([{ model, memory: smaller }], larger))).toEqual([
      "claims workloads.ollama.claim",
    ]);
  });
});

test.each([
  ["RTX 4060 Ti", "16Gi", 16380],
  ["RTX 4060 Ti", "16G", 16380],
  ["RTX 3080", "10Gi", 10240],
  ["RTX 3080", "12Gi", 12288],
  ["A10", "24Gi", 23028],
  ["GB10", "128Gi", 122572],
  ["RTX 4090", "48Gi", 49140],
  ["RTX 2080 Ti", "22Gi", 22528],
  ["RTX 4090 Laptop GPU", "16Gi", 16384],
])("the card %s with memory %s has %i MiB", (model, memory, memoryMiB) =>
  expect(cardOf({ model, memory })?.memoryMiB).toBe(memoryMiB),
);

test.each([
  ["RTX 4060 Ti 16GB", 16384],
  ["RTX 4060 Ti 8GB", 8188],
  ["NVIDIA GeForce RTX 3060 12GB", 12288],
])("the name %s alone means a card with %i MiB", (model, memoryMiB) =>
  expect(cardOf({ model })?.memoryMiB).toBe(memoryMiB),
);

test("the GPU memory of a GH200 480GB is unknown", () => {
  const card = cardOf({ model: "GH200 480GB" });
  expect(card).toBeDefined();
  expect(card?.memoryMiB).toBeUndefined();
});

test("entries with nearly the same memory find the same card", () => {
  const gpu = { model: "RTX 4060 Ti", memory: "16Gi" };
  expect(cardOf(gpu)).toBeDefined();
  expect(cardOf(gpu)).toBe(cardOf({ ...gpu, memory: "16380Mi" }));
  expect(cardOf({ model: "RTX 3090", memory: "24Gi" })).toBe(findCard("RTX 3090"));
});

test.each([
  [{ model: "RTX 4060 Ti", memory: "12Gi" }, "8188Mi or 16380Mi"],
  [{ model: "RTX 3090", memory: "12Gi" }, "24576Mi"],
  [{ model: "RTX 4060 Ti 16GB", memory: "8Gi" }, "16384Mi"],
])("the card %j is refused, and the message names the sizes that exist: %s", (gpu, sizes) => {
  const [finding, ...otherFindings] = findingsOf(stackWithClaim([gpu], "4Gi"));
  expect(otherFindings).toEqual([]);
  expect(finding).toMatchObject({
    check: "gpu-memory",
    field: expect.stringMatching(/\.gpus\[0\]\.memory$/) as string,
  });
  expect(finding!.problem + finding!.remedy).toContain(sizes);
});

test("two cards of one model with different memory count as different cards", () => {
  const stack = stackWithClaim(
    [
      { model: "RTX 4060 Ti", memory: "8Gi" },
      { model: "RTX 4060 Ti", memory: "16Gi" },
    ],
    "12Gi",
  );
  expect(checksAndFields(stack)).toEqual([]);
  expect(warningsAndNotes(stack).join("\n")).toContain(
    "RTX 4060 Ti with 8188Mi, RTX 4060 Ti with 16380Mi",
  );
});
