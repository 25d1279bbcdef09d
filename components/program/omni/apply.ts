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
 * Writes one machine's patches and extensions into Omni. Checks first (`checkForOmni`), and fails before it changes
 * anything. It writes only resources that differ, so a second run changes nothing; it never touches resources of other
 * owners.
 *
 * @returns IDs of the resources that were written, and of this stack's resources that are no longer wanted.
 * @throws Failure with all findings of `checkForOmni`; Omni is then unchanged.
 */
export async function applyToOmni(task: OmniTask, omni: Omni, report: Report) {
  report(`check: machine ${task.uuid} of cluster ${task.cluster} in Omni`);
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
  // Removed before the writing, so that no patch exists under two IDs at once: if two patches write certain files,
  // Talos does not boot.
  for (const { type, id } of stale) {
    report(`remove: ${id}, which this stack made and no longer needs`);
    await omni.delete(type, id);
  }
  if (different.length > 0) {
    const then =
      state === undefined
        ? "Omni keeps them until the machine joins"
        : "Omni upgrades and reboots the machine by itself";
    report(`apply: ${different.map(({ metadata }) => metadata.id).join(", ")}; ${then}`);
    await omni.apply(different);
  } else {
    report("equal: Omni already has the patches and extensions");
  }
  return {
    written: different.map(({ metadata }) => metadata.id),
    removed: stale.map(({ id }) => id),
  };
}

/**
 * Whether Omni's resource has all wanted values. Omni also prints fields of a spec that its author left out, such as
 * `compresseddata: []` of a patch (siderolabs/omni, client/api/omni/specs/config_patch.go).
 */
function saysAll(
  { spec, labels }: OmniContent,
  { spec: wanted, metadata }: OmniTask["resources"][number],
): boolean {
  const same = Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(spec[key], value));
  return same && isDeepStrictEqual(labels, metadata.labels);
}

/**
 * Removes this stack's resources from Omni, and nothing else. Omni then makes image and configuration without them, and
 * reboots the machine: destroying a stack with Omni machines removes their driver.
 *
 * @throws Failure if Omni does not answer.
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
  if (found.length === 0) report("release: Omni has no resources of this stack");
  return { removed: found.map(({ id }) => id) };
}

/** All resources that this package has written into Omni for this machine. */
async function ours(task: OmniTask, omni: Omni): Promise<{ type: string; id: string }[]> {
  const found = [];
  for (const type of [configPatchType, extensionsType])
    for (const { id } of await omni.list(type))
      if (isOurOmniId(id, task.uuid)) found.push({ type, id });
  return found;
}
