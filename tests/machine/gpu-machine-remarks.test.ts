import * as pulumi from "@pulumi/pulumi";
import { GpuMachine, type GpuMachineArgs } from "../../components/machine/gpu-machine";
import { record } from "../support/recorder";
import { args } from "./gpu-machine-fixture";
import { providerAnswer } from "./recorded-machine";

/** The messages in the preview of a single machine, each with its resource. */
async function previewMessages(
  fields: Partial<GpuMachineArgs>,
): Promise<{ warnings: string[]; notes: string[] }> {
  const warnings: string[] = [];
  const notes: string[] = [];
  const recordLines = (lines: string[]) => (line: string, resource?: pulumi.Resource) =>
    Promise.resolve(
      void lines.push(`${resource instanceof GpuMachine ? "machine" : "?"}: ${line}`),
    );
  const spies = [
    jest.spyOn(pulumi.log, "warn").mockImplementation(recordLines(warnings)),
    jest.spyOn(pulumi.log, "info").mockImplementation(recordLines(notes)),
  ];
  const run = await record(() => void new GpuMachine("gpu-1", args(fields)), {
    preview: true,
    call: providerAnswer,
  });
  for (const spy of spies) spy.mockRestore();
  expect(run.error).toBeUndefined();
  return { warnings, notes };
}

const gpus = [{ model: "RTX 5070 Ti" }];

test("the preview of a GpuMachine shows a finding about one of its arguments under the name of this argument", async () => {
  const { warnings, notes } = await previewMessages({
    gpus,
    versionContract: "v1.12",
    kernelArgs: ["nvidia-drm.fbdev=1"],
  });
  expect([...warnings, ...notes]).toContainEqual(
    expect.stringMatching(/^machine: kernelArgs\[0\]: .*nvidia-drm\.fbdev/),
  );
});

test("a warning about machineDefaults names the argument of the GpuMachine", async () => {
  const { warnings } = await previewMessages({ gpus });
  expect(warnings).toEqual([expect.stringMatching(/^machine: versionContract: .*gpu-1/)]);
});

test("a GpuMachine with a versionContract has no warnings and notes", async () => {
  expect(await previewMessages({ gpus, versionContract: "v1.12" })).toEqual({
    warnings: [],
    notes: [],
  });
});

test("the preview of a GpuMachine shows no notes about the GPU provider", async () => {
  const { warnings, notes } = await previewMessages({
    gpus,
    versionContract: "v1.12",
    gpuOperator: { version: "v99.0.0" },
  });
  expect({ warnings, notes }).toEqual({ warnings: [], notes: [] });
});
