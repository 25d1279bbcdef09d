import {
  effectsOf,
  partsOf,
  cudaOfDriver,
  type Finding,
  type MachineEffect,
  type Plan,
  renderFinding,
} from "../../components/recipe";
import type { MachineRecipe } from "../../components/recipe";
import { defined, flat } from "../../components/recipe/mapping";
import { externalOf } from "../../components/recipe/external/external";
import { imagesOf } from "./images";
import { upgradeStages } from "../../components/recipe/machine/order";
import { gpuRequests } from "../../components/recipe/stack/workloads";
import { configurationDifference, fieldChanges, redacted } from "./differences";

/** Release, image and settings of a machine, before or after. */
export type Runs = ReturnType<typeof runsOf>;

/** A machine of either plan. */
export type MachineComparison = Comparison["machines"][number];

/** Effect of an update from one plan to another: everything that `talos-gpu plan` prints, also with `--json`. */
export type Comparison = ReturnType<typeof compare>;

/** One side of a comparison. */
export interface Side {
  plan: Plan;
  /** Findings that refuse the stack. */
  findings: Finding[];
  /** Findings that do not refuse the stack: warnings and notes. */
  remarks: Finding[];
}

/**
 * Compares two plans of a stack. Pure.
 *
 * @param base name of the earlier state, e.g. `origin/main`; undefined if it is unknown.
 */
export function compare(
  stack: string,
  base: string | undefined,
  before: Side | undefined,
  after: Side,
) {
  const effects = effectsOf(before?.plan, after.plan);
  const { release } = after.plan.kubernetes;
  const previousRelease = before?.plan.kubernetes.release;
  return {
    stack,
    ...defined({ base }),
    stackChanges:
      before === undefined
        ? []
        : fieldChanges(statedSpecOf(before.plan.spec), statedSpecOf(after.plan.spec)),
    machines: Object.entries(effects).map(([name, effect]) => {
      const [previousMachine, nextMachine] = [before?.plan, after.plan].map((plan) =>
        plan?.machines.find((machine) => machine.name === name),
      );
      return {
        name,
        ...effect,
        ...defined({
          before: previousMachine && runsOf(previousMachine),
          after: nextMachine && runsOf(nextMachine),
        }),
        /** Changed lines of the machine's patches; secrets are hidden. */
        configuration: configurationDifference(
          partsOf(previousMachine?.patches ?? []),
          partsOf(nextMachine?.patches ?? []),
        ),
      };
    }),
    /** Helm release, as text, before and after. */
    release: {
      ...defined({ before: before && releaseText(before.plan) }),
      after: releaseText(after.plan),
    },
    /**
     * Images that machines pull in addition to the chart's images. The plan lists them, so that users can copy them to
     * a mirror.
     */
    images: imagesOf(after.plan),
    valueChanges:
      before === undefined
        ? []
        : fieldChanges(redacted(previousRelease?.values ?? {}), redacted(release.values)),
    away: awayOf(before?.plan, after.plan, effects),
    /**
     * Names of the machines in each group. An update works on the machines of a group at the same time. Each machine
     * waits for machines of earlier groups.
     */
    machineGroups: machineGroupsOf(after.plan),
    /** Number of groups before the GPU provider. Later groups wait for the smoke tests of the machines in these groups. */
    groupsBeforeProvider: groupsBeforeProviderOf(after.plan),
    /** Findings that do not refuse the stack: warnings and notes. */
    notes: after.remarks.map((remark) => {
      const text = renderFinding(remark);
      const { check, severity = "refused" } = remark;
      const isNew = before !== undefined && !before.remarks.map(renderFinding).includes(text);
      return { check, severity, text, isNew };
    }),
    findings: after.findings,
  };
}

/** Parts of the cluster that cannot be used during the update, and for how long. */
function awayOf(
  before: Plan | undefined,
  after: Plan,
  effects: Record<string, MachineEffect>,
): string[] {
  const rebooting = Object.entries(effects).filter(([, { reboots }]) => reboots !== "no");
  return flat<string>([
    rebooting.map(
      ([name, { reboots, awayForAtMost }]) =>
        `${name}: its pods, ${reboots === "yes" ? "" : "if it reboots, "}for at most ${awayForAtMost ?? "an unknown time"}`,
    ),
    groupsAway(
      after,
      rebooting.map(([name]) => name),
    ),
    before && gpusAway(before, after),
  ]);
}

