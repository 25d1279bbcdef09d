import { upgradeTaskOf } from "../../components/machine/upgrade-task";
import { Clients } from "../../components/program/clients";
import { Credentials } from "../../components/program/credentials";
import { upgradeResult } from "../../components/program/task";
import { verbs } from "../../components/program/verbs";
import { plannedMachines } from "../../components/recipe/machine/planned-machine";
import { inLine } from "../../components/recipe/rules/printable";
import { redact } from "../../components/recipe/rules/redact";
import { neededStack, planOfStack, stackHelp } from "../stack";
import { type Verb, valueOf } from "../verb";

/** `talos-gpu reboot`: what an update does around a reboot, for a card that only a reboot brings back. */
export const reboot: Verb = {
  summary:
    "reboots a machine of a stack as an update does: drained, one control plane at a time, its driver verified",
  argument: { name: "MACHINE" },
  options: {
    stack: { value: "NAME", help: `stack of the machine, ${stackHelp}` },
    kubeconfig: {
      value: "FILE",
      help: "of the machine's cluster, whose pods are evicted (default: KUBECONFIG)",
    },
    talosconfig: {
      value: "FILE",
      help: "how to reach the machine, through talosctl (default: TALOSCONFIG)",
    },
  },
  more: `A machine that does not run what the stack says is left alone: \`pulumi up\` brings it there. Killed, it may be run again.
talosctl is taken from PATH, or from TALOS_GPU_TALOSCTL.
`,
  run: async (given, output) => {
    const stack = neededStack(given, "what the machine must run afterwards");
    const machines = plannedMachines(planOfStack(stack));
    const name = given.positionals[0]!;
    const machine = machines.find((one) => one.name === name);
    if (machine === undefined)
      throw new Error(
        `${name}: is no machine of the stack; take one of ${machines.map((one) => one.name).join(", ")}`,
      );
    if (machine.configuration === "omni")
      throw new Error(
        `${name}: Omni keeps this machine, and waits for no drain of ours; reboot it there`,
      );
    for (const [variable, option] of [
      ["KUBECONFIG", "kubeconfig"],
      ["TALOSCONFIG", "talosconfig"],
    ] as const) {
      const file = valueOf(given, option);
      if (file !== undefined) process.env[variable] = file;
    }
    const credentials = new Credentials();
    const clients = new Clients(
      credentials,
      (line) => output.remark(inLine(redact(line, credentials.secrets))),
      () => true,
      () => undefined,
    );
    process.once("exit", () => clients.close());
    try {
      const task = { ...upgradeTaskOf(machine, machine.schematicId, ""), reboots: true };
      const { phases } = upgradeResult.parse(
        await verbs.get("upgrade")!.run(JSON.stringify(task), clients),
      );
      const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
      output.result(`${name} has rebooted, and its driver is up [${seconds.toFixed(0)} s]\n`);
      return 0;
    } finally {
      clients.close();
    }
  },
};
