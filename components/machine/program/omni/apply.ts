import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { customizationPath } from "../../../recipe/machine/containerd/containerd";
import { soundsLikeNvidia } from "../../../recipe/facts/extension";
import { losses } from "../../../recipe/machine/losses";
import { configPatchType, extensionsType, rivalPatches } from "../../../recipe/machine/omni";
import type { Clock } from "../clock";
import { Failure } from "../failure";
import { askLast } from "../removal";
import type { Omni, OmniContent, OmniMachineState } from "./server";
import type { Report } from "../progress";
import type { OmniTask } from "../task";

/** What `omni-apply` answers. */
export interface OmniResult {
  /** Hash of what Omni holds for the machine now. */
  hash: string;
  /** IDs that were written. */
  written: string[];
  /** IDs of ours that were there and are not wanted any more. */
  removed: string[];
}

/**
 * Gives Omni what it shall know of one machine. Looks first: a patch of somebody else that writes the same containerd part
 * would keep the machine from booting, so it is refused before anything is changed. Only what differs is written, so a
 * second run changes nothing; resources of others are never touched.
 *
 * @throws Failure with every rival patch; Omni is then as it was.
 */
export async function applyToOmni(task: OmniTask, omni: Omni, report: Report): Promise<OmniResult> {
  report(`look: machine ${task.uuid} of cluster ${task.cluster} in Omni`);
  const found = await checkForOmni(task, omni);
  if (found.length > 0) throw new Failure(found);
  const state = await omni.clusterMachine(task.uuid);

  const wanted = new Set(task.resources.map(({ metadata }) => `${metadata.type}/${metadata.id}`));
  const stale = (await ours(task, omni)).filter(({ type, id }) => !wanted.has(`${type}/${id}`));
  const different: OmniTask["resources"] = [];
  for (const resource of task.resources) {
    const there = await omni.resource(resource.metadata.type, resource.metadata.id);
    if (there === undefined || !saysAll(there, resource)) different.push(resource);
  }
  // First, so that nothing which has another ID now is there twice meanwhile: Talos does not boot with two of some files.
  for (const { type, id } of stale) {
    report(`remove: ${id}, which is ours and no longer wanted`);
    await omni.delete(type, id);
  }
  if (different.length > 0) {
    const then =
      state === undefined ? "Omni keeps them until the machine joins" : "Omni upgrades and reboots by itself";
    report(`apply: ${different.map(({ metadata }) => metadata.id).join(", ")}; ${then}`);
    await omni.apply(different);
  } else {
    report("equal: Omni has all of it already");
  }
  return {
    hash: createHash("sha256").update(JSON.stringify(task.resources)).digest("hex"),
    written: different.map(({ metadata }) => metadata.id),
    removed: stale.map(({ id }) => id),
  };
}

/** Omni prints fields of a spec that nobody wrote, such as `compresseddata: []` of a patch (siderolabs/omni, client/api/omni/specs/config_patch.go). */
function saysAll({ spec, labels }: OmniContent, { spec: wanted, metadata }: OmniTask["resources"][number]): boolean {
  const same = Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(spec[key], value));
  return same && isDeepStrictEqual(labels, metadata.labels);
}

/** All that would keep `applyToOmni` from giving Omni a machine's part. Changes nothing. */
export async function checkForOmni(task: OmniTask, omni: Omni): Promise<Failure["findings"]> {
  const state = await omni.clusterMachine(task.uuid);
  const checks = [
    () => refuseStrangers(task, omni, state),
    () => refuseRivals(task, omni, state?.machineSet),
    () => refuseLosses(task, omni),
  ];
  const found: Failure["findings"] = [];
  for (const check of checks) {
    await check().catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      found.push(...error.findings);
    });
  }
  return found;
}

/**
 * Takes away what is ours in Omni, and nothing else. Omni then makes the image and the configuration without it, and
 * reboots the machine for it: who destroys a stack of Omni's machines takes the driver from them.
 *
 * @throws Failure where Omni does not answer.
 */
export async function releaseFromOmni(
  task: OmniTask,
  omni: Omni,
  clock: Clock,
  report: Report,
): Promise<{ removed: string[] }> {
  const found = await askLast({ clock, machine: task.machine, who: "Omni" }, () => ours(task, omni));
  for (const { type, id } of found) {
    report(`release: ${id}`);
    await omni.delete(type, id);
  }
  if (found.length === 0) report("release: Omni holds nothing of ours");
  return { removed: found.map(({ id }) => id) };
}

