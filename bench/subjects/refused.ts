import program from "../../stacks";
import { record } from "../../tests/support/recorder";
import { kubeconfig, machineSecrets, talosconfig } from "../../tests/support/talos";
import { fleetOf } from "../fleet";
import { measureWholeProcess } from "../measured";

// `refused.ts COUNT`: runs the stacks' program from its start until it refuses a stack with that many machines.
// Pulumi's host and engine do not run.

const credentials = {
  "talos-gpu:talosconfig": talosconfig,
  "talos-gpu:machineSecrets": machineSecrets,
  "talos-gpu:kubeconfig": kubeconfig,
};

function configuration(count: number): Record<string, string> {
  const refusedSpec = {
    ...fleetOf(count),
    gpuOperator: { version: "v25.10.1", namespace: "Not A Namespace" },
  };
  const entries = Object.entries(refusedSpec).map(([key, value]): [string, string] => [
    `talos-gpu:${key}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return { ...Object.fromEntries(entries), ...credentials };
}

async function main(count: number): Promise<void> {
  await measureWholeProcess(async () => {
    const run = await record(program, {
      preview: true,
      config: configuration(count),
      secretKeys: Object.keys(credentials),
    });
    const refusal = run.error?.message ?? "";
    if (!refusal.includes("gpuOperator.namespace"))
      throw new Error(`the stack was not refused: ${refusal}`);
    const registered = run.resources.filter(({ type }) => type !== "pulumi:pulumi:Stack"); // the SDK registers the stack itself
    if (registered.length > 0)
      throw new Error(
        `registered before the refusal: ${registered.map(({ urn }) => urn).join(", ")}`,
      );
  });
}

void main(Number(process.argv[2]));
