import { checkCluster, judge } from "../../../components/recipe";
import { validStack } from "../stacks";
import { harmlessStacks } from "./harmless-stacks";

describe.each(harmlessStacks)("$name", ({ stack, says }) => {
  test("does not refuse the stack", () => {
    expect(judge(stack).findings).toEqual([]);
    expect(checkCluster(stack)).toEqual([]);
  });

  test("is a note of the plan", () => {
    const { harmless, plan } = judge(stack);
    expect(harmless.map(({ field }) => field)).toEqual(Object.keys(says));
    for (const [field, part] of Object.entries(says)) {
      const [note = ""] = plan!.notes.filter((one) => one.startsWith(`${field}: `));
      expect(note).toContain(part);
    }
  });
});

test("a value that is only alike is not proposed: it means something else", () => {
  const [, , { stack }] = harmlessStacks as [unknown, unknown, (typeof harmlessStacks)[number]];
  expect(judge(stack).harmless.map(({ remedy }) => remedy)).toEqual([
    "see `helm show values`, or leave it out",
  ]);
});

test("a value of the stack's own that has no effect refuses it, with the one that was meant", () => {
  const stack = validStack("rtx5070ti");
  const values = {
    ...stack.gpuOperator!.values,
    operator: { defaultRuntime: "containerd" },
    driver: { enable: false },
  };
  const { findings, harmless } = judge({ ...stack, gpuOperator: { ...stack.gpuOperator, values } });
  expect(harmless).toEqual([]);
  expect(findings.map(({ field, remedy }) => [field, remedy])).toEqual([
    [
      "gpuOperator.values.driver.enable",
      'did you mean "driver.enabled"? see `helm show values`, or leave it out',
    ],
    ["gpuOperator.values.operator.defaultRuntime", "see `helm show values`, or leave it out"],
  ]);
});

test("so does one of a release that the stack takes over", () => {
  const { gpuOperator: _, ...rest } = validStack("rtx5070ti");
  const values = { runtimeClassname: "nvidia", runtimeClassName: "nvidia" };
  const devicePlugin = { version: "0.18.2", namespace: "nvidia", takeOver: "nvdp", values };
  const { findings } = judge({ ...rest, devicePlugin });
  expect(findings.map(({ field }) => field)).toContain("devicePlugin.values.runtimeClassname");
});
