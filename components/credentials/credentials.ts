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
   * Content of the kubeconfig with which the package drains machines and reads objects. The package creates objects
   * through the Kubernetes provider of the options. Default: the file that KUBECONFIG names.
   */
  kubeconfig?: pulumi.Input<string>;
  /** URL of Omni. Required with an Omni machine. Default: the environment variable OMNI_ENDPOINT. */
  omniEndpoint?: pulumi.Input<string>;
  /**
   * Key of an Omni service account. Required with an Omni machine. Default: the environment variable
   * OMNI_SERVICE_ACCOUNT_KEY.
   */
  omniServiceAccountKey?: pulumi.Input<string>;
}

const encrypted = ruleOf((url) => !isPlainHttp(url), {
  problem: "is plain HTTP",
  why: "machine configurations with their secrets are sent there, and everyone on the network path can read them",
  remedy: "write https://",
});

/** Rule for the URL of a server that receives secrets: HTTPS is required, except for a server on this computer. */
const encryptedServer: Rule = (url) => serverUrl(url) ?? encrypted(url);

/** Name of a credential. */
export type Credential = keyof Credentials;

/** Whether the cluster has owned machines and Omni machines. This decides which credentials are needed. */
interface Owners {
  owned: boolean;
  omni: boolean;
}

interface CredentialRule {
  /**
   * Name of the environment variable with the path of the credential's file. For Omni's credentials, the variable has
   * the credential itself. The machine program receives the credential in a variable whose name begins with
   * `TALOS_GPU_` and ends with this name.
   */
  variable: string;
  /** Rule for the credential's text. */
  rule: (owners: Owners) => Rule;
  needed: (owners: Owners) => boolean;
  /** Whether it is enough to set `variable`, because the machine program reads it if the credential is not passed. */
  variableWillDo: (owners: Owners) => boolean;
  /** Consequence of its absence. */
  why: string;
}

const anyValue: Rule = () => undefined;
const always = (): boolean => true;

/** The texts about each credential. */
export const credentials: Readonly<Record<Credential, CredentialRule>> = {
  talosconfig: {
    variable: "TALOSCONFIG",
    rule: ({ owned }) => (owned ? credentialTexts.clientTalosconfig : credentialTexts.talosconfig),
    needed: always,
    variableWillDo: ({ owned }) => !owned,
    why: "without it, the update cannot reach the machines' Talos API",
  },
  kubeconfig: {
    variable: "KUBECONFIG",
    rule: () => credentialTexts.kubeconfig,
    needed: always,
    variableWillDo: always,
    why: "without it, the update cannot drain machines before they reboot",
  },
  machineSecrets: {
    variable: "TALOS_SECRETS",
    rule: () => credentialTexts.machineSecrets,
    needed: ({ owned }) => owned,
    variableWillDo: () => false,
    why: "Talos generates the configuration of owned machines from these secrets",
  },
  omniEndpoint: {
    variable: "OMNI_ENDPOINT",
    rule: () => encryptedServer,
    needed: ({ omni }) => omni,
    variableWillDo: always,
    why: "without it, the update cannot write the machines' patches into Omni",
  },
  omniServiceAccountKey: {
    variable: "OMNI_SERVICE_ACCOUNT_KEY",
    rule: () => anyValue,
    needed: ({ omni }) => omni,
    variableWillDo: always,
    why: "without it, Omni refuses access to itself and to the machines",
  },
};

/** Names of all credentials. */
export const credentialNames = Object.keys(credentials) as Credential[];

const isOmnis = (name: Credential): boolean => name.startsWith("omni");

/** Arguments before their checks. */
type Unread = { [name in Credential]?: unknown };

/**
 * Splits arguments into credentials and all other arguments. Leaves out credentials that are not set (`null` in other
 * languages).
 */
export function splitCredentials<T extends Unread>(
  args: T,
): { credentials: Credentials; otherArgs: Omit<T, Credential> } {
  const {
    talosconfig,
    kubeconfig,
    machineSecrets,
    omniEndpoint,
    omniServiceAccountKey,
    ...otherArgs
  } = args;
  const allCredentials = {
    talosconfig,
    kubeconfig,
    machineSecrets,
    omniEndpoint,
    omniServiceAccountKey,
  };
  const stated = Object.fromEntries(
    Object.entries(allCredentials).filter(([, value]) => value !== undefined && value !== null),
  );
  return { credentials: stated, otherArgs };
}

/** Findings about the texts of credentials, if they are known. */
export const textFindings = (stated: Credentials, owners: Owners): Finding[] =>
  credentialNames.flatMap((name) =>
    inputFindings(name, stated[name], credentials[name].rule(owners), false),
  );

/**
 * Findings about a cluster's credentials at preview: credentials that are missing or unusable, or whose client
 * certificate is not valid now. Reads the files of TALOSCONFIG and KUBECONFIG if the machine program would read them.
 *
 * @param environment Variables that may name files.
 * @param now time at which certificates must be valid.
 */
