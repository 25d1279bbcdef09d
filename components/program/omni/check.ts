import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { soundsLikeNvidia } from "../../recipe/facts/extension";
import { losses } from "../../recipe/machine/losses";
import {
  configPatchType,
  extensionsType,
  isOurOmniId,
  omniLabel,
  overridingPatches,
  conflictingPatches,
  templateAnnotation,
} from "../../recipe/machine/omni";
import { readPatch } from "../../recipe/machine/user-patches";
import type { FieldFinding } from "../../clients/failure";
import type { OmniTask } from "../task";
import type { Omni, OmniCluster, OmniMachineState } from "../../clients/omni/server";

/** Reasons why `applyToOmni` must not write a machine's resources into Omni. Changes nothing. */
export async function checkForOmni(task: OmniTask, omni: Omni): Promise<FieldFinding[]> {
  const state = await omni.clusterMachine(task.uuid);
  const cluster = await omni.cluster(task.cluster);
  return [
    ...(await foreignClusterFindings(task, omni, state, cluster)),
    ...templated(task, cluster),
    ...(await rivalPatchFindings(task, omni, state?.machineSet)),
    ...(await rivalExtensions(task, omni)),
    ...(await lostExtensions(task, omni)),
  ];
}

/**
 * Refuses resources that would reach no machine. A machine that Omni knows may still be in no cluster: Omni accepts
 * patches and extensions for a machine before it joins (siderolabs/omni,
 * internal/backend/runtime/omni/validations/config_patch.go and extensions_configuration.go: only the cluster must
 * exist; ConfigPatchCleanupController removes no patch whose cluster exists). When the machine joins the cluster, Omni
 * installs it with these patches and extensions at once.
 */
async function foreignClusterFindings(
  task: OmniTask,
  omni: Omni,
  state: OmniMachineState | undefined,
  cluster: OmniCluster | undefined,
): Promise<FieldFinding[]> {
  const field = `machines.${task.machine}.uuid`;
  if (state?.cluster === task.cluster) return [];
  if (state !== undefined)
    return [
      {
        field,
        problem: `machine ${task.uuid} belongs to the cluster ${state.cluster ?? "(none)"}, not ${task.cluster}`,
        why: "Omni would accept the stack's patches, apply them to no machine, and report no error",
        remedy: "compare `omnictl get clustermachines` with the stack",
      },
    ];
  if ((await omni.image(task.uuid)) === undefined)
    return [
      {
        field,
        problem: `Omni knows no machine ${task.uuid}`,
        why: "Omni would accept the stack's patches, apply them to no machine, and report no error",
        remedy:
          "compare `omnictl get machines` with the stack. A new machine must first boot from an installation medium of Omni",
      },
    ];
  return cluster === undefined
    ? [
        {
          field: "clusterName",
          problem: `Omni has no cluster ${task.cluster}`,
          why: "Omni would accept the stack's patches, apply them to no machine, and report no error",
          remedy:
            "compare `omnictl get clusters` with the stack. If the cluster is new, create it in Omni first",
        },
      ]
    : [];
}

/**
 * Refuses a cluster that a template describes. `omnictl cluster template sync` deletes every patch and extensions list
 * that has the cluster's label and is not in the template (siderolabs/omni, client/pkg/template/template.go:
 * actualResources, getOperationForNoMoreExpectedResource). Omni refuses an extensions list without that label
 * (internal/backend/runtime/omni/validations/extensions_configuration.go), so a sync would delete everything that this
 * package writes.
 */
function templated(
  { machine, cluster: name }: OmniTask,
  cluster: OmniCluster | undefined,
): FieldFinding[] {
  if (cluster?.templated !== true) return [];
  return [
    {
      field: `machines.${machine}.configuration`,
      problem: `a cluster template manages the cluster ${name} in Omni (it has the annotation ${templateAnnotation})`,
      why: "each `omnictl cluster template sync` deletes the patches and extensions that are not in the template: the machine would lose its driver and reboot",
      remedy: `delete the annotation (\`omnictl edit cluster ${name}\`), and never sync the template again. Or write the machine's patches and extensions into the template yourself, and remove the machine from the stack`,
    },
  ];
}

/**
 * Refuses other patches in Omni for this machine that write the file with the stack's options for containerd, or
 * override one of these options.
 *
 * @param machineSet machine set of the machine; undefined while the machine is in no cluster. The machine may then join
 * any set, so the patches of every set count.
 */
