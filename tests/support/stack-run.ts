import program from "../../stacks";
import { record, type Run, type RunOptions } from "./recorder";
import { stackConfig } from "./stacks";
import { kubeconfig, machineSecrets, providerAnswers, talosconfig } from "./talos";

/** Invented credentials of a stack. */
const secrets = {
  "talos-gpu:talosconfig": talosconfig,
  "talos-gpu:machineSecrets": machineSecrets,
  "talos-gpu:kubeconfig": kubeconfig,
  "talos-gpu:omniEndpoint": "https://omni.example",
  "talos-gpu:omniServiceAccountKey": "omni-service-account-key",
};

/** Whether a stack creates its cluster: then it has no credentials in its configuration. */
export const bootstraps = (stack: string): boolean =>
  stackConfig(stack)["talos-gpu:bootstrap"] === "true";

/** Runs the stacks' program for one stack of this repository, and records what it registers. */
export async function runStack(
  stack: string,
  changes: Record<string, string> = {},
  options: RunOptions = {},
): Promise<Run & { outputs?: object }> {
  let outputs: object | undefined;
  const run = await record(async () => void (outputs = await program()), {
    stack,
    config: { ...stackConfig(stack), ...(bootstraps(stack) ? {} : secrets), ...changes },
    secretKeys: Object.keys(secrets),
    ...providerAnswers,
    ...options,
  });
  return { ...run, ...(outputs === undefined ? {} : { outputs }) };
}
