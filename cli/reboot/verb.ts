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

/** `talos-gpu reboot`: reboots a machine with the steps of an update, for a card that only a reboot brings back. */
export const reboot: Verb = {
  summary:
    "reboots a machine of a stack with the steps of an update: drain, reboot, check of the driver; control planes one at a time",
  argument: { name: "MACHINE" },
  options: {
    stack: { value: "NAME", help: `stack of the machine, ${stackHelp}` },
    kubeconfig: {
      value: "FILE",
      help: "kubeconfig of the machine's cluster, to evict its pods (default: KUBECONFIG)",
    },
    talosconfig: {
      value: "FILE",
      help: "talosconfig of the machine's cluster, for talosctl (default: TALOSCONFIG)",
    },
  },
  more: `The command refuses a machine that differs from its stack: for such a machine run \`pulumi up\`. If the command is killed, run it again. It uses the talosctl at the path in TALOS_GPU_TALOSCTL, or else the talosctl in PATH.
`,
  run: async (args, output) => {
    const stack = neededStack(args, "what the machine must run after the reboot");
    const machines = plannedMachines(planOfStack(stack));
    const name = args.positionals[0]!;
    const machine = machines.find((candidate) => candidate.name === name);
    if (machine === undefined)
      throw new Error(
        `${name}: is not a machine of the stack; name one of ${machines.map((candidate) => candidate.name).join(", ")}`,
      );
    if (machine.configuration === "omni")
      throw new Error(
        `${name}: Omni manages this machine, and would not wait for this command's drain; reboot it in Omni`,
      );
    for (const [variable, option] of [
      ["KUBECONFIG", "kubeconfig"],
      ["TALOSCONFIG", "talosconfig"],
    ] as const) {
      const file = valueOf(args, option);
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
