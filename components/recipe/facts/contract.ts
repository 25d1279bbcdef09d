import * as semver from "semver";
import type { FindingText } from "../rules/finding";
import type { MachineSpec } from "../spec/index";

/** Fields of an owned machine that decide for which release its configuration is generated. */
export interface ContractBasis extends Pick<MachineSpec, "versionContract" | "runningVersion"> {
  /** Release that the machine should run. */
  talosVersion: string;
}

/** A contract as given, `v1.12` or `v1.12.6`, as a whole release; undefined where it is none. */
export function readContract(text: string): string | undefined {
  const parts = /^v?(\d+)\.(\d+)(?:\.(\d+))?$/.exec(text);
  return parts === null ? undefined : `v${parts[1]!}.${parts[2]!}.${parts[3] ?? 0}`;
}

/**
 * Talos' version contract of an owned machine: the release whose defaults its generated configuration has. It should
 * stay what it was when the cluster was created, whatever Talos runs since (siderolabs/terraform-provider-talos#401;
 * siderolabs/talos#13885). A stack says it by `versionContract`. Without that it is the older of the running and the
 * wanted release, since the machine gets its configuration before its upgrade; a preview then refuses a change of it.
 */
export function contractOf({
  versionContract,
  runningVersion,
  talosVersion,
}: ContractBasis): string {
  const said = versionContract === undefined ? undefined : readContract(versionContract);
  if (said !== undefined) return said;
  const running = semver.valid(runningVersion);
  const wanted = semver.valid(talosVersion);
  if (runningVersion === undefined || running === null || wanted === null) return talosVersion; // for a check to name
  return semver.lt(running, wanted) ? runningVersion : talosVersion;
}

/** Talos' generator uses only the minor (talos, pkg/machinery/config/contract.go). */
export function contractMinor(contract: string): string {
  const release = semver.parse(contract);
  return release === null ? contract : `v${release.major}.${release.minor}`;
}

/**
 * Why a configuration is not generated for another contract than before; undefined where it is the same, or the stack
 * says it.
 *
 * @param was minor that the last update generated the configuration for; undefined where it generated none.
 * @param isSaid whether the stack has `versionContract`.
 */
export function driftFinding(
  was: string | undefined,
  is: string | undefined,
  isSaid: boolean,
): FindingText | undefined {
  if (isSaid || was === undefined || is === undefined || was === is) return undefined;
  return {
    problem: `is not set, and the generated configuration would change from the defaults of Talos ${was} to those of ${is}`,
    why: "Talos' makers advise to keep the contract of the release that created the cluster (siderolabs/terraform-provider-talos#401)",
    remedy: `write \`versionContract: ${was}\` under machineDefaults or at the machine, which changes nothing, or ${is} if you want the new defaults`,
  };
}
