import * as path from "node:path";
import { assertOk, runLab } from "./support/labs";

const file = (name: string): string => path.join(__dirname, "stacks", `Pulumi.${name}.yaml`);

test.concurrent.each([
  ["vLLM splits a model over both cards once the test pod is out", "aarhus-h100", "aarhus-h100-serves", ["vllm/vllm"]],
  [
    "ComfyUI gets the card when ollama gives it up",
    "rtx5070ti",
    "rtx5070ti-paints",
    ["comfyui/comfyui", "ollama/ollama"],
  ],
  [
    "a card is shared by time slicing, for two, instead of by MPS for four",
    file("mps-operator"),
    "slices-operator",
    ["gpu-pods/client-1", "gpu-pods/client-2"],
  ],
  [
    "the standalone device plugin takes the operator's place",
    file("slices-operator"),
    "slices-plugin",
    ["gpu-pods/client-1", "gpu-pods/client-2"],
  ],
])(
  "%s, by an edit that no machine notices",
  async (_, before, after, workloads) => {
    const { status, report, lines } = await runLab(["--stack", before, "--then", file(after)]);
    assertOk({ status, report, lines });
    expect(report.workloads.map(({ namespace, name }) => `${namespace}/${name}`).sort()).toEqual(workloads);
    expect(report.workloads.every(({ ready }) => ready)).toBe(true);
    expect(report.updates[1]).toMatchObject({ result: "succeeded", machineRequests: 0 });
    expect(Object.values(report.machines).map(({ reboots }) => reboots)).toEqual([1]);
  },
  10 * 60_000,
);
