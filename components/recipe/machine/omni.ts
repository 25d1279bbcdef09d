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
 * Type of the Omni resource in which the package writes a patch. Source: siderolabs/omni,
 * client/pkg/omni/resources/omni.
 */
export const configPatchType = "ConfigPatches.omni.sidero.dev";
/** Type of the Omni resource in which the package writes a machine's extensions. */
export const extensionsType = "ExtensionsConfigurations.omni.sidero.dev";

/**
 * Labels by which an Omni resource selects machines. Source: siderolabs/omni, client/pkg/omni/resources/omni/labels.go.
 */
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

/** A machine in Omni, with the patches and extensions that the stack writes for it. */
type OmniMachine = Record<"cluster" | "uuid", string> & Record<"patches" | "extensions", string[]>;

/**
 * The stack's resources in Omni for one machine: first the extensions, then the patches. Omni applies each resource at
 * once, and upgrades a machine before it configures it. In another order Omni would reboot the machine once more, with
 * a configuration whose driver the image lacks.
 *
 * Omni merges a machine's patches in the order of their IDs as text (siderolabs/omni,
 * internal/backend/runtime/omni/controllers/omni/internal/configpatch; cosi-project/runtime,
 * pkg/state/impl/inmem/collection.go, List). So the user's patches (5010 and on) come after the patches of Omni's own
 * editor (500), and the package's own patch (510) comes last. The package's patch always keeps its ID. If its ID
 * changed, the machine's configuration would, between two writes, contain the package's containerd settings twice or
 * not at all. With the settings twice, Talos ≤ 1.13 does not boot.
 *
 * A machine's list of extensions replaces the lists of the cluster and of the machine set (siderolabs/omni,
 * internal/backend/runtime/omni/controllers/omni/machine_extensions.go).
 *
 * @param cluster name of the cluster in Omni; `uuid` is the ID of the machine in Omni.
 * @param patches strategic-merge patches (YAML text), in order; the last is the package's own.
 * @param extensions names of the extensions, sorted. If the list is empty, the function makes no resource for it, and
 * the cluster's list applies.
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

/** Whether `omniResources` gives this ID to a resource of the machine. */
export const isOurOmniId = (id: string, uuid: string): boolean =>
  /^\d+-talos-gpu-/.test(id) && id.endsWith(`-talos-gpu-${uuid}`);

/** A patch in Omni. */
export interface OmniPatch {
  id: string;
  labels: Record<string, string>;
  data: string;
}

/** The names by which patches in Omni select a machine. */
export interface PatchedMachine {
  cluster: string;
  uuid: string;
  /**
   * Name of the machine set in Omni that contains the machine. If undefined, the machine set is unknown, and the
   * patches of every set count.
   */
  machineSet: string | undefined;
}

/**
 * Patches in Omni that do not belong to the stack but also write the machine's containerd settings. Omni merges patches
 * of every scope, so `machine.files` would contain the path of these settings twice. Then Talos ≤ 1.13 would not boot
 * (talos, injectCRIConfigPatch).
 *
 * @param ownIds IDs of the stack's own patches.
 */
export const conflictingPatches = (
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
 * Patches in Omni that do not belong to the stack but override its containerd settings on the machine by a document
 * (Talos ≥ 1.14).
 *
 * @param part the stack's containerd settings.
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

/** Scope of a patch, in words; undefined if the patch does not reach the machine. */
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
