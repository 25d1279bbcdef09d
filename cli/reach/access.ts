import * as fs from "node:fs";
import { boundedYaml } from "../../components/recipe/rules/yaml";
import { secretValues } from "../../components/clients/secret-files";
import { contextProblem } from "../../components/clients/talos/talosconfig";
import { certificateProblem } from "../../components/clients/certificates";
import { defined } from "../../components/recipe/mapping";
import type { KubeConfig } from "@kubernetes/client-node";
import { usualKubeconfig } from "./usual-kubeconfig";

/** Access to the machines of a cluster. */
export interface MachineAccess {
  /** The program talosctl, by name or path. */
  talosctl: string;
  /** Path of the talosconfig. */
  talosconfig: string;
  /** Secrets of the talosconfig, which no message may contain. */
  secrets: readonly string[];
  /** Milliseconds to wait for a machine that does not answer or stops answering: it may be rebooting. Default 0. */
  patience?: number;
  /**
   * Milliseconds for all machines together; machines that are not reached within the limit are reported. Default: no
   * limit.
   */
  limit?: number;
  /** Problem of the talosconfig itself, which is reported instead of the machines' refusals. */
  problem?: string;
}

/** Access to a cluster. */
export interface Access {
  kubeconfig: KubeConfig;
  /** Access to the cluster's machines; undefined if the machines are not read. */
  machines?: MachineAccess;
}

/** Access to a cluster, and the parts that are skipped because there is no access to them. */
export interface ClusterAccess extends Access {
  /** One sentence for each skipped part, with the reason. */
  leftOut: string[];
}

/**
 * Access to a cluster, from options and environment.
 *
 * @throws Error with a message for the user when a file cannot be read, or there is no kubeconfig at all.
 */
export function accessOf(
  kubeconfig: string | undefined,
  talosconfig: string | undefined,
  environment: NodeJS.ProcessEnv,
  now: Date,
): ClusterAccess {
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
  "without a talosconfig, the machines' release, schematic, modules, driver and services could not be read";

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
  let talosconfigValue: unknown;
  try {
    content = fs.readFileSync(talosconfig, "utf8");
    talosconfigValue = boundedYaml(content);
  } catch (error) {
    throw new Error(
      `--talosconfig: cannot be read (${(error as Error).message.split("\n")[0]!}), so the machines cannot be reached; name another file, or leave it out`,
      { cause: error },
    );
  }
  const contextFault = contextProblem(talosconfigValue);
  if (contextFault !== undefined)
    throw new Error(
      `--talosconfig: ${talosconfig} gives access to no machine (${contextFault}), so the machines cannot be reached; choose a context by \`talosctl config context NAME\`, or leave the option out`,
    );
  const { context, contexts } = talosconfigValue as Talosconfig;
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
