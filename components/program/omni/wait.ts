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
import type { Workbench } from "../upgrade/run";
import { loadedDriver } from "../../clients/talos/driver";
import { driverProblems } from "../seen/driver";
import { criProblem } from "../seen/sandbox";

/**
 * Waits until Omni has brought the machine to the wanted release, extensions, driver and configuration. A machine
 * that is in no cluster yet has to be added by the manager of the cluster: the program asks for that, and Omni then
 * installs image and configuration together, with one reboot. A member is upgraded first and then configured; the
 * latter reboots it once more if a file changed (siderolabs/omni, internal/backend/runtime/omni/controllers/omni/
 * machineconfig/status.go), so the limit is that of two reboots. Changes nothing; may be run again at any time.
 *
 * @param bench.machine the machine, through Omni's proxy: read only, which is all that is needed here.
 * @throws Failure at the limit, with everything that is still missing; or when the machine's boot has ended in a pause
 *   twice, since it then begins again and again.
 */
export async function waitForOmni(
  task: OmniWaitTask,
  {
    omni,
    machine,
    clock,
    report,
  }: Pick<Workbench, "machine" | "clock" | "report"> & { omni: Omni },
): Promise<UpgradeResult> {
  const phases = new Phases(clock, report);
  const limit = 2 * parseDuration(task.timeouts.reboot) + parseDuration(task.timeouts.verify);
  let missing: string[] = [];
  let asked = false;
  const guard = new BootGuard(machine, {
    name: task.machine,
    remedy: `see which patches of the machine say so (\`omnictl get configpatches\`; the file ${customizationPath} in only one of them), and correct or delete one: Omni applies the rest in the pause`,
    report: (line) => report(`omni: ${line}`),
    modulesMayCome: true,
  });
  const look = async () => {
    const seen = await observe(task, omni, machine, guard);
    missing = seen.missing;
    if (seen.ask !== undefined && !asked) report(`omni: ${seen.ask}`);
    asked = seen.ask !== undefined;
    return seen.image !== undefined && missing.length === 0
      ? { done: seen.image }
      : { not: missing.join("; ") };
  };
  const says = `waiting up to ${formatDuration(limit)} for Omni to bring ${task.talosVersion}, ${task.extensions.length} extensions, driver and configuration`;
  const { talosVersion, schematicId } = await phases.run("omni", says, () =>
    waitOrFail(clock, { limit, poll: task.pollSeconds * 1_000, look }, (_, last) =>
      // The last look counts: one that got no answer says that instead of what was missing before.
      (last === missing.join("; ") ? missing : [last]).map((line) => ({
        field: `machines.${task.machine}`,
        problem: `${line} (after ${formatDuration(limit)})`,
        why: "Omni has not applied the wanted state to the machine, so its GPUs are not available",
        remedy: `look at \`omnictl get clustermachinestatus ${task.uuid} -o yaml\`, at locks and at the machine's own log, then run again`,
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
    const ask = addToCluster(task);
    return { image, missing: [`it is in no cluster: ${ask}`], ask };
  }
  const missing: string[] = [];
  if (
    semver.valid(image.talosVersion) === null ||
    !semver.eq(image.talosVersion, task.talosVersion)
  ) {
    missing.push(
      `it runs ${image.talosVersion}, not ${task.talosVersion}: the release of a cluster is Omni's to upgrade ("Update Talos" on the cluster's page)`,
    );
  }
  const absent = task.extensions.filter((name) => !image.extensions.includes(name));
  if (absent.length > 0) missing.push(`its image has no ${absent.join(", ")}`);
  if (state.configError !== "")
    missing.push(`Omni could not apply its configuration: ${state.configError}`);
  if (!state.configUpToDate || (await omni.pending(task.uuid)))
    missing.push("Omni still has changes for it");
  if (missing.length > 0) return { image, missing };
  // Omni's word may be older than what it was given just now; what is seen on the machine is not.
  missing.push(...(await driverProblems(machine, task)));
  const cri = await criProblem(machine);
  if (cri !== undefined) missing.push(`${cri}${/\bsandboxd\b/.test(cri) ? sandboxRemedy : ""}`);
  for (const [path, content] of Object.entries(task.files)) {
    const there = await machine.read(path);
    if (there?.trim() !== content.trim()) missing.push(`${path} is not as configured`);
  }
  if (task.containerdPart !== undefined) {
    const there = await machine.read(containerdEvidence(task.talosVersion));
    const problem = containerdProblem(task.talosVersion, task.containerdPart, there);
    if (problem !== undefined) missing.push(problem);
  }
  if (missing.length > 0) await guard.look();
  if (missing.length === 0 && !state.ready) missing.push("Omni does not call it ready");
  return { image, missing };
}

/** Omni reboots no machine for a configuration that Talos takes as it runs. */
const sandboxRemedy =
  ": workload isolation (SecurityProfileConfig) takes effect at a boot, so reboot the machine";

/** Tasks that only the owner of the cluster can do; the lab, which plays the owner, reads these texts. */
const addToCluster = ({ uuid, cluster }: Pick<OmniWaitTask, "uuid" | "cluster">): string =>
  `add the machine ${uuid} to the cluster ${cluster} in Omni ("Cluster Scaling" on the cluster's page): its patches and extensions are there`;
