import type * as pulumi from "@pulumi/pulumi";
import { certificateFindings } from "../clients/certificates";
import { inputFindings } from "../recipe/checks/check-arguments";
import { type Rule, serverUrl } from "../recipe/rules";
import { defined } from "../recipe/mapping";
import { type FindingText, ruleOf } from "../recipe/rules/finding";
import { isPlainHttp } from "../recipe/rules/plain-http";
import type { ClusterSpec } from "../recipe/spec/index";
import type { Finding } from "../recipe/types";
import { type NamedCredential, readNamedByVariable } from "./named-by-variable";
import { credentialTexts } from "./texts";

/** Credentials for the machines and the cluster. The package treats all of them as secret. */
export interface Credentials {
  /**
   * Content of the Talos client configuration (talosconfig). Required with an owned machine of an existing cluster.
   * Default: the file that TALOSCONFIG names.
   */
  talosconfig?: pulumi.Input<string>;
  /**
   * Secrets of the cluster, as `talosctl gen secrets` writes them. Required with an owned machine of an existing
   * cluster. Default: none.
   */
  machineSecrets?: pulumi.Input<string>;
  /**
   * Content of the kubeconfig with which the package drains machines and reads objects. It creates objects through
   * the Kubernetes provider of the options. Default: the file that KUBECONFIG names.
   */
  kubeconfig?: pulumi.Input<string>;
  /** URL of Omni. Required with a machine of Omni's. Default: the environment variable OMNI_ENDPOINT. */
  omniEndpoint?: pulumi.Input<string>;
  /**
   * Key of a service account of Omni. Required with a machine of Omni's. Default: the environment variable
   * OMNI_SERVICE_ACCOUNT_KEY.
   */
  omniServiceAccountKey?: pulumi.Input<string>;
}

const encrypted = ruleOf((url) => !isPlainHttp(url), {
  problem: "is plain HTTP",
  why: "configurations of machines go there, with their secrets, and everyone on the way can read them",
  remedy: "write https://",
});

/** URL of a server to which secrets are sent: encrypted, unless it is on this computer. */
const encryptedServer: Rule = (url) => serverUrl(url) ?? encrypted(url);

/** A name of a credential. */
export type Credential = keyof Credentials;

/** The kinds of machines in the cluster that decide which credentials are needed. */
interface Owners {
  owned: boolean;
  omni: boolean;
}

interface Described {
  /**
   * Variable that names a file of it, or for Omni's holds it. The machine program gets its content by `TALOS_GPU_`
   * and this name.
   */
  variable: string;
  /** Rule for the text, as far as it is known. */
  rule: (owners: Owners) => Rule;
  needed: (owners: Owners) => boolean;
  /** Whether the machine program reads what the variable names by itself, when the content is not given. */
  variableWillDo: (owners: Owners) => boolean;
  /** Consequence of its absence. */
  why: string;
}

const anything: Rule = () => undefined;
const always = (): boolean => true;

/** The texts about each credential. */
export const credentials: Readonly<Record<Credential, Described>> = {
  talosconfig: {
    variable: "TALOSCONFIG",
    rule: ({ owned }) => (owned ? credentialTexts.clientTalosconfig : credentialTexts.talosconfig),
    needed: always,
    variableWillDo: ({ owned }) => !owned,
    why: "the machines' Talos API could not be reached",
  },
  kubeconfig: {
    variable: "KUBECONFIG",
    rule: () => credentialTexts.kubeconfig,
    needed: always,
    variableWillDo: always,
    why: "machines could not be drained before they reboot",
  },
  machineSecrets: {
    variable: "TALOS_SECRETS",
    rule: () => credentialTexts.machineSecrets,
    needed: ({ owned }) => owned,
    variableWillDo: () => false,
    why: "the configuration of an owned machine is made from it",
  },
  omniEndpoint: {
    variable: "OMNI_ENDPOINT",
    rule: () => encryptedServer,
    needed: ({ omni }) => omni,
    variableWillDo: always,
    why: "Omni could not be given the machines' patches",
  },
  omniServiceAccountKey: {
    variable: "OMNI_SERVICE_ACCOUNT_KEY",
    rule: () => anything,
    needed: ({ omni }) => omni,
    variableWillDo: always,
    why: "Omni and, through it, the machines would not let us in",
  },
};

/** Names of all credentials. */
export const credentialNames = Object.keys(credentials) as Credential[];

const isOmnis = (name: Credential): boolean => name.startsWith("omni");

/** Arguments that no check has seen. */
type Unread = { [name in Credential]?: unknown };

/**
 * Arguments taken apart: the credentials, without those that are not set (other languages say `null`), and the rest.
 */
export function splitCredentials<T extends Unread>(
  args: T,
): { given: Credentials; said: Omit<T, Credential> } {
  const { talosconfig, kubeconfig, machineSecrets, omniEndpoint, omniServiceAccountKey, ...said } =
    args;
  const all = { talosconfig, kubeconfig, machineSecrets, omniEndpoint, omniServiceAccountKey };
  const given = Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined && value !== null),
  );
  return { given, said };
}

