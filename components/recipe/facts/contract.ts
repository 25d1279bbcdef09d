import * as semver from "semver";
import type { FindingText } from "../rules/finding";
import type { MachineSpec } from "../spec/index";

/** Fields of an owned machine that decide its version contract. */
export interface ContractBasis extends Pick<MachineSpec, "versionContract" | "runningVersion"> {
  /** Talos release that the machine should run. */
  talosVersion: string;
}

/** A contract such as `v1.12` or `v1.12.6` as a full release; undefined if the text is not a contract. */
export function readContract(text: string): string | undefined {
  const parts = /^v?(\d+)\.(\d+)(?:\.(\d+))?$/.exec(text);
  return parts === null ? undefined : `v${parts[1]!}.${parts[2]!}.${parts[3] ?? 0}`;
}

/**
 * Talos' version contract of an owned machine: the release whose defaults the generated configuration has. Even after
 * upgrades of Talos, the contract should still be the release that created the cluster
 * (siderolabs/terraform-provider-talos#401; siderolabs/talos#13885). The field `versionContract` sets the contract.
 * Without this field the contract is the older of the running and the wanted release, because the machine gets its
 * configuration before its upgrade. Without this field, a preview refuses an update that would change the contract
 * (`driftFinding`).
 */
export function contractOf({
  versionContract,
  runningVersion,
  talosVersion,
}: ContractBasis): string {
  const statedContract = versionContract === undefined ? undefined : readContract(versionContract);
  if (statedContract !== undefined) return statedContract;
  const running = semver.valid(runningVersion);
  const targetVersion = semver.valid(talosVersion);
  if (runningVersion === undefined || running === null || targetVersion === null)
    return talosVersion; // A check reports an invalid contract.
  return semver.lt(running, targetVersion) ? runningVersion : talosVersion;
}

/**
 * Major and minor of a contract, e.g. `v1.12`: Talos' generator ignores the patch release (talos,
 * pkg/machinery/config/contract.go).
 */
export function contractMinor(contract: string): string {
  const release = semver.parse(contract);
  return release === null ? contract : `v${release.major}.${release.minor}`;
}

/**
 * Finding for a version contract that would change although the stack does not set it; undefined if the contract stays,
 * or if the stack sets it.
 *
 * @param previousContract contract of the last update; undefined if that update generated no configuration.
 * @param isStated whether the stack sets `versionContract`.
 */
export function driftFinding(
  previousContract: string | undefined,
  nextContract: string | undefined,
  isStated: boolean,
): FindingText | undefined {
  if (
    isStated ||
    previousContract === undefined ||
    nextContract === undefined ||
    previousContract === nextContract
  )
    return undefined;
  return {
    problem: `is not set, and the generated configuration would change from the defaults of Talos ${previousContract} to those of ${nextContract}`,
    why: "the developers of Talos recommend that a cluster keeps the contract of the release that created it (siderolabs/terraform-provider-talos#401)",
    remedy: `to keep the present defaults, write \`versionContract: ${previousContract}\` under machineDefaults or in the machine's fields. To get the new defaults, write ${nextContract}`,
  };
}
