import type * as pulumi from "@pulumi/pulumi";
import { credentialTexts } from "./texts";
import { inputFindings } from "../recipe/checks/check-arguments";
import { type Rule, serverUrl } from "../recipe/rules";
import type { ClusterSpec } from "../recipe/spec/index";
import type { Finding } from "../recipe/types";

/** What gives access to the machines and the cluster. Everything here is treated as secret. */
export interface Credentials {
  /** Content of the Talos client configuration (talosconfig). */
  talosconfig?: pulumi.Input<string>;
  /** Content of `talosctl gen secrets`; required with an owned machine. */
  machineSecrets?: pulumi.Input<string>;
  /** Content of the kubeconfig that machines are drained with and objects are looked at with. Objects are made through the Kubernetes provider of the options. */
  kubeconfig?: pulumi.Input<string>;
  /** URL of Omni; required with a machine of Omni's. */
  omniEndpoint?: pulumi.Input<string>;
  /** Key of a service account of Omni; required with a machine of Omni's. */
  omniServiceAccountKey?: pulumi.Input<string>;
}

const anything: Rule = () => undefined;

/**
 * What each is by itself, as far as its content is known.
 *
 * @param owned whether a machine is, whose configuration is made from them.
 */
export const credentialRules = (owned: boolean): Record<keyof Credentials, Rule> => ({
  talosconfig: owned ? credentialTexts.clientTalosconfig : credentialTexts.talosconfig,
  machineSecrets: credentialTexts.machineSecrets,
  kubeconfig: credentialTexts.kubeconfig,
  omniEndpoint: serverUrl,
  omniServiceAccountKey: anything,
});

interface Need {
  field: keyof Credentials;
  /** Variable that names a file of it, or for Omni's holds it. */
  variable: string;
  why: string;
  /** Whether the machine program reads the file itself, when the content is not given. */
  fileWillDo: boolean;
}

type Given = { [field in keyof Credentials]: Credentials[field] | undefined };

/**
 * What is wrong with a cluster's credentials: those that are missing, and those whose text is of no use, as far as it is known at
 * preview.
 *
 * @param environment Variables that may name files.
 */
export function credentialFindings(
  given: Given,
  spec: ClusterSpec | undefined,
  environment: NodeJS.ProcessEnv,
): Finding[] {
  const has = (owner: string): boolean =>
    Object.values(spec?.machines ?? {}).some((machine) => machine.configuration === owner);
  const needed = [...(spec?.bootstrap ? [] : needs(has("owned"))), ...(has("omni") ? omniNeeds : [])];
  const missing = needed
    .filter(({ field, variable, fileWillDo }) => !isGiven(given[field]) && !(fileWillDo && environment[variable]))
    .map(({ field, variable, why }) => ({
      check: "credentials",
      field,
      problem: "is not set",
      why,
      remedy: `in a stack, set the secret talos-gpu:${field} or the variable ${variable}${variable.startsWith("OMNI") ? "" : " to its file"}; in a program, pass its content`,
    }));
  const wrong = Object.entries(credentialRules(has("owned"))).flatMap(([field, rule]) =>
    inputFindings(field, given[field as keyof Credentials], rule, false),
  );
  return [...(spec?.bootstrap ? beforeTheirCluster(given) : []), ...missing, ...wrong];
}

/** Other languages say `null` of what is not set. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Omni's own clients read both from the environment, and so does the machine program. */
const omniNeeds: Need[] = [
  {
    field: "omniEndpoint",
    variable: "OMNI_ENDPOINT",
    why: "Omni could not be told of the machines' patches",
    fileWillDo: true,
  },
  {
    field: "omniServiceAccountKey",
    variable: "OMNI_SERVICE_ACCOUNT_KEY",
    why: "Omni and, through it, the machines would not let us in",
    fileWillDo: true,
  },
];

/**
 * What does not fit a stack that makes its cluster: a kubeconfig, which is another cluster's, and half of what the machines
 * are reached by. Secrets may come from elsewhere (a cluster made anew from its backup), with the client that they signed.
 */
function beforeTheirCluster({ talosconfig, machineSecrets, kubeconfig }: Given): Finding[] {
  const check = "credentials";
  const [given, missing] = !isGiven(machineSecrets)
    ? ["talosconfig", "machineSecrets"]
    : ["machineSecrets", "talosconfig"];
  return [
    ...(!isGiven(kubeconfig)
      ? []
      : [
          {
            check,
            field: "kubeconfig",
            problem: "is set, in a stack that bootstraps its cluster",
            why: "it is of a cluster that is there already, and what belongs to the new one would be made in it",
            remedy: "take it away: the stack fetches the new cluster's; or leave bootstrap out",
          },
        ]),
    ...(isGiven(talosconfig) === isGiven(machineSecrets)
      ? []
      : [
          {
            check,
            field: missing,
            problem: `is not set, and ${given} is`,
            why: "a client of the machines is signed by the cluster's secrets, so the two come together",
            remedy: "give both, or neither: the stack then makes them",
          },
        ]),
  ];
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
