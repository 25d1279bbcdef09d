import * as semver from "semver";
import { stringify } from "yaml";
import { contract as contracts } from "../facts/data/since.json";
import type { UserPatch } from "./user-patches";

/**
 * Patch that names an owned machine by its key in the stack, because the update looks for a node with this name.
 * Without the patch Talos uses a name from DHCP or `talos-…` (`auto: stable`). Talos refuses a configuration that names
 * the machine both by `machine.network.hostname` and by a HostnameConfig: "static hostname is already set in v1alpha1
 * config", "stable hostname is already set in v1alpha1 config" (talosctl v1.13.0 validate, contracts v1.8 to v1.13).
 *
 * @param contract release whose features the generated configuration may use.
 * @returns undefined if a patch of the user names the machine.
 */
export function hostnamePatch(
  name: string,
  contract: string,
  patches: readonly UserPatch[],
): string | undefined {
  if (patches.some(namesHost)) return undefined;
  if (semver.valid(contract) !== null && semver.lt(contract, contracts.documentsFrom))
    return stringify({ machine: { network: { hostname: name } } });
  return stringify({ apiVersion: "v1alpha1", kind: "HostnameConfig", auto: "off", hostname: name });
}

function namesHost({ config, kinds }: UserPatch): boolean {
  const { network } = (config["machine"] ?? {}) as { network?: { hostname?: unknown } | null };
  return kinds.includes("HostnameConfig") || (network?.hostname ?? undefined) !== undefined;
}
