import { judge } from "../../../components/recipe";
import { changedStack, validStack } from "../stacks";
import { valuesMistakes } from "./mistakes/values";

test("equal remarks on machines of a pool are reported once", () => {
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

test("the remedy for an external value without effect proposes no similar value", () => {
  const mistake = valuesMistakes["chart-values"]!.find(({ findings }) => findings[0]?.severity);
  const valueRemarks = judge(changedStack(mistake!)).remarks.filter(
    ({ check }) => check === "chart-values",
  );
  expect(valueRemarks.map(({ remedy }) => remedy)).toEqual([
    "see `helm show values`, or leave it out",
  ]);
});

test("a value without effect in the stack's chart is refused, and the remedy proposes a similar value", () => {
  const stack = validStack("rtx5070ti");
  const values = {
    ...stack.gpuOperator!.values,
    operator: { defaultRuntime: "containerd" },
    driver: { enable: false },
  };
  const { findings, remarks } = judge({ ...stack, gpuOperator: { ...stack.gpuOperator, values } });
  expect(remarks.filter(({ check }) => check === "chart-values")).toEqual([]);
  expect(findings.map(({ field, remedy }) => ({ field, remedy }))).toEqual([
    {
      field: "gpuOperator.values.driver.enable",
      remedy: 'did you mean "driver.enabled"? see `helm show values`, or leave it out',
    },
    {
      field: "gpuOperator.values.operator.defaultRuntime",
      remedy: "see `helm show values`, or leave it out",
    },
  ]);
});

test("a value without effect is also refused if the stack takes the release over", () => {
  const { gpuOperator: _, ...rest } = validStack("rtx5070ti");
  const values = { runtimeClassname: "nvidia", runtimeClassName: "nvidia" };
  const devicePlugin = { version: "0.18.2", namespace: "nvidia", takeOver: "nvdp", values };
  const { findings } = judge({ ...rest, devicePlugin });
  expect(findings.map(({ field }) => field)).toContain("devicePlugin.values.runtimeClassname");
});
