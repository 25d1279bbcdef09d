import { architectureOf, flavoursOf, minDriverOf, openModulesRefuse } from "../facts/card";
import type { Card } from "../facts/data/cards";
import { nvidiaExtension } from "../facts/extension";
import { hasNoSwitch } from "../facts/machine-facts";
import { extensionsOf } from "../facts/talos-release";
import { compareDotted, majorOf } from "../facts/version";
import { seenBy } from "../machine/apart";
import type { ClusterSpec } from "../spec/index";
import { type CheckContext, type CheckedMachine, type Checks, type Found, ofGpuMachines } from "./check";

/** Drivers for the cards: kernel modules, their branch and their flavour. */
export const driverChecks: Checks = {
  /**
   * The flavour of the kernel modules drives the machine's cards. Source: NVIDIA driver 580 README, "Open Linux Kernel Modules";
   * cozystack#3563; NVIDIA, "Transitions Fully Towards Open-Source GPU Kernel Modules" (GH200).
   */
  "module-flavour": ofGpuMachines((machine, { spec }) => {
    // Cards that no flavour has in common are the business of mixed-cards.
    if (
      !["open", "proprietary"].some((flavour) =>
        machine.cards.every((card) => flavoursOf(card).includes(flavour as never)),
      )
    )
      return [];
    const card = machine.cards.find((candidate) => !flavoursOf(candidate).includes(machine.flavour));
    if (!card) return [];
    const needed = flavoursOf(card).join(" or ");
    const reason =
      machine.flavour === "open"
        ? "the open modules need a processor on the card that came with Turing: they load, and find no devices"
        : card.flavours !== undefined
          ? "NVIDIA supports this card with the open modules only"
          : "the proprietary modules load but find no devices: NVIDIA drives this architecture with the open ones only";
    return {
      field: spec.driver?.flavour === machine.flavour ? "driver.flavour" : ".extensions",
      problem: `${machine.flavour} kernel modules for the ${card.model} (${card.architecture}) of ${machine.name}`,
      why: reason,
      remedy: `leave driver.flavour out, or take ${needed}`,
    };
  }),
  /**
   * Open modules of old drivers drive data-center cards only. Source: NVIDIA driver 535 README, "Open Linux Kernel Modules";
   * siderolabs/extensions#114.
   */
  "open-modules-card": ofGpuMachines((machine, { spec }) => {
    const driver = machine.driverVersion;
    if (!driver || machine.flavour !== "open") return [];
    const card = machine.cards.find(
      (candidate) =>
        flavoursOf(candidate).includes("proprietary") &&
        flavoursOf(candidate).includes("open") &&
        openModulesRefuse(candidate, driver),
    );
    if (!card) return [];
    return {
      field: spec.driver?.flavour === "open" ? "driver.flavour" : ".extensions",
      problem: `open kernel modules of driver ${driver} for the ${card.model} of ${machine.name}`,
      why: "before driver 545 they find GeForce and workstation cards only with NVreg_OpenRmEnableUnsupportedGpus=1",
      remedy: "leave driver.flavour out (proprietary follows), or take driver.branch production",
    };
  }),
  /**
   * No driver is older than the first that knows the card. Source: CUDA toolkit release notes: first driver per architecture;
   * siderolabs/extensions, nvidia-gpu/vars.yaml.
   */
  "driver-too-old": (context) =>
    ofDrivers(context, (driver, card) => compareDotted(driver, minDriverOf(card)) >= 0, {
      wants: (card, machine) => `${card.model} of ${machine} needs ${minDriverOf(card)}`,
      why: "the driver does not know the card: the modules load and nvidia-smi finds no devices",
      remedy: "take a newer Talos release",
    }),
  /**
   * No driver is so new that it has dropped the card. Source: CUDA 13 release notes: branch 580 is the last one for Maxwell, Pascal and
   * Volta.
   */
  "driver-too-new": (context) =>
    ofDrivers(context, (driver, card) => majorOf(driver) <= lastBranchOf(card), {
      wants: (card, machine) => `${card.model} of ${machine} (${card.architecture}) runs up to ${lastBranchOf(card)}`,
      why: "newer drivers dropped the architecture: the modules load and nvidia-smi finds no devices",
      remedy: "stay on an older Talos release",
    }),
  /**
   * The release has the branch, and the flavour in it. Source: siderolabs/extensions discussion 1344 (`new-feature`: from Talos 1.15 on, open
   * modules alone). Extensions that the stack names are judged as all others (checks/images.ts).
   */
  "driver-branch": ofGpuMachines((machine, { release }) => {
    const lacks = machine.extensions.find(
      (name) =>
        nvidiaExtension(name) !== undefined &&
        machine.spec.extensions?.includes(name) !== true &&
        release !== undefined &&
        !(release.extensions?.includes(name) ?? extensionsOf(release.minor.minor).has(name)),
    );
    const isFlavour = nvidiaExtension(lacks ?? "")?.kind === "modules" && machine.flavour === "proprietary";
    return (
      lacks !== undefined && {
        field: "driver.branch",
        problem: `${machine.branch} brings ${machine.name} ${lacks}, which Talos ${release!.version.text} does not have`,
        why: "the machine could not pull its image",
        remedy: `take another branch${isFlavour ? ", or driver.flavour open" : ""}`,
      }
    );
  }),
  /**
   * Kernel modules and container toolkit are of one branch. Source: siderolabs/extensions, nvidia-gpu: the driver's user-space libraries
   * are in the toolkit's extension.
   */
  "driver-branches": ofGpuMachines((machine, { spec }) => {
    const branchesOf = (kind: string): Set<string> =>
      new Set(
        machine.extensions
          .map(nvidiaExtension)
          .flatMap((extension) => (extension?.kind === kind && extension.branch ? [extension.branch] : [])),
      );
    const modules = branchesOf("modules");
    const toolkit = branchesOf("toolkit");
    if (modules.size === 1 && toolkit.size === 1 && [...modules][0] === [...toolkit][0]) return against(machine, spec);
    return {
      field: ".extensions",
      problem: `kernel modules are of branch ${[...modules].join(" and ")}, the container toolkit of ${[...toolkit].join(" and ")}`,
      why: "the libraries would not match the loaded driver: nvidia-smi fails with a version mismatch",
      remedy: "take both from one branch, or leave NVIDIA's extensions out and set driver.branch",
    };
  }),
  /**
   * The fabric manager has an NVSwitch to manage, and is of the kernel modules' branch. Source: NVIDIA Fabric Manager user guide: its
   * version must equal the driver's; supported systems; gpu-operator#610 (NV_WARN_NOTHING_TO_DO).
   */
  "fabricmanager-branch": ofGpuMachines((machine) => {
    const manager = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "fabricmanager");
    if (!manager) return [];
    if (hasNoSwitch(machine.uses))
      return {
        field: ".extensions",
        problem: `brings the fabric manager, and there is no NVSwitch beside the ${machine.cards.map(({ model }) => model).join(", ")}`,
        why: "without one it ends at once with NV_WARN_NOTHING_TO_DO, Talos starts it again and again, and the update would wait for it",
        remedy: `leave siderolabs/nvidia-fabricmanager-${manager.branch ?? machine.branch} out`,
      };
    if (manager.branch === machine.branch) return [];
    return {
      field: ".extensions",
      problem: `the fabric manager is of branch ${manager.branch ?? "?"}, the kernel modules of ${machine.branch}`,
      why: "it refuses to run with a driver of another version, and without it no CUDA context can be made on an NVSwitch system",
      remedy: `take siderolabs/nvidia-fabricmanager-${machine.branch}`,
    };
  }),
  /**
   * A machine has one flavour of the kernel modules. Source: NVIDIA driver README, "Open Linux Kernel Modules": the two flavours exclude
   * each other.
   */
  "kernel-modules-once": ofGpuMachines((machine) => {
    const modules = machine.extensions.filter((name) => nvidiaExtension(name)?.kind === "modules");
    const branches = new Set(modules.map((name) => nvidiaExtension(name)?.branch));
    // Two branches are the business of driver-branches.
    if (modules.length < 2 || branches.size > 1) return [];
    return {
      field: ".extensions",
      problem: `names ${modules.join(" and ")}`,
      why: "both bring a module called nvidia, and only one can be in the kernel",
      remedy: "keep one, or leave both out: the flavour follows from the card",
    };
  }),
};

