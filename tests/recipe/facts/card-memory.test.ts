import { type ClusterSpec, findingsOf, type GpuSpec } from "../../../components/recipe";
import { remarksOn } from "../../support/remarks";
import { cardOf, findCard, powerRangeOf } from "../../../components/recipe/facts/card";
import { validStack } from "../stacks";

/** A stack whose one GPU machine has these cards, and whose Ollama claims a card with this memory. */
function claiming(gpus: GpuSpec[], memory: string): ClusterSpec {
  const stack = validStack("dra");
  const [name = "", machine] =
    Object.entries(stack.machines).find(([, { gpus: cards = [] }]) => cards.length > 0) ?? [];
  return {
    ...stack,
    machines: { [name]: { ...machine!, gpus } },
    workloads: { ollama: { storageClass: "local-path", claim: { memory } } },
  };
}

const problems = (stack: ClusterSpec): string[] =>
  findingsOf(stack).map(({ check, field }) => `${check} ${field}`);
const notesOn = (stack: ClusterSpec): string[] =>
  remarksOn(stack).filter((note) => note.includes(".gpus[0].memory"));

const severalSizes: [model: string, smaller: string, larger: string][] = [
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

describe.each(severalSizes)("a stack with an %s", (model, smaller, larger) => {
  test("without the field memory may claim the larger size, and a note asks for the memory", () => {
    const stack = claiming([{ model }], larger);
    expect(problems(stack)).toEqual([]);
    expect(notesOn(stack).join()).toContain(`the ${model} exists with `);
    expect(notesOn(stack).join()).toContain(larger);
  });

  test("without the field memory gets no note if the smaller size meets the claim", () => {
    const stack = claiming([{ model }], smaller);
    expect(problems(stack)).toEqual([]);
    expect(notesOn(stack)).toEqual([]);
  });

  test("with the larger memory may claim the larger size, and gets no note", () => {
    const stack = claiming([{ model, memory: larger }], larger);
    expect(problems(stack)).toEqual([]);
    expect(notesOn(stack)).toEqual([]);
  });

  test("with the smaller memory is refused if it claims the larger size", () => {
    expect(problems(claiming([{ model, memory: smaller }], larger))).toEqual([
      "claims workloads.ollama.claim",
    ]);
  });
});

test.each([
  ["RTX 4060 Ti", "16Gi", 16380],
  ["RTX 4060 Ti", "16G", 16380],
  ["RTX 4060 Ti 16GB", undefined, 16384],
  ["RTX 4060 Ti 8GB", undefined, 8188],
  ["NVIDIA GeForce RTX 3060 12GB", undefined, 12288],
  ["RTX 3080", "10Gi", 10240],
  ["RTX 3080", "12Gi", 12288],
  ["A10", "24Gi", 23028],
  ["GB10", "128Gi", 122572],
  ["RTX 4090", "48Gi", 49140],
  ["RTX 2080 Ti", "22Gi", 22528],
  ["RTX 4090 Laptop GPU", "16Gi", 16384],
  ["GH200 480GB", undefined, undefined],
])("%s with memory %s has %s MiB", (model, memory, has) => {
  expect(cardOf({ model, ...(memory === undefined ? {} : { memory }) })?.memoryMiB).toBe(has);
});

test("entries with nearly the same memory mean the same card", () => {
  const entry = { model: "RTX 4060 Ti", memory: "16Gi" };
  expect(cardOf(entry)).toBe(cardOf({ ...entry, memory: "16380Mi" }));
  expect(cardOf({ model: "RTX 3090", memory: "24Gi" })).toBe(findCard("RTX 3090"));
});

test.each([
  [{ model: "RTX 4060 Ti", memory: "12Gi" }, "8188Mi or 16380Mi"],
  [{ model: "RTX 3090", memory: "12Gi" }, "24576Mi"],
  [{ model: "RTX 4060 Ti 16GB", memory: "8Gi" }, "16384Mi"],
])("%j is no card that exists", (gpu, sizes) => {
  const [finding, ...others] = findingsOf(claiming([gpu], "4Gi"));
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    check: "gpu-memory",
    field: expect.stringMatching(/\.gpus\[0\]\.memory$/) as string,
  });
  expect(finding!.problem + finding!.remedy).toContain(sizes);
});

test("two cards of a name with different memory are distinguished", () => {
  const stack = claiming(
    [
      { model: "RTX 4060 Ti", memory: "8Gi" },
      { model: "RTX 4060 Ti", memory: "16Gi" },
    ],
    "12Gi",
  );
  expect(problems(stack)).toEqual([]);
  expect(remarksOn(stack).join("\n")).toContain(
    "RTX 4060 Ti with 8188Mi, RTX 4060 Ti with 16380Mi",
  );
});

test("the power of an A16 is that of one of its four GPUs", () => {
  expect(powerRangeOf(findCard("A16")!)).toMatchObject({ max: 62.5, knownMax: true });
});
