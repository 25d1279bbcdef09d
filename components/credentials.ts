import type * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "./recipe/spec";
import type { Finding } from "./recipe/types";

/** What gives access to the machines and the cluster. Everything here is treated as secret. */
export interface Credentials {
  /** Content of the Talos client configuration (talosconfig). */
  talosconfig?: pulumi.Input<string>;
  /** Content of `talosctl gen secrets`; required with an owned machine. */
  machineSecrets?: pulumi.Input<string>;
  /** Content of the kubeconfig that machines are drained with. */
  kubeconfig?: pulumi.Input<string>;
}

interface Need {
  field: keyof Credentials;
  /** Variable that names a file of it. */
  variable: string;
  why: string;
  /** Whether the machine program reads the file itself, when the content is not given. */
  fileWillDo: boolean;
}

/**
 * Credentials that a cluster lacks. Only their presence is looked at: their content may not be known at preview.
 *
 * @param environment Variables that may name files.
 */
export function missingCredentials(
  given: { [field in keyof Credentials]: Credentials[field] | undefined },
  spec: ClusterSpec | undefined,
  environment: NodeJS.ProcessEnv,
): Finding[] {
  const owned = Object.values(spec?.machines ?? {}).some((machine) => machine.configuration === "owned");
  return needs(owned)
    .filter(({ field, variable, fileWillDo }) => given[field] === undefined && !(fileWillDo && environment[variable]))
    .map(({ field, variable, why }) => ({
      check: "credentials",
      field,
      problem: "is not set",
      why,
      remedy: `in a stack, set the secret talos-gpu:${field} or the variable ${variable} to its file; in a program, pass its content`,
    }));
}

function needs(owned: boolean): Need[] {
  const talosconfig: Need = {
    field: "talosconfig",
    variable: "TALOSCONFIG",
    why: "the machines' Talos API could not be reached",
    fileWillDo: !owned,
  };
  const kubeconfig: Need = {
    field: "kubeconfig",
    variable: "KUBECONFIG",
    why: "machines could not be drained before they reboot",
    fileWillDo: true,
  };
  const machineSecrets: Need = {
    field: "machineSecrets",
    variable: "TALOS_SECRETS",
    why: "the configuration of an owned machine is made from it",
    fileWillDo: false,
  };
  return [talosconfig, kubeconfig, ...(owned ? [machineSecrets] : [])];
}
