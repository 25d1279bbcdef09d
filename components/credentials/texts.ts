import type * as talos from "@pulumiverse/talos";
import { stringify } from "yaml";
import { boundedYaml } from "../recipe/rules/yaml";
import * as z from "zod";
import { isMapping } from "../recipe/mapping";
import type { FindingText, Rule } from "../recipe/rules/finding";
import { renderFinding } from "../recipe/stack/findings";

// Converts credentials from their file format into the Talos provider's form. Every result is as secret as its source.

const pair = z.object({ crt: z.string(), key: z.string() });

/** Content of the file that `talosctl gen secrets` writes. */
const bundle = z.object({
  cluster: z.object({ id: z.string(), secret: z.string() }),
  secrets: z.object({
    bootstraptoken: z.string(),
    // Older bundles encrypt with AES-CBC, newer ones with secretbox. The provider requires the secretbox key, which may
    // be empty.
    secretboxencryptionsecret: z.string().default(""),
    aescbcencryptionsecret: z.string().optional(),
  }),
  trustdinfo: z.object({ token: z.string() }),
  certs: z.object({
    etcd: pair,
    k8s: pair,
    k8saggregator: pair,
    k8sserviceaccount: z.object({ key: z.string() }),
    os: pair,
  }),
});

/** Secrets in the Talos provider's form. Some keys are spelt differently in the file of `talosctl gen secrets`. */
export type MachineSecrets = talos.types.output.machine.MachineSecrets;

/** Keys of `talosctl gen secrets`, and the provider's names for them. */
const spelling = [
  ["bootstraptoken", "bootstrapToken"],
  ["secretboxencryptionsecret", "secretboxEncryptionSecret"],
  ["aescbcencryptionsecret", "aescbcEncryptionSecret"],
  ["k8saggregator", "k8sAggregator"],
  ["k8sserviceaccount", "k8sServiceaccount"],
  ["crt", "cert"],
] as const;

/** Copies data and renames its keys by `names`. The copy lacks keys whose value is null or undefined. */
function respelled(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).filter(
    ([, inner]) => inner !== undefined && inner !== null,
  );
  return Object.fromEntries(
    entries.map(([key, inner]) => [names.get(key) ?? key, respelled(inner, names)]),
  );
}

/**
 * Secrets of a cluster from the text of `talosctl gen secrets`.
 *
 * @throws Error that names missing fields, and never quotes a value.
 */
export const machineSecretsOf = (text: string): MachineSecrets =>
  respelled(
    read(bundle, text, "machineSecrets", "`talosctl gen secrets`"),
    new Map(spelling),
  ) as MachineSecrets;

/** Writes secrets of the provider as the text of `talosctl gen secrets`. `machineSecretsOf` reads this text. */
export const bundleOf = (secrets: MachineSecrets): string =>
  stringify(respelled(secrets, new Map(spelling.map(([file, provider]) => [provider, file]))));

/**
 * Patches (YAML) that give a control plane the AES-CBC key of an older cluster; empty without such a key. A
 * configuration that is generated for a Talos release after 1.2 has only the secretbox key (talos v1.13.0,
 * pkg/machinery/config/generate/init.go). Without the AES-CBC key, kube-apiserver cannot read the existing Secrets in
 * etcd.
 */
export function encryptionPatchesOf({
  secrets: { aescbcEncryptionSecret },
}: MachineSecrets): string[] {
  return aescbcEncryptionSecret === undefined
    ? []
    : [stringify({ cluster: { aescbcEncryptionSecret } })];
}

const talosconfig = z.object({
  context: z.string(),
  contexts: z.record(
    z.string(),
    z.object({
      endpoints: z.array(z.string()).nullish(),
      ca: z.string(),
      crt: z.string(),
      key: z.string(),
    }),
  ),
});

/** Client of the machine API. */
export interface TalosClient {
  configuration: { caCertificate: string; clientCertificate: string; clientKey: string };
  /** Machines that forward requests to other machines; may be empty. */
  endpoints: string[];
}

/**
 * Client of the talosconfig's current context.
 *
 * @throws Error that names missing fields, and never quotes a value.
 */
