import { readSpec } from "../../../components/recipe/stack/parse";
import { validStack } from "../stacks";

test("readSpec reports each wrong field of a stack, and replaces it or leaves it out", () => {
  const rawStack = validStack("rtx5070ti") as unknown as {
    machines: Record<string, Record<string, unknown>>;
    gpuOperator: Record<string, unknown>;
  };
  const machine = rawStack.machines["k8s-worker4"] ?? {};
  delete machine["address"];
  machine["role"] = "boss";
  machine["gpus"] = [{ model: "RTX 5070 Ti", cuont: 2 }, {}];
  delete rawStack.gpuOperator["version"];
  const { spec, findings, pruned } = readSpec(rawStack);
  expect(findings.map((finding) => finding.field)).toEqual([
    "machines.k8s-worker4.address",
    "machines.k8s-worker4.role",
    "machines.k8s-worker4.gpus[0].cuont",
    "machines.k8s-worker4.gpus[1].model",
    "gpuOperator.version",
  ]);
  expect(spec?.machines["k8s-worker4"]).toEqual({
    address: "k8s-worker4",
    role: "worker",
    configuration: "owned",
    gpus: [{ model: "RTX 5070 Ti" }],
  });
  expect(pruned).toContain("machines.k8s-worker4.address");
});

test("parsing a stack does not change the raw stack", () => {
  const rawStack = { ...validStack("modern"), driver: { branch: "new" } };
  const before = structuredClone(rawStack);
  readSpec(rawStack);
  expect(rawStack).toEqual(before);
});