async function rivalPatchFindings(
  task: OmniTask,
  omni: Omni,
  machineSet: string | undefined,
): Promise<FieldFinding[]> {
  const [part] = task.resources.flatMap(({ spec }) =>
    "data" in spec
      ? readPatch(spec.data, "").files.filter(({ path }) => path === customizationPath)
      : [],
  );
  if (part === undefined) return [];
  const ownIds = task.resources.map(({ metadata }) => metadata.id);
  const machine = { cluster: task.cluster, uuid: task.uuid, machineSet };
  const otherPatches = (await omni.patches()).filter(({ id }) => !isOurOmniId(id, task.uuid));
  const field = `machines.${task.machine}.containerd`;
  const writing = conflictingPatches(otherPatches, machine, ownIds).map(({ id, scope }) => ({
    field,
    problem: `the patch ${id} in Omni, for ${scope}, also writes ${customizationPath}`,
    why: "Omni would merge both into one configuration: Talos up to 1.13 then fails with EtcFileSpec … already exists, CRI and kubelet do not start, and the machine reboots again and again. Talos 1.14 and newer silently use only the first of the two",
    remedy: `copy the settings of this file to machines.<name>.containerd of each machine of the patch, remove the file from the patch (\`omnictl edit ${configPatchType} ${id}\`), and run again`,
  }));
  const overriding = overridingPatches(otherPatches, machine, ownIds, part.content).map(
    ({ id, scope, override }) => ({
      field,
      problem: `the patch ${id} in Omni, for ${scope}, sets ${override.key} to another value, in its document ${override.wins}`,
      why: "Talos merges that document after the stack's settings, so the stack's value would have no effect",
      remedy: `remove ${override.key} from the patch (\`omnictl edit ${configPatchType} ${id}\`), or set the same value in the stack`,
    }),
  );
  return [...writing, ...overriding];
}

/**
 * Refuses any other list of extensions for this machine. Omni uses only the list with the highest ID, and
 * `schematic-<uuid>`, which Omni's page creates, has a higher ID than this package's list. The field `disabled` of a
 * list has no effect (siderolabs/omni, machine_extensions.go, determineExtensions;
 * frontend/src/views/Machines/components/UpdateExtensionsModal.vue). The check also refuses lists with lower IDs.
 * Omni may keep a result that it computed earlier in another order (shouldRecalculateExtensions in the same file).
 */
async function rivalExtensions(task: OmniTask, omni: Omni): Promise<FieldFinding[]> {
  if (!task.resources.some(({ spec }) => "extensions" in spec)) return [];
  const lists = (await omni.list(extensionsType)).filter(
    ({ id, labels }) =>
      labels[omniLabel.cluster] === task.cluster &&
      labels[omniLabel.clusterMachine] === task.uuid &&
      !isOurOmniId(id, task.uuid),
  );
  return lists.map(({ id, spec }) => ({
    field: `machines.${task.machine}.extensions`,
    problem: `${id} in Omni also lists extensions for this machine (${((spec["extensions"] as string[] | null) ?? []).join(", ") || "none"})`,
    why: "Omni uses only one list for a machine and would ignore the stack's list, so the machine would get no driver",
    remedy: `write all extensions that the machine needs into machines.<name>.extensions, delete the list in Omni (\`omnictl delete ${extensionsType} ${id}\`, after which Omni may reboot the machine), and run again`,
  }));
}

/**
 * Refuses to remove extensions from the machine's image. A list for one machine replaces the lists of its cluster,
 * machine set and boot medium. Omni keeps all other parts of the image (siderolabs/omni, machine_extensions.go and
 * schematic_configuration.go). If Omni already has this package's list, the function finds nothing: the list can then
 * lack extensions only because a user removed them from the stack.
 */
async function lostExtensions(task: OmniTask, omni: Omni): Promise<FieldFinding[]> {
  const plannedExtensions = task.resources.flatMap(({ spec }) =>
    "extensions" in spec ? spec.extensions : [],
  );
  if (
    plannedExtensions.length === 0 ||
    (await omni.list(extensionsType)).some(({ id }) => isOurOmniId(id, task.uuid))
  )
    return [];
  const image = await omni.image(task.uuid);
  const extensions = Object.fromEntries((image?.extensions ?? []).map((name) => [name, ""]));
  const gpu = plannedExtensions.some(soundsLikeNvidia);
  const next = { extensions: plannedExtensions, kernelArgs: [], gpu };
  return losses(task, { extensions, configuredArgs: [] }, next, {
    extensions: task.drop ?? [],
  });
}
