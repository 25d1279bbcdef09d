import { createHash } from "node:crypto";
import { GpuCluster } from "../components/index";
import { record, type Run } from "../tests/support/recorder";
import { machineConfiguration, machineOutputs } from "../tests/support/talos";
import { clusterOf, credentials } from "./cluster";
import { handwritten } from "./handwritten";

/** Programs that register the same resources. */
export const programs = {
  component: (count: number): unknown => outputsOf(new GpuCluster("gpu", { ...clusterOf(count), ...credentials })),
  /** The same with `lookAgain`: `node lab/bundle/run.js bench/register.ts again 100` measures what that adds. */
  again: (count: number): unknown =>
    outputsOf(new GpuCluster("gpu", { ...clusterOf(count), ...credentials, lookAgain: "bench" })),
  handwritten: (count: number): unknown => handwritten("gpu", count),
};

function outputsOf({ machines, gpuReady, runtimeClassName, gpuResourceName, endpoints }: GpuCluster): unknown {
  return { machines, gpuReady, runtimeClassName, gpuResourceName, endpoints };
}
export type ProgramName = keyof typeof programs;

/**
 * Runs a program to its end on Pulumi's mock monitor, in this process: everything that it registers is known then.
 *
 * @throws what the program throws.
 */
export async function register(program: ProgramName, count: number): Promise<Run> {
  const run = await record(() => programs[program](count), {
    outputs: machineOutputs,
    call: machineConfiguration,
    // As the Image Factory: the ID of a schematic is its hash.
    ids: ({ type, inputs }) =>
      type === "talos:imageFactory/schematic:Schematic"
        ? createHash("sha256")
            .update(inputs["schematic"] as string)
            .digest("hex")
        : undefined,
  });
  if (run.error) throw run.error;
  return run;
}
