import type { FieldFinding, FindingText } from "../../clients/failure";
import { kubeletRelease } from "../../clients/talos/configuration-text";
import { loadedDriver } from "../../clients/talos/driver";
import type { Machine } from "../../clients/talos/talos-machine";
import { minorsBetween, upgradePath } from "../../recipe/effect/hops";
import type { UpgradeTask } from "../task";

/** Lists the releases that the Image Factory of an installer image has; undefined if the Factory does not answer. */
export type Releases = (installerImage: string) => Promise<string[] | undefined>;

/** The upgrade path of a machine from its current Talos release to the wanted one. */
export interface MachineWay {
  /** Releases that the machine runs in between. */
  hops: string[];
  findings: FieldFinding[];
}

/** Fields of a task that decide the upgrade path. */
type Goal = Pick<UpgradeTask, "machine" | "talosVersion" | "installerImage" | "ownImage" | "image">;

/**
 * Finds the upgrade path of a machine. Only a path over several minor releases needs facts from the machine, and the
 * Image Factory's list of releases.
 */
export async function wayOf(
  { machine: name, talosVersion, installerImage, ownImage, image }: Goal,
  machine: Machine,
  running: string,
  releases: Releases,
): Promise<MachineWay> {
  const isFar = minorsBetween(running, talosVersion) > 1;
  const { intermediateReleases: hops, fault: finding } = upgradePath(
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

/** The reason why the upgrade path is not possible, as a finding about the machine's release. */
export const wayFindings = (
  { machine }: Pick<UpgradeTask, "machine">,
  finding: FindingText | undefined,
): FieldFinding[] =>
  finding === undefined ? [] : [{ field: `machines.${machine}.talosVersion`, ...finding }];

/**
 * Facts from the machine itself. The configuration for the next boot is the one with which the machine runs all
 * releases on the path.
 */
async function hopFactsOf(machine: Machine) {
  const { active = "", persistent = active } = await machine.configurations();
  const { etcd } = await machine.services();
  return {
    loadedDriver: (await loadedDriver(machine)) ?? null,
    kubernetes: kubeletRelease(persistent),
    hasPeers: etcd !== undefined && (await machine.etcdMembers()).length > 1,
  };
}
