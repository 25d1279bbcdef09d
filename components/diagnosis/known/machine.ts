import { nvidiaExtension } from "../../recipe/facts/extension";
import { usesContainerCli } from "../../recipe/facts/talos-release";
import { factsOf } from "../../recipe/machine/apart";
import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { mergesInMemory } from "../../recipe/machine/containerd/effective";
import { type Evidence, matching } from "../evidence";
import type { Observations } from "../observations";
import { showsGpu, type System } from "../system";
import { fixesOf, hasGpu } from "./known";

/** Fixes in a machine's configuration, image and driver, in the order in which a boot needs them. */
export const machineFixes = fixesOf({
  perMachinePatch: {
    does: "only one item of machine.files, in a patch of that machine, writes 20-customization.part",
    symptom:
      "the machine boots, pauses and reboots again and again: CRI and kubelet do not start, and its node is NotReady or never joins",
    cause:
      "a patch of the whole cluster and a patch of the machine both create /etc/cri/conf.d/20-customization.part. Patches append to machine.files, so the list has the file twice. Talos up to 1.13 fails at the second item, and pauses the boot for 35 minutes (up to v1.12.8, and from v1.13.0 to v1.13.4: 5 minutes). Then the machine reboots; if this was the first boot of a new image, Talos returns to the previous image. Talos 1.14 and newer silently use only the first item",
    errors: [
      "resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists",
      "writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues",
    ],
    inForce:
      "remove the cluster-wide patch that also writes this file, and apply the machine's configuration again: Talos ends the pause with a reboot. If the pause is in the first boot of an upgrade, this reboot returns to the previous image: run the update again",
    source:
      "talos, v1alpha1_sequencer_tasks.go (WriteUserFiles, injectCRIConfigPatch, pauseOnFailure) and pkg/machinery/config/merge",
    check: "containerd-part",
    // For an adopted machine, the merge combines files by their path.
    usedBy: ({ machines }) =>
      machines.some(
        ({ configuration, containerdPart }) =>
          configuration !== "adopted" && containerdPart !== undefined,
      ),
    // Nothing works on a machine that does not finish its boot, so all its other signs are consequences.
    sign: repeatedContainerdPart,
    hides: "all",
    isUnderneath: true,
  },
  schematic: {
    does: "each machine runs the Talos version and the schematic that machine.install.image of its configuration names",
    symptom:
      "the machine runs the planned Talos version, but no driver: kernel modules not loaded, no NVIDIA extension in `talosctl get extensions`",
    cause:
      "extensions are part of the image, and the schematic lists them. A tool that compares only the Talos version does not upgrade a machine whose schematic lacks the extensions",
    errors: [
      "kernel modules not loaded: nvidia, nvidia_uvm, nvidia_drm, nvidia_modeset",
      "no NVIDIA driver is loaded",
    ],
    inForce:
      "run `pulumi up`, which also compares the schematic. By hand, run `talosctl upgrade` with the installer image in machine.install.image",
    source:
      "talos, Image Factory and system extensions: extensions are part of the boot image (siderolabs/docs, system-extensions)",
    // Omni compares and upgrades its machines itself.
    usedBy: ({ machines }) =>
      machines.some(({ gpuCount, configuration }) => gpuCount > 0 && configuration !== "omni"),
    // Without the extensions of its image a machine has neither driver nor runtime; all other signs are consequences.
    sign: runsOldSchematic,
    hides: [
      "kernelModules",
      "validationMarkers",
      "operatorValidatorLabel",
      "bpfJitHarden",
      "gpuPresentLabel",
    ],
    isUnderneath: true,
  },
  kernelModules: {
    does: "machine.kernel.modules lists nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset",
    symptom:
      "the extension is installed but no driver runs: no nvidia in /proc/modules, ext-nvidia-persistenced keeps waiting",
    cause:
      "the extension blacklists the modules, so Talos loads them only if the configuration lists them. At each boot Talos waits 70 minutes for the service ext-nvidia-persistenced, and then reboots",
    errors: [
      "nvidia-container-cli: initialization error: nvml error: driver not loaded",
      'Waiting for file "/sys/bus/pci/drivers/nvidia" to exist',
    ],
    source:
      "siderolabs/extensions, nvidia-gpu/nvidia-modules/production/files/nvidia.conf; talos#7008, talos#14373",
    usedBy: hasGpu,
    // Without a driver no GPU pod works; the pods then wait as they do without markers.
    sign: driverNotLoaded,
    hides: [
      "validationMarkers",
      "operatorValidatorLabel",
      "bpfJitHarden",
      "gpuPresentLabel",
      "tolerations",
      "taintThroughApi",
      "driverBranches",
      "cudaImage",
    ],
    isUnderneath: true,
  },
  driverBranches: {
    does: "kernel modules and container toolkit come from the same branch, lts or production",
    symptom:
      "GPU containers do not start: nvml error: driver/library version mismatch (API mismatch in the kernel's log)",
    cause:
      "the driver's libraries are in the container toolkit's extension, and their version must equal the version of the kernel modules",
    errors: [
      "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
      "Failed to initialize NVML: Driver/library version mismatch",
      "NVRM: API mismatch",
    ],
    inForce:
      "remove NVIDIA's extensions from machines.<name>.extensions: driver.branch then selects the branch of both extensions",
    source:
      "siderolabs/extensions, nvidia-gpu; NVIDIA/open-gpu-kernel-modules, README (user-space components must match)",
    check: "driver-branches",
    usedBy: hasGpu,
    // No container with the nvidia runtime starts.
    sign: librariesOfAnotherDriver,
    hides: [
      "validationMarkers",
      "operatorValidatorLabel",
      "bpfJitHarden",
      "cudaImage",
      "modelsPull",
    ],
    isUnderneath: true,
  },
  bpfJitHarden: {
    does: "machine.sysctls sets net.core.bpf_jit_harden to 1",
    symptom:
      "GPU containers are not created: bpf_prog_query / load program: invalid argument: last insn is not an exit or jmp",
    cause:
      "Talos' kernel hardening (net.core.bpf_jit_harden=2) refuses the BPF device filter that nvidia-container-cli of Talos ≤ 1.11 loads. Later toolkits load no filter",
    errors: [
      "nvidia-container-cli: mount error: failed to create device filter",
      "load program: invalid argument: last insn is not an exit or jmp",
    ],
    source:
      "siderolabs/extensions#101; siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md at v1.11.5; nvidia-container-toolkit v1.18.0, internal/info/auto.go",
    usedBy: (plan) =>
      hasGpu(plan) &&
      usesContainerCli(plan.spec.talosVersion, factsOf(plan.spec, plan.spec.talosVersion)),
    // The plugin itself runs with the nvidia runtime, so its pod can fail like a workload's, before any marker matters.
    sign: (observations) =>
      matching(
        observations,
        /last insn is not an exit or jmp|bpf_prog_query(?:(?!bpf_prog_query).)*failed|failed to create device filter/,
      ),
  },
});

