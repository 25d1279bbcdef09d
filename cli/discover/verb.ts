import { inLine } from "../../components/recipe/rules/printable";
import { lookAtCluster, reachOptions } from "../reach/options";
import { placeOf } from "../stack";
import { editorLine, toDo } from "../stack-text";
import { SeveralFaults, type Verb, valueOf } from "../verb";
import { nextSteps, placeToWrite, writeOptions, writeStack } from "../write-stack";
import { look } from "./look";
import { renderDiscovered, stackOf } from "./stack-of";

/** `talos-gpu discover`: writes the stack file of a live cluster. */
export const discover: Verb = {
  summary: "writes a stack file from a live cluster; changes nothing in the cluster",
  options: {
    ...reachOptions("the stack file lacks cards and images"),
    ...writeOptions,
    stack: {
      value: "NAME",
      help: "stack to write, in the file that Pulumi reads (default: the selected stack if it has no machines yet; else the cluster's name)",
    },
    name: { value: "NAME", help: "the same as --stack" },
    machine: {
      value: "NODE",
      help: "machine for the stack; may be repeated (default: all machines)",
    },
  },
  more: "It uses the talosctl at the path in TALOS_GPU_TALOSCTL, or else the talosctl in PATH. Comments in the file list the facts that could not be read.\n",
  run: async (given, output) => {
    const { seen, source } = await lookAtCluster(given, async (access, within) => ({
      seen: await look(access, within, (line) => output.remark(inLine(line))),
      source: access.kubeconfig.getCurrentCluster()?.server ?? "an unknown address",
    }));
    if (seen.machines.length === 0) throw new SeveralFaults(seen.unseen);
    const only = given.values.machine;
    const strange = (only ?? []).filter(
      (name) => !seen.machines.some((machine) => machine.name === name),
    );
    if (strange.length > 0)
      throw new Error(
        `--machine: the cluster has no machine ${strange.join(", ")}; name one of ${seen.machines.map(({ name }) => name).join(", ")}`,
      );

    const discovered = stackOf(seen, only);
    const named = valueOf(given, "stack") ?? valueOf(given, "name");
    const name = nameOf(
      named ?? seen.machines.find(({ clusterName }) => clusterName)?.clusterName ?? "discovered",
    );
    const values = named === undefined ? given.values : { ...given.values, stack: [name] };
    const out = placeToWrite({ ...given, values }) ?? placeOf(name);
    const line = editorLine(out === "-" ? undefined : out);
    const text = `${line}${renderDiscovered(discovered, seen.unseen, source)}`;
    if (out !== "-") writeStack(out, text, given.switches.has("force"));
    const status = seen.unseen.length > 0 ? 2 : discovered.findings.length > 0 ? 1 : 0;
    if (given.switches.has("json"))
      output.result(
        `${JSON.stringify({ status, file: out === "-" ? null : out, stack: text, spec: discovered.spec, findings: discovered.findings, unseen: seen.unseen })}\n`,
      );
    else if (out === "-") output.result(text);
    else
      output.result(
        `${nextSteps(out, given.environment)}. Comments in the file list the fields that you must still fill in.\n`,
      );
    for (const line of seen.unseen) output.remark(inLine(`could not read: ${line}`));
    for (const finding of discovered.findings) output.remark(inLine(toDo(finding)));
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
