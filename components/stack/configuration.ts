import * as fs from "node:fs";
import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import type { Finding } from "../recipe/types";

/**
 * Keys of a stack's configuration other than the cluster's: credentials, by key, with the variable that names a file.
 */
const credentialFiles = {
  talosconfig: "TALOSCONFIG",
  machineSecrets: "TALOS_SECRETS",
  kubeconfig: "KUBECONFIG",
} as const;

/**
 * Credentials of Omni, by key: the machine program and Omni's clients take these variables themselves when the stack
 * has none.
 */
const omniCredentials = ["omniEndpoint", "omniServiceAccountKey"] as const;

/** Keys of a stack's configuration that hold credentials. */
export const credentialKeys: readonly string[] = [
  ...Object.keys(credentialFiles),
  ...omniCredentials,
];

/** Contents of the credentials, each where the stack or the environment has it. Secret. */
export type Credentials = Partial<
  Record<keyof typeof credentialFiles | (typeof omniCredentials)[number], string>
>;

/** A stack's configuration, taken apart. */
export interface StackConfiguration {
  /** The cluster as the stack file says it, not yet checked: its keys are the fields of `ClusterSpec`. */
  spec: Record<string, unknown>;
  credentials: Credentials;
  /** Mistakes that are already known; the cluster's own mistakes are reported with them. */
  findings: Finding[];
}

const check = "configuration";

/**
 * Reads a stack's whole configuration: no list of keys here that could miss one, so a misspelt key reaches the checks.
 *
 * @param entries Every key (`project:key`) and its text, as Pulumi holds it: objects and lists are JSON.
 * @param isSecret Whether a key is encrypted in the stack file.
 * @param environment Variables that may name the files of credentials.
 * @returns also what is wrong: a secret outside the credentials, credentials in plain text, a file of credentials
 * that cannot be read.
 */
export function readConfiguration(
  entries: Record<string, string>,
  isSecret: (key: string) => boolean,
  environment: NodeJS.ProcessEnv,
): StackConfiguration {
  const own = Object.entries(entries).filter(([key]) => key.startsWith("talos-gpu:"));
  const values = Object.fromEntries(
    own.map(([key, text]) => [key.slice("talos-gpu:".length), text]),
  );
  const entriesOfSpec: [string, unknown][] = [];
  const findings: Finding[] = [];
  for (const [key, text] of Object.entries(values)) {
    if (credentialKeys.includes(key)) {
      if (key !== "omniEndpoint" && !isSecret(`talos-gpu:${key}`)) findings.push(inPlainText(key));
      continue;
    }
    if (isSecret(`talos-gpu:${key}`)) {
      findings.push({
        check,
        field: key,
        problem: "is a secret",
        why: "what a stack says of its cluster is shown in previews and written to manifests",
        remedy:
          "keep the secret in a Kubernetes Secret of your own and set the field in plain text",
      });
      continue;
    }
    entriesOfSpec.push([key, parse(text)]);
  }
  const spec: Record<string, unknown> = Object.fromEntries(entriesOfSpec); // any key, even `__proto__`, is data here.
  // The credentials of this shell belong to an existing cluster, and not to the one that is yet to be made.
  const credentials = readCredentials(
    values,
    spec["bootstrap"] === true ? {} : environment,
    findings,
  );
  return { spec, credentials, findings };
}

const inPlainText = (key: string): Finding => ({
  check,
  field: key,
  problem: "is in plain text in the stack file",
  why: "everyone who can read the repository can administer the machines and the cluster",
  remedy: `take it out, make new credentials if it was committed, and set it by \`pulumi config set --secret talos-gpu:${key}\`, or by the environment`,
});

function readCredentials(
  values: Record<string, string>,
  environment: NodeJS.ProcessEnv,
  findings: Finding[],
): Credentials {
  const credentials: Credentials = {};
  for (const [key, variable] of Object.entries(credentialFiles) as [keyof Credentials, string][]) {
    const content = values[key] ?? readNamedFile(key, variable, environment[variable]);
    if (content === undefined) continue;
    if (typeof content === "string") credentials[key] = content;
    else {
      findings.push(content);
      credentials[key] = ""; // it is set, so no second finding says that it is missing
    }
  }
  for (const key of omniCredentials) if (values[key] !== undefined) credentials[key] = values[key];
  return credentials;
}

function readNamedFile(
  key: string,
  variable: string,
  file: string | undefined,
): string | Finding | undefined {
  if (file === undefined || file === "") return undefined;
  try {
    return variable === "KUBECONFIG" ? kubeconfigOfVariable(file) : fs.readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem =
      variable === "KUBECONFIG"
        ? `what KUBECONFIG names cannot be read (${message})`
        : `the file that ${variable} names cannot be read (${code ?? message}: ${file})`;
    return {
      check,
      field: key,
      problem,
      why: "the cluster cannot be reached",
      remedy: `correct ${variable}, or set the secret talos-gpu:${key}`,
    };
  }
}

/**
 * Pulumi keeps objects and lists as JSON, and anything else as its text; no text of a stack is `true` or `false`. A
 * text that looks like JSON and is none stays a text, whose field the checks then name.
 */
function parse(text: string): unknown {
  if (!/^\s*[[{]|^(true|false)$/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
