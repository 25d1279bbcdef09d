import * as pulumi from "@pulumi/pulumi";
import { accessOf } from "../../components/credentials/access";
import { createMachine } from "../../components/machine/create-machine";
import { record, type Run } from "../support/recorder";
import { credentials, plannedMachine } from "./gpu-machine-fixture";

/** Programs that fail, by name. */
const programs: Record<string, () => void> = {
  "wrong-schematic": () =>
    void createMachine("gpu-1", plannedMachine, { access: accessOf(credentials) }, {}),
  "bad-talosconfig": () => {
    const talosconfig = pulumi.output("context: lab\ncontexts: {lab: {key: bG9uZy1zZWNyZXQ}}\n");
    const access = accessOf({ ...credentials, talosconfig });
    createMachine("gpu-1", plannedMachine, { access, schematicId: plannedMachine.schematicId }, {});
  },
};

/** Runs one of them. Prints its error, and the resources that it had registered by then. */
async function main(name: string): Promise<void> {
  let run: Run | undefined;
  // If an output fails, the resources that wait for it wait forever, so the run ends only with the process.
  const firstRejection = new Promise<unknown>((resolve) =>
    process.on("unhandledRejection", resolve),
  );
  const rememberRun = (startedRun: Run): void => void (run = startedRun);
  void record(programs[name]!, {
    call: () => ({ machineConfiguration: "CONFIGURATION-WITH-KEYS" }),
    onStart: rememberRun,
  });
  const error = (await firstRejection) as Error;
  await new Promise((resolve) => setTimeout(resolve, 100));
  process.stdout.write(
    JSON.stringify({
      error: error.stack ?? String(error),
      registered: run!.resources.map((resource) => resource.name),
    }),
  );
  (process as unknown as { reallyExit(status: number): void }).reallyExit(0); // `exit` would print the SDK's count of unresolved outputs
}

void main(process.argv[2]!);