/**
 * Signs that a configuration writes the file `20-customization.part` twice. The signs are in the active configuration,
 * if the credentials may read it, or in the kernel log. Talos up to 1.13 cannot create the file's resource a second
 * time, so it pauses the boot. From 1.14 on Talos uses the first of the two items and boots. Source: talos,
 * v1alpha1_sequencer_tasks.go, pauseOnFailure and injectCRIConfigPatch.
 */
function repeatedContainerdPart(observations: Observations): Evidence[] {
  return (observations.machines ?? []).flatMap(
    ({ name, stage, talosVersion, bootErrors = [], repeatedFiles = [] }) => {
      const errorLines = bootErrors.filter((line) =>
        ["EtcFileSpecs", "20-customization.part", "already exists"].every((words) =>
          line.includes(words),
        ),
      );
      return [
        ...(repeatedFiles.includes(customizationPath) &&
        !(talosVersion !== undefined && mergesInMemory(talosVersion))
          ? [
              `${name}: its configuration has ${customizationPath} more than once${stage ? `, and the machine is ${stage}` : ""}`,
            ]
          : []),
        ...errorLines.map((line) => `${name}: ${line}`),
      ].map((line) => ({ node: name, line }));
    },
  );
}

/**
 * Signs of a missed upgrade: the active configuration names an image of the same release with another schematic, and no
 * driver is loaded. A machine with a loaded driver is skipped: there, a user has installed the image by `talosctl
 * upgrade` without a change of the configuration. Machines in Omni are skipped, because Omni manages their schematics
 * and upgrades. Without a plan, only nodes with signs of a GPU count.
 */
