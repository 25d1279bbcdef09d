import * as semver from "semver";
import { stringify } from "yaml";
import { contract as contracts } from "../facts/data/since.json";
import type { UserPatch } from "./user-patches";

/**
 * Names a machine whose whole configuration is ours by its key in the stack, since everything that follows looks for the node
 * under it. Without, Talos calls it by DHCP or `talos-…` (`auto: stable`). Where the generated configuration has a document
 * for it, Talos refuses the field, and the other way round: "static hostname is already set in v1alpha1 config", "stable
 * hostname is already set in v1alpha1 config" (talosctl v1.13.0 validate, contracts v1.8 to v1.13).
 *
 * @param contract release whose features the generated configuration may use.
 * @returns undefined where a patch of the user's names the machine.
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
