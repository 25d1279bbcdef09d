import { inLine } from "../../components/recipe/rules/printable";
import { readWithAccess, reachOptions } from "../reach/options";
import { placeOf } from "../stack";
import { editorLine, taskText } from "../stack-text";
import { SeveralFaults, type Verb, valueOf } from "../verb";
import { nextSteps, placeToWrite, writeOptions, writeStack } from "../write-stack";
import { readCluster } from "./look";
import { renderDiscovered, stackOf } from "./stack-of";

/** `talos-gpu discover`: writes the stack file of a live cluster. */
export const discover: Verb = {
  summary: "writes a stack file from a live cluster; changes nothing in the cluster",
  options: {
    ...reachOptions("the stack file lacks cards and images"),
    ...writeOptions,
    stack: {
      value: "NAME",
      help: "stack whose file, Pulumi.NAME.yaml, is written (default: the selected stack if it has no machines yet, else the cluster's name)",
    },
    name: { value: "NAME", help: "the same as --stack" },
    machine: {
      value: "NODE",
      help: "machine for the stack; may be repeated (default: all machines)",
    },
  },
  more: "The command uses the talosctl at the path in TALOS_GPU_TALOSCTL, or else the talosctl in PATH. Comments in the file list the facts that could not be read.\n",
  run: async (args, output) => {
    const { seen: cluster, source } = await readWithAccess(args, async (access, timeLimit) => ({
      seen: await readCluster(access, timeLimit, (line) => output.remark(inLine(line))),
      source: access.kubeconfig.getCurrentCluster()?.server ?? "an unknown address",
    }));
    if (cluster.machines.length === 0) throw new SeveralFaults(cluster.unseen);
    const machineNames = args.values.machine;
    const unknownNames = (machineNames ?? []).filter(
      (name) => !cluster.machines.some((machine) => machine.name === name),
    );
    if (unknownNames.length > 0)
      throw new Error(
        `--machine: the cluster has no machine ${unknownNames.join(", ")}; name one of ${cluster.machines.map(({ name }) => name).join(", ")}`,
      );

    const discovered = stackOf(cluster, machineNames);
    const statedName = valueOf(args, "stack") ?? valueOf(args, "name");
    const name = nameOf(
      statedName ??
        cluster.machines.find(({ clusterName }) => clusterName)?.clusterName ??
        "discovered",
    );
    const values = statedName === undefined ? args.values : { ...args.values, stack: [name] };
    const out = placeToWrite({ ...args, values }) ?? placeOf(name);
    const line = editorLine(out === "-" ? undefined : out);
    const text = `${line}${renderDiscovered(discovered, cluster.unseen, source)}`;
    if (out !== "-") writeStack(out, text, args.switches.has("force"));
    const status = cluster.unseen.length > 0 ? 2 : discovered.findings.length > 0 ? 1 : 0;
    if (args.switches.has("json"))
      output.result(
        `${JSON.stringify({ status, file: out === "-" ? null : out, stack: text, spec: discovered.spec, findings: discovered.findings, unseen: cluster.unseen })}\n`,
      );
    else if (out === "-") output.result(text);
    else
      output.result(
        `${nextSteps(out, args.environment)}. Comments in the file list the fields that you must still fill in.\n`,
      );
    for (const line of cluster.unseen) output.remark(inLine(`could not read: ${line}`));
    for (const finding of discovered.findings) output.remark(inLine(taskText(finding)));
    return status;
  },
};

/** A name that Pulumi accepts for a stack. */
function nameOf(text: string): string {
  if (/^[A-Za-z0-9_.-]{1,100}$/.test(text)) return text;
  throw new Error(
    `--name: ${JSON.stringify(text)} is not a stack name; write letters, digits, dots, dashes and underscores`,
  );
}
