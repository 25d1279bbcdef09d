import * as semver from "semver";
import type { Properties } from "../provider";
import { containsUnknown, secret, UNKNOWN } from "../values";
import { defaultTalosVersion } from "./configuration";
import type { Tools } from "./machine";
import type { Resource } from "./resource";
import { readBundle, writeBundle } from "./secrets-bundle";
import { type ClientConfiguration, readTalosconfig } from "./talosconfig";

/**
 * `talos:machine/secrets:Secrets`. Source: terraform-provider-talos v0.11.0, pkg/talos/talos_machine_secrets_resource.go:
 * made once and kept, unless an older release is asked for, which makes other ones (PlanModifyString). That a client certificate is
 * renewed in its last month is not emulated: no lab lives so long.
 */
export const machineSecrets: Resource = {
  check: ({ talosVersion }) => {
    const unsaid = talosVersion === undefined || talosVersion === null || containsUnknown(talosVersion);
    if (unsaid || contractOf(talosVersion)) return [];
    throw new Error(`Invalid version: error parsing version "v${(talosVersion as string).replace(/^v/, "")}"`);
  },

  replaces: (olds, news) => {
    const [was, is] = [olds, news].map(({ talosVersion = defaultTalosVersion }) => contractOf(talosVersion));
    return was && is && semver.lt(is, was) ? ["talosVersion"] : [];
  },

  create: async (tools, inputs, { preview, context: { signal } }) => {
    const talosVersion = (inputs["talosVersion"] as string | undefined) ?? defaultTalosVersion;
    const id = "machine_secrets";
    if (preview) return { id, outputs: { talosVersion, machineSecrets: UNKNOWN, clientConfiguration: UNKNOWN } };
    const args = ["gen", "secrets", "--talos-version", talosVersion, "--output-file", "-"];
    const { stdout: bundle } = await tools.talosctl.run([], () => args, { signal });
    const clientConfiguration = await issue(tools, bundle, signal);
    return { id, outputs: { talosVersion, machineSecrets: readBundle(bundle, secret), clientConfiguration } };
  },

  update: async (_tools, inputs, { context: { oldOutputs } }) => {
    const talosVersion = inputs["talosVersion"] ?? defaultTalosVersion;
    const bundle = writeBundle(oldOutputs["machineSecrets"] as Properties);
    const client = oldOutputs["clientConfiguration"] as ClientConfiguration;
    const clientConfiguration = { ...client, clientKey: secret(client.clientKey) };
    return { talosVersion, machineSecrets: readBundle(bundle, secret), clientConfiguration };
  },
};

/** A release as `v1.12`, `v1.12.1`, `1.12` or `1.12.1` (the schema's own examples); undefined when it is none. */
function contractOf(version: unknown): semver.SemVer | undefined {
  const text = String(version);
  return /^v?\d+\.\d+(\.\d+\S*)?$/.test(text) ? (semver.parse(text) ?? semver.coerce(text) ?? undefined) : undefined;
}

/** A client certificate from the bundle's authority; the name and the address of the cluster do not matter to it. */
async function issue(tools: Tools, bundle: string, signal: AbortSignal): Promise<Properties> {
  const { stdout } = await tools.talosctl.run(
    [bundle],
    ([file = ""]) => [
      ...["gen", "config", "cluster", "https://127.0.0.1:6443", "--with-secrets", file],
      ...["--output-types", "talosconfig", "--output", "-"],
    ],
    { signal },
  );
  const client = readTalosconfig(stdout);
  return { ...client, clientKey: secret(client.clientKey) };
}