/**
 * A sentence that says for how long new pods get no GPU during the update; false if the update does not affect new
 * pods.
 */
function gpusAway(before: Plan, after: Plan): string | false {
  const [{ injection, mode, release: old }, { release, external }] = [
    before.kubernetes,
    after.kubernetes,
  ];
  const limit = after.spec.timeouts?.release ?? "10m";
  if (external)
    return (
      injection !== after.injection &&
      "GPUs for new pods: on each machine, until the machine is upgraded and the external GPU provider offers its GPUs"
    );
  if (mode !== after.kubernetes.mode || injection !== after.injection) {
    const timing = " of upgrade.first; on each other machine until it is upgraded";
    return `GPUs for new pods: from the beginning of the update until ${release.chart} is ready, at most ${limit} after the upgrade of the last machine${groupsBeforeProviderOf(after) < machineGroupsOf(after).length ? timing : ""}`;
  }
  const changes =
    releaseText(before) !== releaseText(after) ||
    fieldChanges(old.values, release.values).length > 0;
  return changes && `GPUs for new pods: while ${release.chart} is upgraded, for at most ${limit}`;
}

/**
 * A sentence for each model server that spans several machines. The whole server is down while one of its machines
 * reboots.
 */
const groupsAway = ({ spec, machines }: Plan, rebooting: string[]): string[] =>
  gpuRequests(spec).flatMap(({ field, active, machines: count, nodeSelector = {} }) => {
    const mayRun = ({ name, gpuCount, nodeLabels }: MachineRecipe): boolean =>
      gpuCount > 0 &&
      rebooting.includes(name) &&
      Object.entries(nodeSelector).every(([key, value]) => (nodeLabels[key] ?? value) === value);
    const names = machines.filter(mayRun).map(({ name }) => name);
    if (!active || count === 1 || names.length === 0) return [];
    return [
      `${field}: the whole model is down while ${names.join(" or ")} reboots (the model spans ${count} machines)`,
    ];
  });

function runsOf({
  talosVersion,
  schematicId,
  ownImage,
  driverVersion,
  driverBranch,
  extensions,
}: MachineRecipe) {
  return {
    talosVersion,
    /** Official extensions of the machine's image, in the schematic's order. */
    extensions,
    schematicId: ownImage ? "your image" : schematicId,
    /** Empty on a machine without a GPU. */
    driver: driverBranch ?? driverVersion ?? "",
    /** Newest CUDA version that the machine's driver supports; empty without a driver. */
    cuda: driverVersion === undefined ? "" : cudaOfDriver(driverVersion),
  };
}

function releaseText({ spec, kubernetes: { release, external } }: Plan): string {
  const { chart, version, name, namespace } = release;
  if (!external) return `${chart} ${version} (release ${name} in ${namespace})`;
  const installer = externalOf(spec)?.by ?? "another tool";
  return `${chart} ${version === "" ? "of an unknown release" : version} (in ${namespace}, installed by ${installer}, not by this stack)`;
}

/** A stack without the line numbers of its external files, so that a moved line is no difference. */
function statedSpecOf({ external, ...spec }: Plan["spec"]): ReturnType<typeof redacted> {
  if (external?.read === undefined) return redacted({ ...spec, ...(external && { external }) });
  const { places: _, ...read } = external.read;
  return redacted({ ...spec, external: { ...external, read } });
}

/**
 * Names of the machines in each group. A machine's group comes after the groups of all machines for which this machine
 * waits.
 */
function machineGroupsOf({ machines, after }: Plan): string[][] {
  const wave = new Map<string, number>();
  for (const { name } of machines)
    wave.set(
      name,
      Math.max(-1, ...(after[name] ?? []).map((earlier) => wave.get(earlier) ?? -1)) + 1,
    );
  const groups: string[][] = [];
  for (const [name, index] of wave) (groups[index] ??= []).push(name);
  return groups;
}

/**
 * Number of groups before the GPU provider. With `upgrade.first`, the control planes and the listed workers are
 * upgraded one by one, so each of these machines is a group.
 */
function groupsBeforeProviderOf(plan: Plan): number {
  const { ahead, rest } = upgradeStages(plan.machines, plan.spec.upgrade);
  return rest.length > 0 ? ahead.length : machineGroupsOf(plan).length;
}