const lastBranchOf = (card: Card): number => architectureOf(card).lastDriverBranch ?? Infinity;

/** Drivers that a card of their machine does not fit. */
function ofDrivers(
  { spec, release, gpuMachines }: CheckContext,
  fits: (driver: string, card: Card) => boolean,
  said: { wants: (card: Card, machine: string) => string; why: string; remedy: string },
): Found {
  return gpuMachines.map(({ name, driverVersion: driver, branch, cards }) => {
    const card = cards.find((one) => driver !== undefined && !fits(driver, one));
    if (!card || !release) return undefined;
    const other = branch === "lts" ? "production" : "lts";
    const otherFits = cards.every((one) => fits(release.drivers[other], one));
    return {
      field: spec.driver?.branch ? "driver.branch" : "talosVersion",
      problem: `the ${branch} driver of Talos ${spec.talosVersion} is ${driver}, but the ${said.wants(card, name)}`,
      why: said.why,
      remedy: otherFits ? `take driver.branch ${other} (${release.drivers[other]})` : said.remedy,
    };
  });
}

/** What is said of the driver beside a list that says something else. */
function against(machine: CheckedMachine, spec: ClusterSpec): Found {
  const { branch, flavour } = seenBy(spec, machine.spec).driver ?? {};
  const modules = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "modules");
  const said = [
    [branch, modules?.branch],
    [flavour, modules?.flavour],
  ].find(([wanted, listed]) => wanted !== undefined && listed !== undefined && wanted !== listed);
  if (said === undefined) return [];
  return {
    field: `${machine.field}.extensions`,
    problem: `names ${said[1]} kernel modules, and driver says ${said[0]}`,
    why: "one of the two would be passed over in silence",
    remedy: "leave NVIDIA's extensions out: they follow from the card and from driver",
  };
}
