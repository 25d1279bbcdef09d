import * as pulumi from "@pulumi/pulumi";
import { GpuMachine, type GpuMachineArgs } from "../../components/machine/gpu-machine";
import { record } from "../support/recorder";
import { args } from "./gpu-machine-fixture";
import { call } from "./recorded-machine";

/** The messages in the preview of a single machine, each with its resource. */
async function shown(
  more: Partial<GpuMachineArgs>,
): Promise<{ warnings: string[]; notes: string[] }> {
  const warnings: string[] = [];
  const notes: string[] = [];
  const noting = (lines: string[]) => (line: string, resource?: pulumi.Resource) =>
    Promise.resolve(
      void lines.push(`${resource instanceof GpuMachine ? "machine" : "?"}: ${line}`),
    );
  const spies = [
    jest.spyOn(pulumi.log, "warn").mockImplementation(noting(warnings)),
    jest.spyOn(pulumi.log, "info").mockImplementation(noting(notes)),
  ];
  const made = await record(() => void new GpuMachine("gpu-1", args(more)), {
    preview: true,
    call,
  });
  for (const spy of spies) spy.mockRestore();
  expect(made.error).toBeUndefined();
  return { warnings, notes };
}

const gpus = [{ model: "RTX 5070 Ti" }];

test("the preview of a GpuMachine shows its warnings and notes with the names of its arguments", async () => {
  const { warnings, notes } = await shown({
    gpus,
    versionContract: "v1.12",
    kernelArgs: ["nvidia-drm.fbdev=1"],
  });
  expect([...warnings, ...notes]).toContainEqual(
    expect.stringMatching(/^machine: kernelArgs\[0\]: .*nvidia-drm\.fbdev/),
  );
});

test("a warning about machineDefaults names the argument of the GpuMachine", async () => {
  const { warnings } = await shown({ gpus });
  expect(warnings).toEqual([expect.stringMatching(/^machine: versionContract: .*gpu-1/)]);
});

test("a GpuMachine with a versionContract has no warnings and notes", async () => {
  expect(await shown({ gpus, versionContract: "v1.12" })).toEqual({ warnings: [], notes: [] });
});

test("the preview of a GpuMachine shows no notes about the GPU provider", async () => {
  const { warnings, notes } = await shown({
    gpus,
    versionContract: "v1.12",
    gpuOperator: { version: "v99.0.0" },
  });
  expect({ warnings, notes }).toEqual({ warnings: [], notes: [] });
});
