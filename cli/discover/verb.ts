import * as fs from "node:fs";
import * as path from "node:path";
import { editorLine, toDo, writeStack } from "../stack-text";
import { lookAtCluster, reachOptions } from "../reach/options";
import { type Verb, valueOf } from "../verb";
import { look } from "./look";
import { renderDiscovered, stackOf } from "./stack-of";

/** `talos-gpu discover`: writes the stack file of a live cluster. */
export const discover: Verb = {
  summary: "looks at a live cluster and writes the stack file of it; changes nothing in the cluster",
  options: {
    ...reachOptions("cards and images stay out"),
    name: { value: "NAME", help: "name of the stack (default: the cluster's name)" },
    machine: { value: "NODE", help: "a machine that the stack is to have; may be repeated (default: all of them)" },
    out: {
      value: "FILE",
      help: "write the stack there; - writes to standard output (default: Pulumi.NAME.yaml in stacks/, or here)",
    },
    force: { help: "overwrite the file if it is there" },
  },
  more: "talosctl is taken from PATH, or from TALOS_GPU_TALOSCTL. The file has a comment for everything that could not be found out.\n",
  run: async (given, output) => {
    const { seen, source } = await lookAtCluster(given, async (access, within) => ({
      seen: await look(access, within, (line) => output.remark(line)),
      source: access.kubeconfig.getCurrentCluster()?.server ?? "an unknown address",
    }));
    if (seen.machines.length === 0) throw new Error(seen.unseen.join("\n"));
    const only = given.values.machine;
    const strange = (only ?? []).filter((name) => !seen.machines.some((machine) => machine.name === name));
    if (strange.length > 0)
      throw new Error(
        `--machine: the cluster has no machine ${strange.join(", ")}; take ${seen.machines.map(({ name }) => name).join(", ")}`,
      );

    const discovered = stackOf(seen, only);
    const name = nameOf(
      valueOf(given, "name") ?? seen.machines.find(({ clusterName }) => clusterName)?.clusterName ?? "discovered",
    );
    const out = valueOf(given, "out") ?? path.join(fs.existsSync("stacks") ? "stacks" : ".", `Pulumi.${name}.yaml`);
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
        `${out} is written: look through its comments, then \`pulumi stack init ${name}\` and \`pulumi preview -s ${name}\`\n`,
      );
    for (const line of seen.unseen) output.remark(`could not look: ${line}`);
    for (const finding of discovered.findings) output.remark(toDo(finding));
    return status;
  },
};

/** A name that Pulumi takes for a stack. */
function nameOf(text: string): string {
  if (/^[A-Za-z0-9_.-]{1,100}$/.test(text)) return text;
  throw new Error(
    `--name: ${JSON.stringify(text)} is not a stack name; write letters, digits, dots, dashes and underscores`,
  );
}
