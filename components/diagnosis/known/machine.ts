import { nvidiaExtension } from "../../recipe/facts/extension";
import { usesContainerCli } from "../../recipe/facts/talos-release";
import { factsOf } from "../../recipe/machine/apart";
import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { mergesInMemory } from "../../recipe/machine/containerd/effective";
import { type Evidence, matching } from "../evidence";
import type { Observations } from "../observations";
import { showsGpu, type System } from "../system";
import { fixIds, hasGpu, type Signs } from "./known";

/** A machine without its configuration, its image or its driver, from the boot up. */
export const machineFixes = {
  perMachinePatch: {
    // Adopting merges files by their path.
    usedBy: ({ machines }) =>
      machines.some(
        ({ configuration, containerdPart }) =>
          configuration !== "adopted" && containerdPart !== undefined,
      ),
    // A machine that does not boot to its end is a node without anything: whatever else is seen only follows from that.
    sign: partTwice,
    causes: fixIds.filter((fix) => fix !== "perMachinePatch"),
    isUnderneath: true,
  },
  schematic: {
    // Omni compares and upgrades its machines itself.
    usedBy: ({ machines }) =>
      machines.some(({ gpuCount, configuration }) => gpuCount > 0 && configuration !== "omni"),
    // Without the extensions of its image a machine has neither driver nor runtime; all that follows from that.
    sign: runsOldSchematic,
    causes: [
      "kernelModules",
      "validationMarkers",
      "operatorValidatorLabel",
      "bpfJitHarden",
      "gpuPresentLabel",
    ],
    isUnderneath: true,
  },
  kernelModules: {
    usedBy: hasGpu,
    // Without a driver nothing above it works; the pods then wait like those without markers.
    sign: driverNotLoaded,
    causes: [
      ...([
        "validationMarkers",
        "operatorValidatorLabel",
        "bpfJitHarden",
        "gpuPresentLabel",
      ] as const),
      ...(["tolerations", "taintThroughApi", "driverBranches", "cudaImage"] as const),
    ],
    isUnderneath: true,
  },
  driverBranches: {
    usedBy: hasGpu,
    // No container of the nvidia runtime starts.
    sign: librariesOfAnotherDriver,
    causes: [
      "validationMarkers",
      "operatorValidatorLabel",
      "bpfJitHarden",
      "cudaImage",
      "modelsPull",
    ],
    isUnderneath: true,
  },
  bpfJitHarden: {
    usedBy: (plan) =>
      hasGpu(plan) &&
      usesContainerCli(plan.spec.talosVersion, factsOf(plan.spec, plan.spec.talosVersion)),
    // The plugin itself runs by the nvidia runtime: its pod can fail like a workload's, before any marker matters.
    sign: (seen) =>
      matching(
        seen,
        /last insn is not an exit or jmp|bpf_prog_query(?:(?!bpf_prog_query).)*failed|failed to create device filter/,
      ),
  },
} satisfies Signs;

/**
 * Either says it: the configuration in force (who may read it), or what Talos logs where it pauses the boot. Source: talos,
 * v1alpha1_sequencer_tasks.go, pauseOnFailure; from 1.14 on the first item counts, and the machine boots; etcd-file resources are made once, injectCRIConfigPatch.
 */
function partTwice(seen: Observations): Evidence[] {
  return (seen.machines ?? []).flatMap(
    ({ name, stage, talosVersion, bootErrors = [], repeatedFiles = [] }) => {
      const logged = bootErrors.filter((line) =>
        ["EtcFileSpecs", "20-customization.part", "already exists"].every((words) =>
          line.includes(words),
        ),
      );
      return [
        ...(repeatedFiles.includes(customizationPath) &&
        !(talosVersion !== undefined && mergesInMemory(talosVersion))
          ? [
              `${name}: its configuration has ${customizationPath} more than once${stage ? `; it is ${stage}` : ""}`,
            ]
          : []),
        ...logged.map((line) => `${name}: ${line}`),
      ].map((line) => ({ node: name, line }));
    },
  );
}