export function talosClientOf(text: string): TalosClient {
  const current = currentOf(read(talosconfig, text, "talosconfig", "`talosctl config`"));
  return {
    configuration: {
      caCertificate: current.ca,
      clientCertificate: current.crt,
      clientKey: current.key,
    },
    endpoints: current.endpoints ?? [],
  };
}

function currentOf<T>({ context, contexts }: { context: string; contexts: Record<string, T> }): T {
  if (Object.hasOwn(contexts, context)) return contexts[context]!;
  const names = Object.keys(contexts);
  const contextsText = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  throw new UselessCredential("talosconfig", {
    problem: `its current context ${JSON.stringify(context)} is not among its contexts: ${contextsText}`,
    why: "without a valid context, talosctl has no credentials",
    remedy: "set the current context with `talosctl config context`",
  });
}

/** A talosconfig with one context, from the provider's form of a client. */
export function talosconfigOf(
  context: string,
  client: TalosClient["configuration"],
  endpoints: string[],
): string {
  const { caCertificate: ca, clientCertificate: crt, clientKey: key } = client;
  return stringify(
    { context, contexts: { [context]: { endpoints, ca, crt, key } } },
    { lineWidth: 0 },
  );
}

/**
 * The endpoint through which a machine is reached: the machine itself if it is one of the endpoints, or if there are no
 * endpoints; else the first endpoint.
 */
export const endpointFor = (address: string, endpoints: readonly string[]): string =>
  endpoints.includes(address) ? address : (endpoints[0] ?? address);

/** Error about an unusable credential. It never quotes the credential's text. */
class UselessCredential extends Error {
  constructor(
    field: string,
    readonly finding: FindingText,
  ) {
    super(renderFinding({ field, ...finding }));
  }
}

function uselessCredential(field: string, problem: string, source: string): UselessCredential {
  const whatIsUnreachable = field === "kubeconfig" ? "the cluster" : "the machines";
  return new UselessCredential(field, {
    problem,
    why: `without it the package cannot reach ${whatIsUnreachable}`,
    remedy: `pass the content of the file that ${source} writes, not its path`,
  });
}

function read<T extends z.ZodType>(
  type: T,
  text: string,
  field: string,
  source: string,
): z.infer<T> {
  let value: unknown;
  try {
    value = boundedYaml(text);
  } catch {
    throw uselessCredential(field, "it is not YAML", source); // the parser's message quotes the text
  }
  if (!isMapping(value)) throw uselessCredential(field, "it is not a YAML mapping", source);
  const parsed = type.safeParse(value);
  if (parsed.success) return parsed.data;
  const missing = parsed.error.issues
    .map((issue) => issue.path.join(".") || "everything")
    .join(", ");
  throw uselessCredential(field, `missing or of the wrong type: ${missing}`, source);
}

/** A rule made from a function that reads a credential. A text breaks the rule if the function throws for it. */
function ruleBy(read: (text: string) => unknown): Rule {
  return (text) => {
    try {
      read(text);
      return undefined;
    } catch (error) {
      if (error instanceof UselessCredential) return error.finding;
      throw error;
    }
  };
}

/** The part of a talosconfig that every client needs; Omni's talosconfig has no certificate. */
const anyTalosconfig = z.object({
  context: z.string(),
  contexts: z.record(z.string(), z.looseObject({})),
});

/** The part of a kubeconfig that every client needs. */
const anyKubeconfig = z.object({ clusters: z.array(z.looseObject({ name: z.string() })).min(1) });

/**
 * Rule for the text of each credential. `clientTalosconfig` is for a stack with owned machines, for which the package
 * itself reads the client certificate from the talosconfig.
 */
export const credentialTexts = {
  talosconfig: ruleBy((text) =>
    currentOf(read(anyTalosconfig, text, "talosconfig", "`talosctl config`")),
  ),
  clientTalosconfig: ruleBy(talosClientOf),
  machineSecrets: ruleBy(machineSecretsOf),
  kubeconfig: ruleBy((text) => read(anyKubeconfig, text, "kubeconfig", "`talosctl kubeconfig`")),
};
