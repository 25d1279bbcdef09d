import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { soundsLikeNvidia } from "../../recipe/facts/extension";
import { losses } from "../../recipe/machine/losses";
import {
  configPatchType,
  extensionsType,
  isOurOmniId,
  omniLabel,
  overridingPatches,
  rivalPatches,
  templateAnnotation,
} from "../../recipe/machine/omni";
import { readPatch } from "../../recipe/machine/user-patches";
import type { FieldFinding } from "../../clients/failure";
import type { OmniTask } from "../task";
import type { Omni, OmniCluster, OmniMachineState } from "../../clients/omni/server";

/** All that would keep `applyToOmni` from giving Omni a machine's part. Changes nothing. */
export async function checkForOmni(task: OmniTask, omni: Omni): Promise<FieldFinding[]> {
  const state = await omni.clusterMachine(task.uuid);
  const cluster = await omni.cluster(task.cluster);
  return [
    ...(await strangers(task, omni, state, cluster)),
    ...templated(task, cluster),
    ...(await rivals(task, omni, state?.machineSet)),
    ...(await rivalExtensions(task, omni)),
    ...(await lostExtensions(task, omni)),
  ];
}

/**
 * Refuses what would reach no machine. One that Omni knows and that is in no cluster yet is welcome: Omni takes
 * patches and extensions labelled for a machine of a cluster before there is one (siderolabs/omni,
 * internal/backend/runtime/omni/ validations/config_patch.go and extensions_configuration.go: the cluster must exist,
 * but the machine does not have to; its ConfigPatchCleanupController removes none whose cluster exists), and the
 * machine is then installed with them at once.
 */
async function strangers(
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
        problem: `machine ${task.uuid} is of the cluster ${state.cluster ?? "(none)"}, not ${task.cluster}`,
        why: "Omni would accept a patch with these labels, apply it to no machine, and report nothing",
        remedy: "compare `omnictl get clustermachines` with the stack",
      },
    ];
  if ((await omni.image(task.uuid)) === undefined)
    return [
      {
        field,
        problem: `Omni knows no machine ${task.uuid}`,
        why: "Omni would accept a patch with these labels, apply it to no machine, and report nothing",
        remedy:
          "compare `omnictl get machines` with the stack; boot the machine from a medium of Omni's first",
      },
    ];
  return cluster === undefined
    ? [
        {
          field: "clusterName",
          problem: `Omni has no cluster ${task.cluster}`,
          why: "Omni would accept a patch with these labels, apply it to no machine, and report nothing",
          remedy:
            "compare `omnictl get clusters` with the stack; make the cluster on Omni's page first",
        },
      ]
    : [];
}

/**
 * Refuses a cluster that a template describes. A sync deletes each patch and extensions list that has the cluster's
 * label and that the template lacks (siderolabs/omni, client/pkg/template/template.go: actualResources,
 * getOperationForNoMoreExpectedResource). Without that label Omni takes no extensions
 * (internal/backend/runtime/omni/validations/extensions_configuration.go), so nothing of ours would survive.
 */
function templated(
  { machine, cluster: name }: OmniTask,
  cluster: OmniCluster | undefined,
): FieldFinding[] {
  if (cluster?.templated !== true) return [];
  return [
    {
      field: `machines.${machine}.configuration`,
      problem: `the cluster ${name} is kept as a template in Omni (it has the annotation ${templateAnnotation})`,
      why: "each `omnictl cluster template sync` deletes the patches and extensions that the template lacks: it would take the driver from the machine and reboot it",
      remedy: `delete the annotation (\`omnictl edit cluster ${name}\`), and never sync the template again; or write the machine's patches and extensions into the template yourself, and take the machine out of the stack`,
    },
  ];
}

/**
 * @param machineSet undefined while the machine is in no cluster: then it may join any set, and each one's patches
 * count.
 */
async function rivals(
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
  const own = task.resources.map(({ metadata }) => metadata.id);
  const machine = { cluster: task.cluster, uuid: task.uuid, machineSet };
  const theirs = (await omni.patches()).filter(({ id }) => !isOurOmniId(id, task.uuid));
  const field = `machines.${task.machine}.containerd`;
  const writing = rivalPatches(theirs, machine, own).map(({ id, scope }) => ({
    field,
    problem: `the patch ${id} in Omni, for ${scope}, writes ${customizationPath} as well`,
    why: "Omni would merge both into one configuration: Talos up to 1.13 then fails with EtcFileSpec … already exists, CRI and kubelet do not start, and the machine reboots every 35 minutes; a newer Talos silently takes only the first one",
    remedy: `say what it sets under machines.<name>.containerd of each machine, delete it first (\`omnictl delete ${configPatchType} ${id}\`), and run again`,
  }));
  const overriding = overridingPatches(theirs, machine, own, part.content).map(
    ({ id, scope, override }) => ({
      field,
      problem: `the patch ${id} in Omni, for ${scope}, sets ${override.key} to another value, in its document ${override.wins}`,
      why: "Talos merges that document later, so the stack's value would have no effect",
      remedy: `remove it from the patch (\`omnictl edit ${configPatchType} ${id}\`), or set the same value in the stack`,
    }),
  );
  return [...writing, ...overriding];
}

/**
 * Refuses another list of extensions for the one machine. Omni takes a single one, that with the highest ID, so
 * `schematic-<uuid>`, as Omni's page names it, beats ours; `disabled` says nothing of a list (siderolabs/omni,
 * machine_extensions.go, determineExtensions; frontend/src/views/Machines/components/UpdateExtensionsModal.vue).
 * Lower IDs are refused as well: a list that Omni worked out earlier, in another order, may stay
 * (shouldRecalculateExtensions there).
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
    problem: `${id} in Omni lists extensions for this machine as well (${((spec["extensions"] as string[] | null) ?? []).join(", ") || "none"})`,
    why: "Omni uses only one list for a machine and would ignore the stack's, so the machine would get no driver",
    remedy: `list those that it needs under machines.<name>.extensions, delete the list (\`omnictl delete ${extensionsType} ${id}\`; Omni may reboot the machine for it), and run again`,
  }));
}

/**
 * Refuses to take extensions away. A list for one machine replaces those of the cluster and the machine set, and that
 * of its boot medium; everything else of the image Omni keeps (siderolabs/omni, machine_extensions.go and
 * schematic_configuration.go). A machine that has our list already has lost nothing that was not taken out of the
 * stack on purpose.
 */
async function lostExtensions(task: OmniTask, omni: Omni): Promise<FieldFinding[]> {
  const wanted = task.resources.flatMap(({ spec }) =>
    "extensions" in spec ? spec.extensions : [],
  );
  if (
    wanted.length === 0 ||
    (await omni.list(extensionsType)).some(({ id }) => isOurOmniId(id, task.uuid))
  )
    return [];
  const image = await omni.image(task.uuid);
  const extensions = Object.fromEntries((image?.extensions ?? []).map((name) => [name, ""]));
  const gpu = wanted.some(soundsLikeNvidia);
  const next = { extensions: wanted, kernelArgs: [], gpu };
  return losses(task.machine, { extensions, configuredArgs: [] }, next, {
    extensions: task.drop ?? [],
  });
}
