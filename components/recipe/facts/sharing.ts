import { stringify } from "yaml";
import { type Card, migOf } from "./card";
import type { MachineFacts } from "./machine-facts";
import { shortHash } from "../short-hash";
import type { SharingSpec } from "../spec/index";

/** Sharing of a machine's cards by the device plugin. */
export interface Sharing extends SharingSpec {
  /**
   * Whether the node may offer more GPUs than the plan counts. This is so if the sharing configuration is outside of
   * the stack, has a placeholder, or sets something other than replicas of whole cards.
   */
  unread?: boolean;
  /** Whether the configuration refuses a pod that requests several replicas. */
  refusesSeveral?: boolean;
}

/** Resource of a whole card. */
const gpuResource = "nvidia.com/gpu";

/**
 * Resource that workloads request. With the MIG strategy `mixed`, this is the whole card if a machine has an unsplit
 * card, else the smallest MIG device.
 */
export function resourceNameOf(sharing: SharingSpec | undefined, machines: MachineFacts[]): string {
  if (sharing?.timeSlicing?.renameByDefault) return `${gpuResource}.shared`;
  if (sharing?.mig?.strategy === "mixed") {
    const names = new Set(
      machines.flatMap((machine) => Object.keys(allocatableOf(machine, sharing))),
    );
    return [...names].sort((a, b) => sizeOf(a) - sizeOf(b) || a.localeCompare(b))[0] ?? gpuResource;
  }
  return gpuResource;
}

/** Memory of a MIG device in GB, from its resource's name. A whole card counts as 0, so that it comes first. */
const sizeOf = (resource: string): number => Number(/\.(\d+)gb/.exec(resource)?.[1] ?? 0);

/**
 * Name of a MIG device's resource with the strategy mixed. Source: k8s-device-plugin, internal/resource
 * (`mig-<profile>`, `+` as `.`).
 */
const migResource = (profile: string): string =>
  `nvidia.com/mig-${profileName(profile).replace("+", ".")}`;

/**
 * Resource that one workload requests.
 *
 * @param otherwise the cluster's resource, for a workload without a MIG profile, or without the MIG strategy `mixed`.
 */
export const workloadResource = (
  sharing: SharingSpec | undefined,
  migProfile: string | undefined,
  otherwise: string,
): string =>
  sharing?.mig?.strategy === "mixed" && migProfile !== undefined
    ? migResource(migProfile)
    : otherwise;

/**
 * Number of units of each GPU resource that a node should offer, by resource name; empty for a machine without a GPU.
 * The node may offer more units of the resources in `atLeastOf`.
 */
export function allocatableOf(
  machine: MachineFacts,
  sharing: SharingSpec | undefined,
): Record<string, number> {
  if (machine.gpuCount === 0) return {};
  if (sharing?.mig && splits(sharing.mig.profile) && canSplit(machine))
    return migDevices(machine, sharing, sharing.mig.profile);
  const replicas = sharing?.timeSlicing?.replicas ?? 1;
  return { [resourceNameOf(sharing, [])]: machine.gpuCount * replicas };
}

/**
 * Resources that a node may offer in a greater number than `allocatableOf` counts, because the number of MIG instances
 * or replicas is unknown.
 */
export function atLeastOf({ uses }: MachineFacts, sharing: Sharing | undefined): string[] {
  const { mig, unread } = sharing ?? {};
  if (unread && uses.length > 0 && mig === undefined) return [resourceNameOf(sharing, [])];
  if (!mig || !splits(mig.profile) || !uses.some(({ card }) => isCountedOn(card, mig.profile)))
    return [];
  return [mig.strategy === "mixed" ? migResource(mig.profile) : resourceNameOf(sharing, [])];
}

/**
 * Whether a card may have MIG, but the tables lack its geometry. The plan counts one instance of the profile on such a
 * card.
 */
const isCountedOn = (card: Card | undefined, profile: string): boolean =>
  card !== undefined &&
  !migOf(card) &&
  card.mayHaveMig === true &&
  profileName(profile) !== "balanced";

/** Whether a profile splits cards, i.e. whether it is not `all-disabled`. */
export const splits = (profile: string): boolean => profileName(profile) !== "disabled";

/**
 * Whether a machine has cards with MIG. Other machines keep their whole cards, because the MIG manager runs only on
 * nodes with such cards.
 */
export const canSplit = ({ cards }: MachineFacts): boolean =>
  cards.some((card) => migOf(card) !== undefined || card.mayHaveMig);

