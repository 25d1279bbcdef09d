import { migOf } from "./facts/card";
import { fixSwitch } from "./fix-ids";
import { kubernetesRecipe } from "./kubernetes/kubernetes-recipe";
import { machineFacts, type MachineFacts } from "./facts/machine-facts";
import { machineRecipe } from "./machine/machine-recipe";
import { needsMarkers } from "./kubernetes/markers";
import { migManagerRelease } from "./kubernetes/mig-manager";
import { inUpgradeOrder, upgradeWindows } from "./machine/order";
import { eraOf, findRelease, type Release } from "./facts/talos-release";
import type { ClusterSpec } from "./stack/spec/index";
import type { Mode, Plan } from "./types";
import { readPatch, type UserPatch } from "./machine/user-patches";
import { parseTalosVersion } from "./facts/version";

/** A plan with what it was made from, for the checks. */
export interface PlanBasis {
  plan: Plan;
  release?: Release;
  /** By name, in upgrade order. */
  facts: MachineFacts[];
  clusterPatches: UserPatch[];
  machinePatches: Map<string, UserPatch[]>;
}

/**
 * Computes everything that a stack will do. Pure, and never fails on a well-shaped stack: what is unknown takes the nearest
 * known, and `checkCluster` says what is wrong with it.
 */
export function planCluster(spec: ClusterSpec): Plan {
  return planBasis(spec).plan;
}

/** The plan of a stack with its basis. */
export function planBasis(spec: ClusterSpec): PlanBasis {
  const release = findRelease(spec.talosVersion);
  const era = release?.era ?? eraOf(spec.talosVersion);
  const mode: Mode = spec.devicePlugin && !spec.gpuOperator ? "devicePlugin" : "operator";
  const fix = fixSwitch(spec.without);
  const clusterPatches = (spec.patches ?? []).map((text, index) => readPatch(text, `patches[${index}]`));
  const facts = inUpgradeOrder(
    Object.entries(spec.machines).map(([name, machine]) => ({
      ...machineFacts(name, machine, spec, release),
      role: machine.role,
    })),
  );
  const machinePatches = new Map(
    facts.map(({ name, spec: machine }) => [
      name,
      (machine.patches ?? []).map((text, index) => readPatch(text, `machines.${name}.patches[${index}]`)),
    ]),
  );
  const context = {
    spec,
    ...(release ? { release } : {}),
    mode,
    fix,
    markers: needsMarkers(era, mode) && fix("validationMarkers"),
    clusterPatches,
  };
  const machines = facts.map((machine) => machineRecipe(machine, machinePatches.get(machine.name) ?? [], context));
  const plan: Plan = {
    spec,
    era,
    machines,
    kubernetes: kubernetesRecipe(spec, facts, era, mode, fix),
    after: upgradeWindows(machines, spec.upgrade?.maxParallel ?? 1),
    without: spec.without ?? [],
    notes: notesOf(spec, release, facts),
  };
  return { plan, ...(release ? { release } : {}), facts, clusterPatches, machinePatches };
}

function notesOf(spec: ClusterSpec, release: Release | undefined, facts: MachineFacts[]): string[] {
  const fromLegacy = Object.entries(spec.machines).filter(
    ([, machine]) =>
      release?.era === "cdi" &&
      machine.runningVersion &&
      parseTalosVersion(machine.runningVersion) &&
      eraOf(machine.runningVersion) === "legacy",
  );
  return [
    ...(release?.assumption ? [release.assumption] : []),
    ...(fromLegacy.length > 0
      ? [
          `${fromLegacy.map(([name]) => name).join(", ")}: from Talos ≤ 1.12 to ≥ 1.13; what this stack offers the GPUs with goes before the machines and comes back after the last of them, so until then no new pod gets a GPU; a device plugin release or a RuntimeClass "nvidia" of somebody else's must be removed first (docs/migration.md)`,
        ]
      : []),
    ...migNotes(spec, facts),
  ];
}

/** What of MIG the lab shows by emulation alone, and no machine has shown to us. */
function migNotes(spec: ClusterSpec, facts: MachineFacts[]): string[] {
  if (!spec.sharing?.mig) return [];
  const withReset = facts.filter(({ cards }) => cards.some((card) => migOf(card)?.modeNeedsReset));
  return [
    `MIG: not tried on hardware by us; with this MIG manager (${migManagerRelease}) others split cards on Talos whose MIG mode was on already (NVIDIA/mig-parted#356). Slices end with every boot, and a workload that takes a card before it is split again makes the MIG manager fail`,
    ...(withReset.length > 0
      ? [
          `${withReset.map(({ name }) => name).join(", ")}: an Ampere card changes its MIG mode by a reset, which nvidia-persistenced keeps from happening (gpu-operator#118): where nvidia.com/mig.config.state becomes failed, reboot the machine once`,
        ]
      : []),
  ];
}
