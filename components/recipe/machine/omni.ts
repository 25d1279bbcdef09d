import { customizationPath } from "./containerd/containerd";
import { containerdOverrides, type Override, ownPart } from "./documents/overrides";
import { documentsOf } from "../merge/wanted";
import { readPatch } from "./user-patches";

/**
 * A resource of Omni, in the form of `omnictl apply` and `omnictl get -o json`. Source: siderolabs/omni,
 * client/pkg/omnictl.
 */
export interface OmniResource {
  metadata: { namespace: string; type: string; id: string; labels: Record<string, string> };
  spec: { data: string } | { extensions: string[] };
}

/**
 * Type of Omni's resource for a patch, which the package writes. Source: siderolabs/omni,
 * client/pkg/omni/resources/omni.
 */
export const configPatchType = "ConfigPatches.omni.sidero.dev";
/** Type of Omni's resource for the extensions of a machine, which the package writes. */
export const extensionsType = "ExtensionsConfigurations.omni.sidero.dev";

/** Labels that select the machines of a resource. Source: siderolabs/omni, client/pkg/omni/resources/omni/labels.go. */
export const omniLabel = {
  cluster: "omni.sidero.dev/cluster",
  machineSet: "omni.sidero.dev/machine-set",
  clusterMachine: "omni.sidero.dev/cluster-machine",
  machine: "omni.sidero.dev/machine",
  disabled: "omni.sidero.dev/disabled",
} as const;

/**
 * Annotation of a cluster that `omnictl cluster template sync` made. It has no value. Source: siderolabs/omni,
 * client/pkg/omni/resources/omni/annotations.go (ResourceManagedByClusterTemplates),
 * client/pkg/template/internal/models/cluster.go.
 */
export const templateAnnotation = "omni.sidero.dev/managed-by-cluster-templates";

/** The stack's resources in Omni for one machine. */
type OmniMachine = Record<"cluster" | "uuid", string> & Record<"patches" | "extensions", string[]>;

/**
 * The resources of one machine: its extensions, and its patches. The extensions come first: Omni applies each resource
 * at once, and upgrades before it configures. In another order Omni would boot the machine once more, into a
 * configuration for which the image has no driver.
 *
 * Omni merges a machine's patches in the order of their IDs as text (siderolabs/omni,
 * internal/backend/runtime/omni/controllers/omni/internal/configpatch; cosi-project/runtime,
 * pkg/state/impl/inmem/collection.go, List). So the user's patches (5010 and on) come after those of Omni's own editor
 * (500). The recipe's patch (510) comes last. The recipe's patch always keeps its ID. With a changed ID Omni would have
 * its containerd part twice or not at all between two writes. With two parts Talos does not boot.
 *
 * The machine's extensions replace the lists of the cluster and of the machine set (siderolabs/omni,
 * internal/backend/runtime/omni/controllers/omni/machine_extensions.go).
 *
 * @param cluster name of the cluster in Omni; `uuid` is the ID of the machine in Omni.
 * @param patches strategic-merge patches (YAML text), in order; the last is the recipe's own.
 * @param extensions sorted. If empty, the function makes no resource for them, and the cluster's list stays.
 */
export function omniResources({ cluster, uuid, patches, extensions }: OmniMachine): OmniResource[] {
  const labels = { [omniLabel.cluster]: cluster, [omniLabel.clusterMachine]: uuid };
  const metadata = (type: string, id: string): OmniResource["metadata"] => ({
    namespace: "default",
    type,
    id,
    labels,
  });
  return [
    ...(extensions.length > 0
      ? [{ metadata: metadata(extensionsType, `510-talos-gpu-${uuid}`), spec: { extensions } }]
      : []),
    ...patches.map((data, index) => ({
      metadata: metadata(
        configPatchType,
        `${index === patches.length - 1 ? 510 : 5010 + index}-talos-gpu-${uuid}`,
      ),
      spec: { data },
    })),
  ];
}

/** Whether an ID is one of those that `omniResources` makes for a machine, with any number of patches. */
export const isOurOmniId = (id: string, uuid: string): boolean =>
  /^\d+-talos-gpu-/.test(id) && id.endsWith(`-talos-gpu-${uuid}`);

/** A patch in Omni. */
export interface OmniPatch {
  id: string;
  labels: Record<string, string>;
  data: string;
}

/** A machine, with the names by which patches in Omni select it. */
export interface PatchedMachine {
  cluster: string;
  uuid: string;
  /** The machine's set in Omni. If undefined, the set is unknown, and the patches of every set count. */
  machineSet: string | undefined;
}

/**
 * Patches in Omni that are not the stack's, and that write the containerd part of the machine too. Omni merges patches
 * of every scope, so `machine.files` would have the path twice, and Talos would not boot (talos, injectCRIConfigPatch).
 *
 * @param ownIds IDs of the stack's own patches.
 */
export const rivalPatches = (
  patches: OmniPatch[],
  machine: PatchedMachine,
  ownIds: readonly string[],
): { id: string; scope: string }[] =>
  patchesReaching(patches, machine, ownIds)
    .filter(({ data, id }) =>
      readPatch(data, id).files.some(({ path }) => path === customizationPath),
    )
    .map(({ id, scope }) => ({ id, scope }));

/**
 * Patches in Omni that are not the stack's, and that have a document for the machine which overrides the stack's
 * containerd part (Talos ≥ 1.14).
 *
 * @param part the stack's part.
 */
export const overridingPatches = (
  patches: OmniPatch[],
  machine: PatchedMachine,
  ownIds: readonly string[],
  part: string,
): { id: string; scope: string; override: Override }[] =>
  patchesReaching(patches, machine, ownIds).flatMap(({ id, data, scope }) =>
    containerdOverrides(new Map(documentsOf(data)), part)
      .filter(({ loses }) => loses === ownPart)
      .map((override) => ({ id, scope, override })),
  );

const patchesReaching = (
  patches: OmniPatch[],
  machine: PatchedMachine,
  ownIds: readonly string[],
) =>
  patches.flatMap(({ id, labels, data }) => {
    const scope = scopeFor(labels, machine);
    return scope !== undefined && !ownIds.includes(id) ? [{ id, data, scope }] : [];
  });

/** Scope in which a patch reaches the machine, in words; undefined if the patch does not reach the machine. */
function scopeFor(labels: Record<string, string>, machine: PatchedMachine): string | undefined {
  if (labels[omniLabel.disabled] !== undefined) return undefined;
  const machineId = labels[omniLabel.machine];
  if (labels[omniLabel.cluster] === undefined)
    return machineId === machine.uuid ? "this machine" : undefined;
  if (labels[omniLabel.cluster] !== machine.cluster) return undefined;
  const clusterMachine = labels[omniLabel.clusterMachine];
  if (clusterMachine !== undefined)
    return clusterMachine === machine.uuid ? "this machine" : undefined;
  const machineSet = labels[omniLabel.machineSet];
  if (machineSet === undefined) return `the whole cluster ${machine.cluster}`;
  return machine.machineSet === undefined || machineSet === machine.machineSet
    ? `the machine set ${machineSet}`
    : undefined;
}
