import type { FieldFinding, FindingText } from "../../clients/failure";
import { kubeletRelease } from "../../clients/talos/configuration-text";
import { loadedDriver } from "../../clients/talos/driver";
import type { Machine } from "../../clients/talos/talos-machine";
import { minorsBetween, wayBetween } from "../../recipe/effect/hops";
import type { UpgradeTask } from "../task";

/** Lists the releases that the Image Factory of an installer image has; undefined if the Factory does not answer. */
export type Releases = (installerImage: string) => Promise<string[] | undefined>;

/** The way of a machine from its current Talos release to the wanted one, and an obstacle on it. */
export interface MachineWay {
  /** Releases that it runs in between. */
  hops: string[];
  findings: FieldFinding[];
}

/** Inputs for the check of a machine's way. */
type Goal = Pick<UpgradeTask, "machine" | "talosVersion" | "installerImage" | "ownImage" | "image">;

/**
 * Finds the way of a machine. Only for a way over several minors does it ask the machine, and the Image Factory for its
 * releases.
 */
export async function wayOf(
  { machine: name, talosVersion, installerImage, ownImage, image }: Goal,
  machine: Machine,
  running: string,
  releases: Releases,
): Promise<MachineWay> {
  const isFar = minorsBetween(running, talosVersion) > 1;
  const { hops, fault: finding } = wayBetween(
    running,
    talosVersion,
    isFar
      ? {
          extensions: image.extensions,
          ownImage,
          listed: ownImage ? undefined : await releases(installerImage),
          ...(await hopFactsOf(machine)),
        }
      : {},
  );
  return { hops, findings: wayFindings({ machine: name }, finding) };
}

/** The obstacle on the way, as a finding about the machine's release. */
export const wayFindings = (
  { machine }: Pick<UpgradeTask, "machine">,
  finding: FindingText | undefined,
): FieldFinding[] =>
  finding === undefined ? [] : [{ field: `machines.${machine}.talosVersion`, ...finding }];

/** Facts from the machine itself. The configuration that waits for the next boot applies to all hops. */
async function hopFactsOf(machine: Machine) {
  const { active = "", persistent = active } = await machine.configurations();
  const { etcd } = await machine.services();
  return {
    loadedDriver: (await loadedDriver(machine)) ?? null,
    kubernetes: kubeletRelease(persistent),
    hasPeers: etcd !== undefined && (await machine.etcdMembers()).length > 1,
  };
}