/**
 * The configuration in force names an image of this very release and another schematic, and no driver is loaded. Where one is,
 * `talosctl upgrade` brought an image that the configuration never named. Machines of Omni's are left out: their schematic and
 * their upgrades are Omni's, and the stack has nothing to set right there. Without a plan, the lack
 * of a driver counts only on a node with signs of a GPU.
 */
function runsOldSchematic(seen: Observations, { plan }: System): Evidence[] {
  const byOmni = new Set(
    plan?.machines.filter(({ configuration }) => configuration === "omni").map(({ name }) => name),
  );
  const needsDriver = (name: string): boolean =>
    plan !== undefined || (seen.nodes ?? []).some((node) => node.name === name && showsGpu(node));
  return (seen.machines ?? []).flatMap(
    ({ name, talosVersion, schematicId, imageId, installImage, modules }) => {
      if (byOmni.has(name) || modules?.includes("nvidia") || !needsDriver(name)) return [];
      const [, wanted, release] = /\/([0-9a-f]{64}):(v[^@]+)/.exec(installImage ?? "") ?? [];
      if (schematicId === undefined || wanted === undefined || release !== talosVersion) return [];
      if ([schematicId, imageId].includes(wanted)) return [];
      const line = `${name}: runs schematic ${schematicId.slice(0, 12)} of ${talosVersion}, and is configured for ${wanted.slice(0, 12)}`;
      return [{ node: name, line }];
    },
  );
}

function driverNotLoaded(seen: Observations, system: System): Evidence[] {
  const expected = new Map(
    system.gpuMachines.map((machine) => [machine.name, machine.schematicId]),
  );
  // A machine that runs another image has no driver for another reason: it was not upgraded, or rolled back.
  const runsOurs = (name: string, schematic: string | undefined): boolean => {
    const wanted = expected.get(name);
    return (
      expected.has(name) &&
      (schematic === undefined || wanted === undefined || schematic === wanted)
    );
  };
  return (seen.machines ?? [])
    .filter(
      (machine) =>
        hasModules(machine.extensions) &&
        runsOurs(machine.name, machine.imageId ?? machine.schematicId) &&
        machine.modules !== undefined &&
        !machine.modules.includes("nvidia"),
    )
    .flatMap((machine) =>
      [
        `${machine.name}: no module nvidia is loaded`,
        ...Object.entries(machine.services ?? {})
          .filter(([name, state]) => name === "ext-nvidia-persistenced" && state !== "Running")
          .map(([name, state]) => `${machine.name}: ${name} is ${state}`),
      ].map((line) => ({ node: machine.name, line })),
    );
}

/** Modules that the image does not have are not loaded by declaring them: Omni, for one, has not upgraded the machine yet. */
const hasModules = (extensions: string[] | undefined): boolean =>
  extensions === undefined ||
  extensions.some((name) => nvidiaExtension(`siderolabs/${name}`)?.kind === "modules");

/**
 * Talos labels a node with its extensions' versions, and both begin with the driver's, e.g. `580.126.09-v1.12.6` of the
 * modules and `570.211.01-v1.18.2` of the toolkit. Source: siderolabs/extensions, nvidia-gpu, the extensions' manifests.
 */
function librariesOfAnotherDriver(seen: Observations): Evidence[] {
  const mixed = (seen.nodes ?? []).flatMap(({ name, labels }) => {
    const driverOf = (extension: RegExp): [string, string] | undefined => {
      const found = Object.entries(labels).find(([key]) => extension.test(key));
      return found && [found[0].replace(/^[^/]*\//, ""), found[1].replace(/-.*$/, "")];
    };
    const modules = driverOf(
      /^extensions\.talos\.dev\/(nvidia-open-gpu-kernel-modules|nonfree-kmod-nvidia)-/,
    );
    const toolkit = driverOf(/^extensions\.talos\.dev\/nvidia-container-toolkit-/);
    if (!modules || !toolkit || modules[1] === toolkit[1]) return [];
    const line = `node ${name}: ${modules[0]} is of driver ${modules[1]}, ${toolkit[0]} of ${toolkit[1]}`;
    return [{ node: name, line }];
  });
  return [...mixed, ...matching(seen, /driver\/library version mismatch|NVRM: API mismatch/i)];
}
