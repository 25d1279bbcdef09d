import * as semver from "semver";
import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { containerdEvidence, containerdProblem } from "../../recipe/machine/containerd/effective";
import { formatDuration, parseDuration } from "../../recipe/rules/duration";
import { BootGuard } from "../seen/boot-guard";
import { waitOrFail } from "../../clients/clock";
import type { Machine } from "../../clients/talos/talos-machine";
import type { Omni, OmniImageState } from "../../clients/omni/server";
import { Phases } from "../progress";
import type { OmniWaitTask, UpgradeResult } from "../task";
import type { UpgradeContext } from "../upgrade/run";
import { loadedDriver } from "../../clients/talos/driver";
import { driverProblems } from "../seen/driver";
import { criProblem } from "../seen/sandbox";

/**
 * Waits until Omni has given the machine the wanted Talos version, extensions, driver and configuration. If the machine
 * is in no cluster yet, a progress line asks the user to add it in Omni. Omni then installs image and configuration
 * with one reboot. A machine in a cluster first gets the image and then the configuration. A changed file then costs a
 * second reboot (siderolabs/omni, internal/backend/runtime/omni/controllers/omni/machineconfig/status.go), so the limit
 * allows two. Changes nothing; may be repeated at any time.
 *
 * @param context.machine the machine, through Omni's proxy, which allows only reading.
 * @throws Failure at the limit, with everything that is still missing. Also throws if a pause lasts longer than the
 * limit, or if Talos pauses the machine's boot a second time: the pauses would then repeat forever.
 */
export async function waitForOmni(
  task: OmniWaitTask,
  {
    omni,
    machine,
    clock,
    report,
  }: Pick<UpgradeContext, "machine" | "clock" | "report"> & { omni: Omni },
): Promise<UpgradeResult> {
  const phases = new Phases(clock, report);
  const limit = 2 * parseDuration(task.timeouts.reboot) + parseDuration(task.timeouts.verify);
  let missing: string[] = [];
  let isReported = false;
  const guard = new BootGuard(machine, {
    name: task.machine,
    remedy: `list the machine's patches with \`omnictl get configpatches\`, and correct the patch that causes this. Only one patch may write ${customizationPath}, so delete any other patch that writes this file. Omni applies the change while the boot is paused`,
    report: (line) => report(`omni: ${line}`),
    modulesMayCome: true,
  });
  const look = async () => {
    const observation = await observe(task, omni, machine, guard);
    missing = observation.missing;
    if (observation.ask !== undefined && !isReported) report(`omni: ${observation.ask}`);
    isReported = observation.ask !== undefined;
    return observation.image !== undefined && missing.length === 0
      ? { done: observation.image }
      : { not: missing.join("; ") };
  };
  const description = `waiting up to ${formatDuration(limit)} for Omni to apply ${task.talosVersion} with ${task.extensions.length} extensions and the configuration, and for the driver`;
  const { talosVersion, schematicId } = await phases.run("omni", description, () =>
    waitOrFail(clock, { limit, poll: task.pollSeconds * 1_000, look }, (_, last) =>
      // If the last check got no answer, the message says so instead of listing what was missing earlier.
      (last === missing.join("; ") ? missing : [last]).map((line) => ({
        field: `machines.${task.machine}`,
        problem: `${line} (after ${formatDuration(limit)})`,
        why: "the machine's GPUs are not available before Omni has applied the wanted state",
        remedy: `check \`omnictl get clustermachinestatus ${task.uuid} -o yaml\`, whether the machine is locked in Omni, and the machine's log, then run again`,
      })),
    ),
  );
  const driverVersion =
    task.driverVersion === undefined ? null : ((await loadedDriver(machine)) ?? null);
  const bootId = await machine.bootId();
  return {
    machine: task.machine,
    talosVersion,
    schematicId,
    driverVersion,
    bootId,
    rebooted: false,
    phases: phases.done,
  };
}

async function observe(
  task: OmniWaitTask,
  omni: Omni,
  machine: Machine,
  guard: BootGuard,
): Promise<{ image: OmniImageState | undefined; missing: string[]; ask?: string }> {
  const image = await omni.image(task.uuid);
  const state = await omni.clusterMachine(task.uuid);
  if (image === undefined) return { image, missing: [`Omni knows no machine ${task.uuid}`] };
  if (state === undefined) {
    const instruction = addToCluster(task);
    return { image, missing: [`it is in no cluster: ${instruction}`], ask: instruction };
  }
  const missing: string[] = [];
  if (
    semver.valid(image.talosVersion) === null ||
    !semver.eq(image.talosVersion, task.talosVersion)
  ) {
    missing.push(
      `it runs ${image.talosVersion}, not ${task.talosVersion}: upgrade the cluster in Omni ("Update Talos" on the cluster's page)`,
    );
  }
  const missingExtensions = task.extensions.filter((name) => !image.extensions.includes(name));
  if (missingExtensions.length > 0)
    missing.push(`its image lacks the extensions ${missingExtensions.join(", ")}`);
  if (state.configError !== "")
    missing.push(`Omni could not apply the machine's configuration: ${state.configError}`);
  if (!state.configUpToDate || (await omni.pending(task.uuid)))
    missing.push("Omni still has to apply changes to the machine");
  if (missing.length > 0) return { image, missing };
  // Omni's status may be older than the resources just written, so the machine itself is checked as well.
  missing.push(...(await driverProblems(machine, task)));
  const cri = await criProblem(machine);
  if (cri !== undefined) missing.push(`${cri}${/\bsandboxd\b/.test(cri) ? sandboxRemedy : ""}`);
  for (const [path, content] of Object.entries(task.files)) {
    const actualContent = await machine.read(path);
    if (actualContent?.trim() !== content.trim())
      missing.push(`${path} differs from the configuration`);
  }
  if (task.containerdPart !== undefined) {
    const content = await machine.read(containerdEvidence(task.talosVersion));
    const problem = containerdProblem(task.talosVersion, task.containerdPart, content);
    if (problem !== undefined) missing.push(problem);
  }
  if (missing.length > 0) await guard.look();
  if (missing.length === 0 && !state.ready) missing.push("Omni reports the machine as not ready");
  return { image, missing };
}

/**
 * Remedy for workload isolation that waits for the next boot. Talos accepts the document SecurityProfileConfig without
 * a reboot, so Omni does not reboot the machine.
 */
const sandboxRemedy =
  ": workload isolation (SecurityProfileConfig) takes effect at the next boot, so reboot the machine";

/**
 * Request to the user, because only a user can add a machine to a cluster in Omni. The tests in lab/ read this text and
 * add the machine.
 */
const addToCluster = ({ uuid, cluster }: Pick<OmniWaitTask, "uuid" | "cluster">): string =>
  `add the machine ${uuid} to the cluster ${cluster} in Omni ("Cluster Scaling" on the cluster's page): Omni already has the machine's patches and extensions`;
