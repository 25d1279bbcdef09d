import { checks, judge, renderFinding } from "../../../components/recipe";
import { validStack } from "../stacks";
import { remarkedStack, remarkedStacks } from "./remarked-stacks";

describe.each(remarkedStacks)("$name", (row) => {
  const { findings, remarks } = judge(remarkedStack(row));

  test("does not refuse the stack", () => {
    expect(findings).toEqual([]);
  });

  test.each(row.says)("the check %s says at %s “%s”", (check, field, part) => {
    const said = remarks.filter((one) => one.check === check && one.field === field);
    expect(said.map(renderFinding).join("\n")).toContain(part);
    for (const { severity } of said) expect(severity).toBe(checks[check]?.severity ?? "warning");
  });
});

test("names of remarked stacks are their own", () => {
  expect(new Set(remarkedStacks.map(({ name }) => name)).size).toBe(remarkedStacks.length);
});

test("machines of a pool that have something alike are one remark", () => {
  const { machines: _, ...stack } = validStack("one-card");
  const pools = {
    home: {
      names: "gpu-##",
      addresses: ["10.0.0.1-10.0.0.3"],
      role: "worker",
      configuration: "adopted",
      gpus: [{ model: "RTX 3090" }],
    },
  };
  const { remarks } = judge({ ...stack, talosVersion: "v1.10.3", pools });
  const escapes = remarks.filter(({ check }) => check === "container-escape");
  expect(escapes.map(({ field }) => field)).toEqual(["pools.home (gpu-01 and 2 more)"]);
});

test("a value that is only alike is not proposed: it means something else", () => {
  const row = remarkedStacks.find(({ says }) => says.some(([check]) => check === "chart-values"));
  const found = judge(remarkedStack(row!)).remarks.filter(({ check }) => check === "chart-values");
  expect(found.map(({ remedy }) => remedy)).toEqual(["see `helm show values`, or leave it out"]);
});

test("a value of the stack's own that has no effect refuses it, with the one that was meant", () => {
  const stack = validStack("rtx5070ti");
  const values = {
    ...stack.gpuOperator!.values,
    operator: { defaultRuntime: "containerd" },
    driver: { enable: false },
  };
  const { findings, remarks } = judge({ ...stack, gpuOperator: { ...stack.gpuOperator, values } });
  expect(remarks.filter(({ check }) => check === "chart-values")).toEqual([]);
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
