import type { FieldFinding, FindingText } from "../../clients/failure";
import { kubeletRelease } from "../../clients/talos/configuration-text";
import { loadedDriver } from "../../clients/talos/driver";
import type { Machine } from "../../clients/talos/talos-machine";
import { minorsBetween, wayBetween } from "../../recipe/effect/hops";
import type { UpgradeTask } from "../task";

/** Asks for the releases that the Image Factory of an installer image lists; undefined where it does not say. */
export type Releases = (installerImage: string) => Promise<string[] | undefined>;

/** How a machine gets from the release that it runs to the wanted one, and what is in its way. */
export interface MachineWay {
  /** Releases that it runs on the way. */
  hops: string[];
  findings: FieldFinding[];
}

/** Inputs for the check of a machine's way. */
type Goal = Pick<UpgradeTask, "machine" | "talosVersion" | "installerImage" | "ownImage" | "image">;

/**
 * The way of a machine, by what it is. Only one that goes over several minors is asked, and the Image Factory for its
 * releases.
 */
export async function wayOf(
  { machine: name, talosVersion, installerImage, ownImage, image }: Goal,
  machine: Machine,
  running: string,
  releases: Releases,
): Promise<MachineWay> {
  const isFar = minorsBetween(running, talosVersion) > 1;
  const { hops, fault } = wayBetween(
    running,
    talosVersion,
    isFar
      ? {
          extensions: image.extensions,
          ownImage,
          listed: ownImage ? undefined : await releases(installerImage),
          ...(await seenOf(machine)),
        }
      : {},
  );
  return { hops, findings: wayFindings({ machine: name }, fault) };
}

/** The obstacle on the way, as a finding about the machine's release. */
export const wayFindings = (
  { machine }: Pick<UpgradeTask, "machine">,
  fault: FindingText | undefined,
): FieldFinding[] =>
  fault === undefined ? [] : [{ field: `machines.${machine}.talosVersion`, ...fault }];

/** Facts from the machine itself. All hops have the configuration that waits for its boot. */
async function seenOf(machine: Machine) {
  const { active = "", persistent = active } = await machine.configurations();
  const { etcd } = await machine.services();
  return {
    loadedDriver: (await loadedDriver(machine)) ?? null,
    kubernetes: kubeletRelease(persistent),
    hasPeers: etcd !== undefined && (await machine.etcdMembers()).length > 1,
  };
}
