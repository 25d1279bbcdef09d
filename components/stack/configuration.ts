import * as fs from "node:fs";
import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import type { Finding } from "../recipe/types";

/**
 * Keys of credentials in a stack's configuration. For each key: the environment variable that names a file, which is
 * read if the stack lacks the key.
 */
const credentialFiles = {
  talosconfig: "TALOSCONFIG",
  machineSecrets: "TALOS_SECRETS",
  kubeconfig: "KUBECONFIG",
} as const;

/**
 * Keys of Omni's credentials. If the stack has none, the machine program and Omni's clients themselves read the
 * environment variables OMNI_ENDPOINT and OMNI_SERVICE_ACCOUNT_KEY.
 */
const omniCredentials = ["omniEndpoint", "omniServiceAccountKey"] as const;

/** All keys of a stack's configuration that hold credentials. */
export const credentialKeys: readonly string[] = [
  ...Object.keys(credentialFiles),
  ...omniCredentials,
];

/** Contents of the credentials that the stack's configuration or the environment provides. Secret. */
export type Credentials = Partial<
  Record<keyof typeof credentialFiles | (typeof omniCredentials)[number], string>
>;

/** The parts of a stack's configuration. */
export interface StackConfiguration {
  /** The cluster as the stack file describes it, before any check: a mapping with the fields of `StackSpec`. */
  spec: Record<string, unknown>;
  credentials: Credentials;
  /** Findings about the configuration itself. The checks of the cluster add more. */
  findings: Finding[];
}

const check = "configuration";

/**
 * Reads a stack's whole configuration. Every key that is no credential becomes a field of the cluster, so the checks
 * report a misspelt key.
 *
 * @param entries Every key (`project:key`) with its text, as Pulumi passes them: objects and lists are JSON.
 * @param isSecret Whether a key is encrypted in the stack file.
 * @param environment Variables that may name the files of credentials.
 * @returns the configuration with findings: a secret outside of the credentials, credentials in plain text, a file of
 * credentials that cannot be read.
 */
export function readConfiguration(
  entries: Record<string, string>,
  isSecret: (key: string) => boolean,
  environment: NodeJS.ProcessEnv,
): StackConfiguration {
  const ownEntries = Object.entries(entries).filter(([key]) => key.startsWith("talos-gpu:"));
  const values = Object.fromEntries(
    ownEntries.map(([key, text]) => [key.slice("talos-gpu:".length), text]),
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
        why: "previews and manifests show this field in plain text",
        remedy: "set the field without `--secret`, and keep a secret value in a Kubernetes Secret",
      });
      continue;
    }
    entriesOfSpec.push([key, parse(text)]);
  }
  const spec: Record<string, unknown> = Object.fromEntries(entriesOfSpec); // Any key, even `__proto__`, is data.
  // The credentials in this environment belong to an existing cluster, and not to the new one.
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
  remedy: `remove it from the file, and set it by \`pulumi config set --secret talos-gpu:${key}\` or by an environment variable. If the file was committed, create new credentials`,
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
      credentials[key] = ""; // The credential counts as set, so that no second finding reports it as missing.
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
        ? `a path in KUBECONFIG cannot be read (${message})`
        : `the path in ${variable} cannot be read (${code ?? message}: ${file})`;
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
 * A value of the configuration. Pulumi passes objects and lists as JSON, and other values as texts. The texts `true`
 * and `false` become booleans, because no text field of a stack has such a value. A text that looks like JSON but is
 * invalid stays a text, and the checks report its field.
 */
function parse(text: string): unknown {
  if (!/^\s*[[{]|^(true|false)$/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
