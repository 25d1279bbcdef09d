import { GpuMachine } from "../../components/machine";
import { record } from "../support/recorder";
import { args } from "./gpu-machine-fixture";

/** Programs that fail, by name. */
const programs: Record<string, () => void> = {
  "wrong-schematic": () => void new GpuMachine("gpu-1", args()),
  "bad-talosconfig": () =>
    void new GpuMachine(
      "gpu-1",
      args({ schematicId: "c".repeat(64), talosconfig: "context: lab\ncontexts: {lab: {key: bG9uZy1zZWNyZXQ}}\n" }),
    ),
};

/** Runs one of them and prints what it failed with and what it had registered by then. */
async function main(name: string): Promise<void> {
  let unhandled: unknown;
  process.on("unhandledRejection", (reason) => (unhandled ??= reason));
  const run = await record(programs[name]!, { call: () => ({ machineConfiguration: "CONFIGURATION-WITH-KEYS" }) });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const error = (run.error ?? unhandled) as Error;
  process.stdout.write(
    JSON.stringify({ error: error.stack ?? String(error), registered: run.resources.map((resource) => resource.name) }),
  );
  process.exit(0);
}

void main(process.argv[2]!);