function runsOldSchematic(observations: Observations, { plan }: System): Evidence[] {
  const byOmni = new Set(
    plan?.machines.filter(({ configuration }) => configuration === "omni").map(({ name }) => name),
  );
  const needsDriver = (name: string): boolean =>
    plan !== undefined ||
    (observations.nodes ?? []).some((node) => node.name === name && showsGpu(node));
  return (observations.machines ?? []).flatMap(
    ({ name, talosVersion, schematicId, imageId, installImage, modules }) => {
      if (byOmni.has(name) || modules?.includes("nvidia") || !needsDriver(name)) return [];
      const [, installedSchematic, release] =
        /\/([0-9a-f]{64}):(v[^@]+)/.exec(installImage ?? "") ?? [];
      if (
        schematicId === undefined ||
        talosVersion === undefined ||
        installedSchematic === undefined
      )
        return [];
      if (release !== talosVersion) return [];
      if ([schematicId, imageId].includes(installedSchematic)) return [];
      const line = `${name}: runs schematic ${schematicId.slice(0, 12)} of ${talosVersion}, and is configured for ${installedSchematic.slice(0, 12)}`;
      return [{ node: name, line }];
    },
  );
}

function driverNotLoaded(observations: Observations, system: System): Evidence[] {
  const expected = new Map(
    system.gpuMachines.map((machine) => [machine.name, machine.schematicId]),
  );
  // A machine without the planned image has no driver because it was not upgraded, or was rolled back.
  const runsPlanned = (name: string, schematic: string | undefined): boolean => {
    const plannedSchematic = expected.get(name);
    return (
      expected.has(name) &&
      (schematic === undefined || plannedSchematic === undefined || schematic === plannedSchematic)
    );
  };
  return (observations.machines ?? [])
    .filter(
      (machine) =>
        hasModules(machine.extensions) &&
        runsPlanned(machine.name, machine.imageId ?? machine.schematicId) &&
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

/**
 * Whether the image has NVIDIA's kernel modules. If it has none, e.g. because Omni has not upgraded the machine yet, a
 * configuration cannot load them.
 */
const hasModules = (extensions: string[] | undefined): boolean =>
  extensions === undefined ||
  extensions.some((name) => nvidiaExtension(`siderolabs/${name}`)?.kind === "modules");

/**
 * Signs that the image's kernel modules and its container toolkit belong to different releases of the driver. Talos
 * labels a node with its extensions' versions, which begin with the driver's version, e.g. `580.126.09-v1.12.6` for the
 * modules and `570.211.01-v1.18.2` for the toolkit. Source: siderolabs/extensions, nvidia-gpu, the extensions'
 * manifests.
 */
function librariesOfAnotherDriver(observations: Observations): Evidence[] {
  const mixedDrivers = (observations.nodes ?? []).flatMap(({ name, labels }) => {
    const driverOf = (extension: RegExp): [string, string] | undefined => {
      const label = Object.entries(labels).find(([key]) => extension.test(key));
      return label && [label[0].replace(/^[^/]*\//, ""), label[1].replace(/-.*$/, "")];
    };
    const modules = driverOf(
      /^extensions\.talos\.dev\/(nvidia-open-gpu-kernel-modules|nonfree-kmod-nvidia)-/,
    );
    const toolkit = driverOf(/^extensions\.talos\.dev\/nvidia-container-toolkit-/);
    if (!modules || !toolkit || modules[1] === toolkit[1]) return [];
    const line = `node ${name}: ${modules[0]} belongs to driver ${modules[1]}, but ${toolkit[0]} to ${toolkit[1]}`;
    return [{ node: name, line }];
  });
  return [
    ...mixedDrivers,
    ...matching(observations, /driver\/library version mismatch|NVRM: API mismatch/i),
  ];
}
