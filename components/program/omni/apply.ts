import { isDeepStrictEqual } from "node:util";
import { configPatchType, extensionsType, isOurOmniId } from "../../recipe/machine/omni";
import type { Clock } from "../../clients/clock";
import { Failure } from "../../clients/failure";
import { askLast } from "../removal";
import { checkForOmni } from "./check";
import type { Omni, OmniContent } from "../../clients/omni/server";
import type { Report } from "../progress";
import type { OmniTask } from "../task";

/**
 * Gives Omni what it should know of one machine. Looks first (`checkForOmni`), and refuses before anything is
 * changed. Only what differs is written, so a second run changes nothing; resources of others are never touched.
 *
 * @returns IDs that were written, and those of ours that are not wanted any more.
 * @throws Failure with all that `checkForOmni` finds; Omni is then as it was.
 */
export async function applyToOmni(task: OmniTask, omni: Omni, report: Report) {
  report(`look: machine ${task.uuid} of cluster ${task.cluster} in Omni`);
  const found = await checkForOmni(task, omni);
  if (found.length > 0) throw new Failure(...found);
  const state = await omni.clusterMachine(task.uuid);

  const wanted = new Set(task.resources.map(({ metadata }) => `${metadata.type}/${metadata.id}`));
  const stale = (await ours(task, omni)).filter(({ type, id }) => !wanted.has(`${type}/${id}`));
  const different: OmniTask["resources"] = [];
  for (const resource of task.resources) {
    const there = await omni.resource(resource.metadata.type, resource.metadata.id);
    if (there === undefined || !saysAll(there, resource)) different.push(resource);
  }
  // First, so that no patch with a new ID exists twice meanwhile: Talos does not boot if some files occur twice.
  for (const { type, id } of stale) {
    report(`remove: ${id}, which is ours and no longer wanted`);
    await omni.delete(type, id);
  }
  if (different.length > 0) {
    const then =
      state === undefined
        ? "Omni keeps them until the machine joins"
        : "Omni upgrades and reboots by itself";
    report(`apply: ${different.map(({ metadata }) => metadata.id).join(", ")}; ${then}`);
    await omni.apply(different);
  } else {
    report("equal: Omni has all of it already");
  }
  return {
    written: different.map(({ metadata }) => metadata.id),
    removed: stale.map(({ id }) => id),
  };
}

/**
 * Omni prints fields of a spec that its author left out, such as `compresseddata: []` of a patch (siderolabs/omni,
 * client/api/omni/specs/config_patch.go).
 */
function saysAll(
  { spec, labels }: OmniContent,
  { spec: wanted, metadata }: OmniTask["resources"][number],
): boolean {
  const same = Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(spec[key], value));
  return same && isDeepStrictEqual(labels, metadata.labels);
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
  report: Report,
  clock: Clock,
): Promise<{ removed: string[] }> {
  const found = await askLast({ clock, machine: task.machine, who: "Omni" }, () =>
    ours(task, omni),
  );
  for (const { type, id } of found) {
    report(`release: ${id}`);
    await omni.delete(type, id);
  }
  if (found.length === 0) report("release: Omni holds nothing of ours");
  return { removed: found.map(({ id }) => id) };
}

/** Everything of ours in Omni that is for this machine. */
async function ours(task: OmniTask, omni: Omni): Promise<{ type: string; id: string }[]> {
  const found = [];
  for (const type of [configPatchType, extensionsType])
    for (const { id } of await omni.list(type))
      if (isOurOmniId(id, task.uuid)) found.push({ type, id });
  return found;
}