/**
 * Refuses what would reach no machine. One that Omni knows and that is in no cluster yet is welcome: Omni takes patches and
 * extensions labelled for a machine of a cluster before there is one (siderolabs/omni, internal/backend/runtime/omni/
 * validations/config_patch.go and extensions_configuration.go: the cluster has to be there, the machine not; its
 * ConfigPatchCleanupController takes none away whose cluster is there), and the machine is then installed with them at once.
 */
async function refuseStrangers(task: OmniTask, omni: Omni, state: OmniMachineState | undefined): Promise<void> {
  const refuse = (field: string, problem: string, remedy: string): Failure =>
    new Failure([
      { field, problem, why: "a patch labelled so would reach no machine, and Omni would not say so", remedy },
    ]);
  const field = `machines.${task.machine}.uuid`;
  if (state?.cluster === task.cluster) return;
  if (state !== undefined) {
    throw refuse(
      field,
      `machine ${task.uuid} is of the cluster ${state.cluster ?? "(none)"}, not ${task.cluster}`,
      "compare `omnictl get clustermachines` with the stack",
    );
  }
  if ((await omni.image(task.uuid)) === undefined) {
    throw refuse(
      field,
      `Omni knows no machine ${task.uuid}`,
      "compare `omnictl get machines` with the stack; boot the machine from a medium of Omni's first",
    );
  }
  if (!(await omni.hasCluster(task.cluster))) {
    throw refuse(
      "clusterName",
      `Omni has no cluster ${task.cluster}`,
      "compare `omnictl get clusters` with the stack; make the cluster first (`omnictl cluster template sync`)",
    );
  }
}

/** @param machineSet undefined while the machine is in no cluster: then it may join any set, and each one's patches count. */
async function refuseRivals(task: OmniTask, omni: Omni, machineSet: string | undefined): Promise<void> {
  if (!task.resources.some((resource) => "data" in resource.spec && resource.spec.data.includes(customizationPath)))
    return;
  const own = task.resources.map(({ metadata }) => metadata.id);
  const machine = { cluster: task.cluster, uuid: task.uuid, machineSet };
  const rivals = rivalPatches(await omni.patches(), machine, own).filter(({ id }) => !isOurs(id, task.uuid));
  if (rivals.length === 0) return;
  throw new Failure(
    rivals.map(({ id, scope }) => ({
      field: `machines.${task.machine}.containerd`,
      problem: `the patch ${id} in Omni, for ${scope}, writes ${customizationPath} as well`,
      why: "Omni would merge both into one configuration: Talos then fails with EtcFileSpec … already exists, CRI and kubelet do not start, and the machine reboots every 35 minutes",
      remedy: `say what it sets under machines.<name>.containerd of each machine, delete it first (\`omnictl delete ${configPatchType} ${id}\`), and run again`,
    })),
  );
}

/**
 * Refuses to take extensions away. A list of the one machine takes the place of the cluster's and the machine set's, and of
 * what the medium brought that it was booted from; everything else of the image Omni keeps (siderolabs/omni,
 * machine_extensions.go and schematic_configuration.go). A machine that has our list already has lost nothing that was not
 * taken out of the stack on purpose.
 */
async function refuseLosses(task: OmniTask, omni: Omni): Promise<void> {
  const wanted = task.resources.flatMap(({ spec }) => ("extensions" in spec ? spec.extensions : []));
  if (wanted.length === 0 || (await omni.ids(extensionsType)).some((id) => isOurs(id, task.uuid))) return;
  const image = await omni.image(task.uuid);
  const extensions = Object.fromEntries((image?.extensions ?? []).map((name) => [name, ""]));
  const gpu = wanted.some(soundsLikeNvidia);
  const next = { extensions: wanted, kernelArgs: [], gpu };
  const lost = losses(task.machine, { extensions, configuredArgs: [] }, next, { extensions: task.drop ?? [] });
  if (lost.length > 0) throw new Failure(lost);
}

/** Everything of ours in Omni that is for this machine. */
async function ours(task: OmniTask, omni: Omni): Promise<{ type: string; id: string }[]> {
  const found = [];
  for (const type of [configPatchType, extensionsType]) {
    for (const id of await omni.ids(type)) if (isOurs(id, task.uuid)) found.push({ type, id });
  }
  return found;
}

function isOurs(id: string, uuid: string): boolean {
  return /^\d+-talos-gpu-/.test(id) && id.endsWith(`-talos-gpu-${uuid}`);
}
