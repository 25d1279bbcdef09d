import * as fs from "node:fs";
import * as k8s from "@kubernetes/client-node";
import { secretValues } from "../../components/machine/program/credentials";
import { diagnose, parseSpec, planCluster, renderFindings, type Plan } from "../../components/recipe/index";
import { systemOf } from "../../components/diagnosis/rules/system";
import { readStackFile } from "../../stacks/stack-file";
import { observe, type Access } from "./observe";
import { type DoctorOptions, parseOptions, usage } from "./options";
import { renderReport, reportOf } from "./report";

/** Looks at a live cluster and says what is wrong; gives the exit status. */
async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv, process.env);
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const plan = options.stack === undefined ? undefined : planOf(options.stack);
  const { access, notes } = accessOf(options);
  const addresses = plan && Object.fromEntries(plan.machines.map(({ name, address }) => [name, address]));
  const seen = await observe(access, addresses);
  const findings = diagnose(seen.observations, plan);
  const report = reportOf(systemOf(seen.observations, plan), findings, [...notes, ...seen.notes]);
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : `${renderReport(report)}\n`);
  return findings.length === 0 ? 0 : 1;
}

/** The plan of a stack file. */
function planOf(stack: string): Plan {
  const { spec, findings } = parseSpec(readStackFile(stack));
  if (spec === undefined) throw new Error(renderFindings(findings));
  return planCluster(spec);
}

function accessOf({ kubeconfig: file, talosconfig }: DoctorOptions): { access: Access; notes: string[] } {
  const kubeconfig = new k8s.KubeConfig();
  try {
    if (file === undefined) kubeconfig.loadFromDefault();
    else kubeconfig.loadFromFile(file);
  } catch (error) {
    throw new Error(
      `--kubeconfig: cannot be read (${(error as Error).message}), so Kubernetes cannot be reached; name another file`,
      { cause: error },
    );
  }
  if (talosconfig === undefined) {
    return {
      access: { kubeconfig },
      notes: ["no talosconfig: machines (modules, driver, services) were not looked at"],
    };
  }
  let content: string;
  try {
    content = fs.readFileSync(talosconfig, "utf8");
  } catch (error) {
    throw new Error(
      `--talosconfig: cannot be read (${(error as Error).message}), so the machines cannot be reached; name another file, or leave it out`,
      { cause: error },
    );
  }
  const talosctl = process.env.TALOS_GPU_TALOSCTL ?? "talosctl";
  return { access: { kubeconfig, machines: { talosctl, talosconfig, secrets: secretValues(content) } }, notes: [] };
}

main(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 2;
  },
);
