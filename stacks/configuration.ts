import * as fs from "node:fs";
import * as path from "node:path";

/** What a stack's configuration holds besides the cluster: credentials, by key, with the variable that names a file. */
const credentialFiles = {
  talosconfig: "TALOSCONFIG",
  machineSecrets: "TALOS_SECRETS",
  kubeconfig: "KUBECONFIG",
} as const;

/** Credentials of Omni, by key: the machine program and Omni's clients take these variables themselves when the stack has none. */
const omniCredentials = ["omniEndpoint", "omniServiceAccountKey"] as const;

/** Keys of a stack's configuration that hold credentials. */
export const credentialKeys: readonly string[] = [...Object.keys(credentialFiles), ...omniCredentials];

/** Contents of the credentials, each where the stack or the environment has it. Secret. */
export type Credentials = Partial<Record<keyof typeof credentialFiles | (typeof omniCredentials)[number], string>>;

/** A stack's configuration, taken apart. */
export interface StackConfiguration {
  /** The cluster as the stack file says it, not yet checked: its keys are the fields of `ClusterSpec`. */
  spec: Record<string, unknown>;
  credentials: Credentials;
}

/**
 * Reads a stack's whole configuration: no list of keys here that could miss one, so a misspelt key reaches the checks.
 *
 * @param entries Every key (`project:key`) and its text, as Pulumi holds it: objects and lists are JSON.
 * @param isSecret Whether a key is encrypted in the stack file.
 * @param environment Variables that may name the files of credentials.
 * @throws Error for a secret outside the credentials, and for a file that cannot be read.
 */
export function readConfiguration(
  entries: Record<string, string>,
  isSecret: (key: string) => boolean,
  environment: NodeJS.ProcessEnv,
): StackConfiguration {
  const own = Object.entries(entries).filter(([key]) => key.startsWith("talos-gpu:"));
  const values = Object.fromEntries(own.map(([key, text]) => [key.slice("talos-gpu:".length), text]));
  const spec: Record<string, unknown> = {};
  for (const [key, text] of Object.entries(values)) {
    if (credentialKeys.includes(key)) continue;
    if (isSecret(`talos-gpu:${key}`)) {
      throw new Error(
        `${key}: is a secret, but what a stack says of its cluster is shown in previews and written to manifests; ` +
          "keep the secret in a Kubernetes Secret of your own and set the field in plain text",
      );
    }
    spec[key] = parse(text);
  }
  // What this shell has credentials of is not the cluster that is yet to be made.
  return { spec, credentials: readCredentials(values, spec["bootstrap"] === true ? {} : environment) };
}

function readCredentials(values: Record<string, string>, environment: NodeJS.ProcessEnv): Credentials {
  const credentials: Credentials = {};
  for (const [key, variable] of Object.entries(credentialFiles) as [keyof Credentials, string][]) {
    const content = values[key] ?? readNamedFile(key, variable, environment[variable]);
    if (content !== undefined) credentials[key] = content;
  }
  for (const key of omniCredentials) if (values[key] !== undefined) credentials[key] = values[key];
  return credentials;
}

function readNamedFile(key: string, variable: string, file: string | undefined): string | undefined {
  if (file === undefined || file === "") return undefined;
  if (file.includes(path.delimiter)) {
    throw new Error(`${key}: ${variable} names several files, and which one to use is not ours to guess; name one`);
  }
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(
      `${key}: the file that ${variable} names cannot be read (${(error as NodeJS.ErrnoException).code}: ${file}), ` +
        `so the cluster cannot be reached; correct ${variable}, or set the secret talos-gpu:${key}`,
      { cause: error },
    );
  }
}

/** Pulumi keeps objects and lists as JSON, and anything else as its text; no text of a stack is `true` or `false`. */
function parse(text: string): unknown {
  return /^\s*[[{]|^(true|false)$/.test(text) ? JSON.parse(text) : text;
}