/**
 * MIG devices of a machine, by resource name. With the MIG strategy `single` the devices have the resource name
 * `nvidia.com/gpu`, and time slicing shares them like cards.
 */
function migDevices(
  machine: MachineFacts,
  sharing: SharingSpec,
  profile: string,
): Record<string, number> {
  const devices: Record<string, number> = {};
  const isMixed = sharing.mig?.strategy === "mixed";
  const replicas = isMixed ? 1 : (sharing.timeSlicing?.replicas ?? 1);
  for (const use of machine.uses) {
    const instances = isCountedOn(use.card, profile)
      ? { [profileName(profile)]: 1 }
      : instancesOf(use.card && migOf(use.card), profile);
    for (const [name, count] of Object.entries(instances)) {
      const resource = isMixed ? migResource(name) : resourceNameOf(sharing, []);
      devices[resource] = (devices[resource] ?? 0) + count * use.count * replicas;
    }
  }
  return devices;
}

/**
 * Attributes of a profile. `+me`: one instance of the card, with media engines. `+me.all`: one instance, with all media
 * engines of the card. `-me`: no media engines. `+gfx`: graphics. Source: NVIDIA MIG user guide, supported profiles
 * (RTX PRO 6000 has all these attributes).
 */
const attributes = ["+me", "+me.all", "-me", "+gfx"] as const;

/** MIG instances that a profile makes on one card, by profile; empty if the card lacks the profile. */
export function instancesOf(
  geometry: ReturnType<typeof migOf>,
  profile: string,
): Record<string, number> {
  const name = profileName(profile);
  if (name === "balanced") return geometry?.balanced ?? {};
  if (!geometry) return {};
  const base = /^[^+-]*/.exec(name)?.[0] ?? "";
  const attribute = name.slice(base.length);
  if (!Object.hasOwn(geometry.profiles, base) || !mayHave(geometry, base, attribute)) return {};
  return { [name]: attribute.startsWith("+me") ? 1 : (geometry.profiles[base] ?? 0) };
}

/**
 * Whether a card has a MIG profile with an attribute. Cards whose MIG instances run no graphics have only the attribute
 * `+me`, and only for their smallest instances (A30: 1g and 2g). RTX PRO cards have all attributes, except that their
 * `4g` profiles have only `+gfx`.
 */
function mayHave(
  geometry: NonNullable<ReturnType<typeof migOf>>,
  base: string,
  attribute: string,
): boolean {
  if (attribute === "") return true;
  if (geometry.graphics)
    return (
      attributes.some((known) => known === attribute) &&
      !(base.startsWith("4g") && attribute !== "+gfx")
    );
  const counts = Object.values(geometry.profiles);
  return (
    attribute === "+me" && (geometry.profiles[base] === Math.max(...counts) || base === "2g.12gb")
  );
}

/**
 * Profile in the driver's notation: without the prefix of the MIG manager's configurations, and with `+` before an
 * attribute. So `all-1g.12gb` gives `1g.12gb`, and `all-1g.10gb.me` gives `1g.10gb+me`.
 */
export const profileName = (profile: string): string =>
  profile.replace(/^all-/, "").replace(/\.(me|me\.all|gfx)$/, "+$1");

/**
 * Name of the MIG manager's configuration for a profile, with `.me` for `+me`. Source: NVIDIA/mig-parted,
 * config-default.yaml.
 */
export const migConfigName = (profile: string): string =>
  `all-${profileName(profile).replace("+", ".")}`;

/**
 * Name of the ConfigMap with a configuration for sharing. The operator's pods read a changed configuration only from a
 * ConfigMap with a new name, so the name contains a hash of the content. Source: docs.nvidia.com, GPU Operator,
 * "Updating a Time-Slicing Config Map".
 */
export const sharingConfigName = (config: string): string => `gpu-sharing-${shortHash(config, 8)}`;

/**
 * The device plugin's configuration for sharing; undefined without sharing. By default the plugin refuses a pod that
 * requests more than one replica, because several replicas give the pod no larger share of a card. The stack may allow
 * such requests. Source: k8s-device-plugin, README, "Shared Access to GPUs".
 */
export function sharingConfig(sharing: SharingSpec | undefined): string | undefined {
  if (!sharing?.timeSlicing) return undefined;
  const {
    replicas,
    renameByDefault = false,
    failRequestsGreaterThanOne = true,
  } = sharing.timeSlicing;
  const resources = [{ name: gpuResource, replicas }];
  return stringify({
    version: "v1",
    sharing: { timeSlicing: { renameByDefault, failRequestsGreaterThanOne, resources } },
  });
}