export function credentialFindings(
  args: Unread,
  spec: ClusterSpec | undefined,
  environment: NodeJS.ProcessEnv,
  now = new Date(),
): Finding[] {
  const { credentials: stated } = splitCredentials(args);
  const hasOwner = (owner: string): boolean =>
    Object.values(spec?.machines ?? {}).some((machine) => machine.configuration === owner);
  const owners = { owned: hasOwner("owned"), omni: hasOwner("omni") };
  const missing = credentialNames
    .filter((name) => {
      const { needed, variable, variableWillDo } = credentials[name];
      if (stated[name] !== undefined || !needed(owners)) return false;
      // A stack that bootstraps its cluster creates the other credentials itself.
      return (
        !(spec?.bootstrap && !isOmnis(name)) && !(variableWillDo(owners) && environment[variable])
      );
    })
    .map((name) => {
      const { why, variable } = credentials[name];
      return finding(name, {
        problem: "is not set",
        why,
        remedy: `in a stack, set the secret talos-gpu:${name}, or set the environment variable ${variable}${isOmnis(name) ? "" : " to the path of the file"}. In a program, pass ${isOmnis(name) ? "the value" : "the file's content"}`,
      });
    });
  // Omni's variable contains the address itself, not a path.
  const { omniEndpoint = owners.omni ? environment["OMNI_ENDPOINT"] || undefined : undefined } =
    stated;
  // Credentials in the environment belong to an existing cluster, and not to a cluster that this stack has yet to
  // bootstrap.
  const hasCluster = spec !== undefined && !spec.bootstrap;
  const namedTexts = hasCluster
    ? namedByVariables(stated, owners, environment)
    : { texts: {}, findings: [] };
  const allTexts = defined({ ...namedTexts.texts, ...stated, omniEndpoint });
  return [
    ...(spec?.bootstrap ? bootstrapFindings(stated) : []),
    ...missing,
    ...namedTexts.findings,
    ...textFindings(allTexts, owners),
    ...expiredCredentials(allTexts, now),
  ];
}

/**
 * The credentials that the arguments lack, from the files that environment variables name, and findings about
 * unreadable files.
 */
function namedByVariables(
  stated: Credentials,
  owners: Owners,
  environment: NodeJS.ProcessEnv,
): { texts: Credentials; findings: Finding[] } {
  const names: NamedCredential[] = ["talosconfig", "kubeconfig"];
  const result: { texts: Credentials; findings: Finding[] } = { texts: {}, findings: [] };
  for (const name of names) {
    const { variable, variableWillDo } = credentials[name];
    const value = environment[variable];
    if (
      stated[name] !== undefined ||
      !variableWillDo(owners) ||
      value === undefined ||
      value === ""
    )
      continue;
    try {
      result.texts[name] = readNamedByVariable(name, value);
    } catch (error) {
      const { message } = error as Error;
      result.findings.push(
        finding(name, {
          problem: `a file in ${variable} cannot be read (${message})`,
          why: credentials[name].why,
          remedy: `correct ${variable}, or pass the content of the ${name}`,
        }),
      );
    }
  }
  return result;
}

/**
 * Findings about client certificates that are not valid now. An update would refuse such certificates before its first
 * change, so the preview refuses them as well.
 */
export function expiredCredentials({ talosconfig, kubeconfig }: Unread, now: Date): Finding[] {
  const textOf = (value: unknown): string | undefined =>
    typeof value === "string" ? value : undefined;
  return certificateFindings(textOf(talosconfig), textOf(kubeconfig), now).map((problem) => ({
    check: "credentials",
    ...problem,
  }));
}

/**
 * Findings about credentials that do not fit a stack that bootstraps its cluster: a kubeconfig, which belongs to
 * another cluster, or only one of talosconfig and machineSecrets. A user may pass these two together, e.g. from a
 * backup of the cluster.
 */
function bootstrapFindings({ talosconfig, machineSecrets, kubeconfig }: Credentials): Finding[] {
  const [setCredential, missing] =
    machineSecrets === undefined
      ? ["talosconfig", "machineSecrets"]
      : ["machineSecrets", "talosconfig"];
  const hasOnlyOne = (talosconfig === undefined) !== (machineSecrets === undefined);
  return [
    ...(kubeconfig === undefined
      ? []
      : [
          finding("kubeconfig", {
            problem: "is set, but this stack bootstraps its cluster",
            why: "the kubeconfig belongs to an existing cluster, and the stack would create the new cluster's objects there",
            remedy:
              "remove the kubeconfig (the stack fetches the new cluster's kubeconfig), or remove the field `bootstrap`",
          }),
        ]),
    ...(hasOnlyOne
      ? [
          finding(missing, {
            problem: `is not set, but ${setCredential} is set`,
            why: "the CA in machineSecrets signs the client certificate in talosconfig, so both are needed",
            remedy: "set both. If you set neither, the stack creates both",
          }),
        ]
      : []),
  ];
}

const finding = (field: string, text: FindingText): Finding => ({
  check: "credentials",
  field,
  ...text,
});
