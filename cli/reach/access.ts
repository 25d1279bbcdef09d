import * as fs from "node:fs";
import { boundedYaml } from "../../components/recipe/rules/yaml";
import { secretValues } from "../../components/clients/secret-files";
import { contextProblem } from "../../components/clients/talos/talosconfig";
import { certificateProblem } from "../../components/clients/certificates";
import { defined } from "../../components/recipe/mapping";
import type { KubeConfig } from "@kubernetes/client-node";
import { usualKubeconfig } from "./usual-kubeconfig";

/** How to look at the machines of a cluster. */
export interface MachineAccess {
  /** Program, by name or path. */
  talosctl: string;
  /** Path of the talosconfig. */
  talosconfig: string;
  /** Values of it that no message may hold. */
  secrets: readonly string[];
  /** Milliseconds to wait for a machine that does not answer, or ceases to: it may be rebooting. Default 0. */
  patience?: number;
  /** Milliseconds for all of it; machines that are not reached within it are named. Default: no limit of its own. */
  limit?: number;
  /** Mistake of the talosconfig itself, reported instead of the machines' refusals. */
  problem?: string;
}

/** How to look at a cluster. */
export interface Access {
  kubeconfig: KubeConfig;
  /** How to look at its machines; undefined leaves them out. */
  machines?: MachineAccess;
}

/** How a cluster is inspected, and the lines that say so beforehand. */
export interface Looking extends Access {
  /** Skipped parts, with the reason. */
  leftOut: string[];
}

/**
 * How to look at a cluster, from options and environment.
 *
 * @throws Error with a message for the user when a file cannot be read, or there is no kubeconfig at all.
 */
export function accessOf(
  kubeconfig: string | undefined,
  talosconfig: string | undefined,
  environment: NodeJS.ProcessEnv,
  now: Date,
): Looking {
  const machines = talosconfig ?? (environment.TALOSCONFIG || undefined);
  return {
    kubeconfig: usualKubeconfig(kubeconfig, environment),
    leftOut: machines === undefined ? [withoutMachines] : [],
    ...defined({
      machines: machines === undefined ? undefined : machineAccess(machines, environment, now),
    }),
  };
}

const withoutMachines =
  "without a talosconfig the machines were not looked at: release, schematic, modules, driver, services";

interface Talosconfig {
  context: string;
  contexts: Record<string, { crt?: string } | null>;
}

function machineAccess(
  talosconfig: string,
  environment: NodeJS.ProcessEnv,
  now: Date,
): MachineAccess {
  let content: string;
  let read: unknown;
  try {
    content = fs.readFileSync(talosconfig, "utf8");
    read = boundedYaml(content);
  } catch (error) {
    throw new Error(
      `--talosconfig: cannot be read (${(error as Error).message.split("\n")[0]!}), so the machines cannot be reached; name another file, or leave it out`,
      { cause: error },
    );
  }
  const wrong = contextProblem(read);
  if (wrong !== undefined)
    throw new Error(
      `--talosconfig: ${talosconfig} leads to no machine (${wrong}), so the machines cannot be reached; choose a context by \`talosctl config context NAME\`, or leave the file out`,
    );
  const { context, contexts } = read as Talosconfig;
  const crt = contexts[context]?.crt;
  const problem =
    crt === undefined ? undefined : certificateProblem(Buffer.from(crt, "base64").toString(), now);
  return {
    talosctl: environment.TALOS_GPU_TALOSCTL || "talosctl",
    talosconfig,
    secrets: secretValues(content),
    ...defined({
      problem:
        problem && `talosconfig ${talosconfig}: the certificate of context ${context} ${problem}`,
    }),
  };
}