/** Findings about texts of credentials, as far as they are known. */
export const textFindings = (given: Credentials, owners: Owners): Finding[] =>
  credentialNames.flatMap((name) =>
    inputFindings(name, given[name], credentials[name].rule(owners), false),
  );

/**
 * Findings about a cluster's credentials, as far as they are known at preview: credentials that are missing, whose
 * text is of no use, or whose client certificate is not in force. The files that TALOSCONFIG and KUBECONFIG name are
 * read if the machine program would read them.
 *
 * @param environment Variables that may name files.
 * @param now by which certificates are in force.
 */
export function credentialFindings(
  args: Unread,
  spec: ClusterSpec | undefined,
  environment: NodeJS.ProcessEnv,
  now = new Date(),
): Finding[] {
  const { given } = splitCredentials(args);
  const has = (owner: string): boolean =>
    Object.values(spec?.machines ?? {}).some((machine) => machine.configuration === owner);
  const owners = { owned: has("owned"), omni: has("omni") };
  const missing = credentialNames
    .filter((name) => {
      const { needed, variable, variableWillDo } = credentials[name];
      if (given[name] !== undefined || !needed(owners)) return false;
      // A stack that bootstraps its cluster makes the others with it.
      return (
        !(spec?.bootstrap && !isOmnis(name)) && !(variableWillDo(owners) && environment[variable])
      );
    })
    .map((name) => {
      const { why, variable } = credentials[name];
      return finding(name, {
        problem: "is not set",
        why,
        remedy: `in a stack, set the secret talos-gpu:${name} or the variable ${variable}${isOmnis(name) ? "" : " to its file"}; in a program, pass its content`,
      });
    });
  // Omni's variable holds the address itself.
  const { omniEndpoint = owners.omni ? environment["OMNI_ENDPOINT"] || undefined : undefined } =
    given;
  // The credentials of this environment belong to an existing cluster, and not to the one that is yet to be made.
  const isThere = spec !== undefined && !spec.bootstrap;
  const named = isThere
    ? namedByVariables(given, owners, environment)
    : { texts: {}, findings: [] };
  const all = defined({ ...named.texts, ...given, omniEndpoint });
  return [
    ...(spec?.bootstrap ? beforeTheirCluster(given) : []),
    ...missing,
    ...named.findings,
    ...textFindings(all, owners),
    ...outOfForce(all, now),
  ];
}

/** Texts of the credentials that variables name in place of the arguments, and what is wrong with the files. */
function namedByVariables(
  given: Credentials,
  owners: Owners,
  environment: NodeJS.ProcessEnv,
): { texts: Credentials; findings: Finding[] } {
  const names: NamedCredential[] = ["talosconfig", "kubeconfig"];
  const all: { texts: Credentials; findings: Finding[] } = { texts: {}, findings: [] };
  for (const name of names) {
    const { variable, variableWillDo } = credentials[name];
    const value = environment[variable];
    if (given[name] !== undefined || !variableWillDo(owners) || value === undefined || value === "")
      continue;
    try {
      all.texts[name] = readNamedByVariable(name, value);
    } catch (error) {
      const { message } = error as Error;
      all.findings.push(
        finding(name, {
          problem: `what ${variable} names cannot be read (${message})`,
          why: credentials[name].why,
          remedy: `correct ${variable}, or give the content`,
        }),
      );
    }
  }
  return all;
}

/**
 * Client certificates that are not in force. An update with them is refused before it touches anything, so its
 * preview is refused as well.
 */
export function outOfForce({ talosconfig, kubeconfig }: Unread, now: Date): Finding[] {
  const textOf = (value: unknown): string | undefined =>
    typeof value === "string" ? value : undefined;
  return certificateFindings(textOf(talosconfig), textOf(kubeconfig), now).map((problem) => ({
    check: "credentials",
    ...problem,
  }));
}

/**
 * Findings about credentials that do not fit a stack which makes its cluster: a kubeconfig, which is another
 * cluster's, and half of what the machines are reached by. Secrets may come from elsewhere (a cluster that is made
 * again from its backup), with the client that they signed.
 */
function beforeTheirCluster({ talosconfig, machineSecrets, kubeconfig }: Credentials): Finding[] {
  const [given, missing] =
    machineSecrets === undefined
      ? ["talosconfig", "machineSecrets"]
      : ["machineSecrets", "talosconfig"];
  const isHalf = (talosconfig === undefined) !== (machineSecrets === undefined);
  return [
    ...(kubeconfig === undefined
      ? []
      : [
          finding("kubeconfig", {
            problem: "is set, in a stack that bootstraps its cluster",
            why: "it belongs to an existing cluster, in which the new cluster's objects would be created",
            remedy:
              "remove it, since the stack fetches the new cluster's kubeconfig, or leave bootstrap out",
          }),
        ]),
    ...(isHalf
      ? [
          finding(missing, {
            problem: `is not set, and ${given} is`,
            why: "the CA in machineSecrets signs the client certificate in talosconfig, so both are needed",
            remedy: "give both, or neither: then the stack makes them",
          }),
        ]
      : []),
  ];
}

const finding = (field: string, fault: FindingText): Finding => ({
  check: "credentials",
  field,
  ...fault,
});
