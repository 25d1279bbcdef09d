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
 * Writes one machine's patches and extensions into Omni. Checks first (`checkForOmni`), and changes nothing if a check
 * fails. Writes only resources that differ, so a second run changes nothing. Never changes resources of other owners.
 *
 * @returns IDs of the written resources, and of the removed resources, which the stack no longer wants.
 * @throws Failure with all findings of `checkForOmni`; Omni is then unchanged.
 */
export async function applyToOmni(task: OmniTask, omni: Omni, report: Report) {
  report(`check: machine ${task.uuid} of cluster ${task.cluster} in Omni`);
  const findings = await checkForOmni(task, omni);
  if (findings.length > 0) throw new Failure(...findings);
  const state = await omni.clusterMachine(task.uuid);

  const plannedIds = new Set(
    task.resources.map(({ metadata }) => `${metadata.type}/${metadata.id}`),
  );
  const stale = (await resourcesOfPackage(task, omni)).filter(
    ({ type, id }) => !plannedIds.has(`${type}/${id}`),
  );
  const different: OmniTask["resources"] = [];
  for (const resource of task.resources) {
    const existing = await omni.resource(resource.metadata.type, resource.metadata.id);
    if (existing === undefined || !isEqual(existing, resource)) different.push(resource);
  }
  // Removed before the writing, so that no patch exists under two IDs at once: if two patches write certain files,
  // Talos does not boot.
  for (const { type, id } of stale) {
    report(`remove: ${id}, which this stack made and no longer needs`);
    await omni.delete(type, id);
  }
  if (different.length > 0) {
    const consequence =
      state === undefined
        ? "Omni keeps them until the machine joins"
        : "Omni applies them, and reboots the machine if they need a reboot";
    report(`apply: ${different.map(({ metadata }) => metadata.id).join(", ")}; ${consequence}`);
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
 * Whether Omni's resource has all wanted values. Omni also prints fields that the author of a resource left out, such
 * as `compresseddata: []` of a patch (siderolabs/omni, client/api/omni/specs/config_patch.go).
 */
function isEqual(
  { spec, labels }: OmniContent,
  { spec: plannedSpec, metadata }: OmniTask["resources"][number],
): boolean {
  const hasSameSpec = Object.entries(plannedSpec).every(([key, value]) =>
    isDeepStrictEqual(spec[key], value),
  );
  return hasSameSpec && isDeepStrictEqual(labels, metadata.labels);
}

/**
 * Removes only this stack's resources from Omni. Omni then builds the machine's image and configuration without these
 * resources, and reboots the machine. So the destroy of a stack removes the driver from its Omni machines.
 *
 * @throws Failure if Omni does not answer.
 */
export async function releaseFromOmni(
  task: OmniTask,
  omni: Omni,
  report: Report,
  clock: Clock,
): Promise<{ removed: string[] }> {
  const resources = await askLast({ clock, machine: task.machine, who: "Omni" }, () =>
    resourcesOfPackage(task, omni),
  );
  for (const { type, id } of resources) {
    report(`release: ${id}`);
    await omni.delete(type, id);
  }
  if (resources.length === 0) report("release: Omni has no resources of this stack");
  return { removed: resources.map(({ id }) => id) };
}

/** All resources that this package has written into Omni for this machine. */
async function resourcesOfPackage(
  task: OmniTask,
  omni: Omni,
): Promise<{ type: string; id: string }[]> {
  const resources = [];
  for (const type of [configPatchType, extensionsType])
    for (const { id } of await omni.list(type))
      if (isOurOmniId(id, task.uuid)) resources.push({ type, id });
  return resources;
}
