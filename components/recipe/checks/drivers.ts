import {
  architectureOf,
  type Card,
  flavoursOf,
  minDriverOf,
  openModulesRefuse,
} from "../facts/card";
import { nvidiaExtension } from "../facts/extension";
import { hasNoSwitch } from "../facts/machine-facts";
import { extensionsOf } from "../facts/talos-release";
import { compareDotted, majorOf } from "../facts/version";
import { specFor } from "../machine/apart";
import type { FindingText } from "../rules";
import type { ClusterSpec, ModuleFlavour } from "../spec/index";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  type Found,
  findPerGpuMachine,
} from "./check";

/** Checks of the cards' drivers: kernel modules, their branch and their flavour. */
export const driverChecks = {
  "module-flavour": {
    rule: "The flavour of the kernel modules supports each card of the machine",
    source:
      'NVIDIA driver 580 README, "Open Linux Kernel Modules"; cozystack#3563; NVIDIA, "Transitions Fully Towards Open-Source GPU Kernel Modules" (GH200)',
    ofFiles: true,
    find: findPerGpuMachine((machine, { spec }) => {
      const isSupported = (flavour: ModuleFlavour): boolean =>
        machine.cards.every((card) => flavoursOf(card).includes(flavour));
      // The check mixed-cards reports cards that have no flavour in common.
      if (!isSupported("open") && !isSupported("proprietary")) return [];
      const card = machine.cards.find(
        (candidate) => !flavoursOf(candidate).includes(machine.flavour),
      );
      if (!card) return [];
      const isStated = spec.driver?.flavour === machine.flavour;
      const supported = flavoursOf(card).join(" or ");
      return {
        field: isStated ? "driver.flavour" : ".extensions",
        problem: `${machine.flavour} kernel modules do not support the ${card.model} (${card.architecture}) of ${machine.name}`,
        why: whyNot(machine.flavour, card),
        remedy: isStated
          ? `leave driver.flavour out, or set it to ${supported}`
          : `leave NVIDIA's extensions out, or list those of the ${supported} modules`,
        ofFiles: { remedy: `use the ${supported} modules` },
      };
    }),
  },
  "open-modules-card": {
    rule: "A machine with open kernel modules older than driver 545 has only data-center cards",
    source: 'NVIDIA driver 535 README, "Open Linux Kernel Modules"; siderolabs/extensions#114',
    ofFiles: true,
    find: findPerGpuMachine((machine, { spec }) => {
      const driver = machine.driverVersion;
      if (!driver || machine.flavour !== "open") return [];
      const card = machine.cards.find(
        (candidate) =>
          flavoursOf(candidate).includes("proprietary") &&
          flavoursOf(candidate).includes("open") &&
          openModulesRefuse(candidate, driver),
      );
      const isStated = spec.driver?.flavour === "open";
      const remedyForFiles =
        "use the proprietary modules, or the open modules of branch production";
      return card
        ? {
            field: isStated ? "driver.flavour" : ".extensions",
            problem: `the open kernel modules of driver ${driver} do not support the ${card.model} of ${machine.name}`,
            why: "before driver 545 the open modules find GeForce and workstation cards only with NVreg_OpenRmEnableUnsupportedGpus=1",
            remedy: isStated
              ? "leave driver.flavour out (its default is proprietary here), or set driver.branch to production"
              : remedyForFiles,
            ofFiles: { remedy: remedyForFiles },
          }
        : undefined;
    }),
  },
  "driver-too-old": {
    rule: "The driver is new enough for each card of the machine",
    source:
      "CUDA toolkit release notes: first driver per architecture; siderolabs/extensions, nvidia-gpu/vars.yaml",
    ofFiles: true,
    find: (context) =>
      findingsOfDrivers(context, {
        boundOf: minDriverOf,
        isSupported: (driver, least) => compareDotted(driver, least) >= 0,
        findingText: ({ driver, card, machineName, bound, otherBranchRemedy }) => ({
          problem: `${driver}, but the ${card.model} of ${machineName} needs ${bound} or newer`,
          why: "the driver does not know the card: the modules load, but nvidia-smi finds no devices",
          ...(otherBranchRemedy ?? { remedy: "use a newer Talos version" }),
        }),
      }),
  },
  "driver-too-new": {
    rule: "The branch of the driver still supports the architecture of each card",
    source: "CUDA 13 release notes: branch 580 is the last one for Maxwell, Pascal and Volta",
    ofFiles: true,
    find: (context) =>
      findingsOfDrivers(context, {
        boundOf: lastBranchOf,
        isSupported: (driver, last) => majorOf(driver) <= last,
        findingText: ({ driver, card, machineName, bound, otherBranchRemedy }) => ({
          problem: `${driver}, but the ${card.model} of ${machineName} (${card.architecture}) is supported only up to branch ${bound}`,
          why: "newer drivers no longer support this architecture: the modules load, but nvidia-smi finds no devices",
          ...(otherBranchRemedy ?? { remedy: "stay on an older Talos version" }),
        }),
      }),
  },
  "driver-branch": {
    rule: "The Talos version has extensions for the driver's branch and flavour",
    source:
      "siderolabs/extensions discussion 1344 (`new-feature`: from Talos 1.15 on, only open modules). checks/images.ts checks the extensions that the stack names",
    ofFiles: true,
    find: findPerGpuMachine((machine, { release }) => {
      const missingExtension = machine.extensions.find(
        (name) =>
          nvidiaExtension(name) !== undefined &&
          machine.spec.extensions?.includes(name) !== true &&
          release !== undefined &&
          !(release.extensions?.includes(name) ?? extensionsOf(release.minor.minor).has(name)),
      );
      const isFlavour =
        nvidiaExtension(missingExtension ?? "")?.kind === "modules" &&
        machine.flavour === "proprietary";
      return missingExtension !== undefined && release !== undefined
        ? {
            field: "driver.branch",
            problem: `branch ${machine.branch} on ${machine.name} needs the extension ${missingExtension}, which Talos ${release.version.text} does not have`,
            why: "the machine could not pull its installer image",
            remedy: isFlavour
              ? "set another branch, or set driver.flavour to open"
              : "set another branch",
          }
        : undefined;
    }),
  },
  "driver-unnamed": {
    severity: "warning",
    rule: "If an adopted machine has the field `driver`, this field sets the branch or the flavour",
    source:
      "cli/import: an installer's name has only the hash of its schematic, which does not show the driver",
    ofFiles: false,
    find: findPerGpuMachine(({ spec: { address, configuration }, branch, flavour }, { spec }) =>
      configuration === "adopted" &&
      spec.driver !== undefined &&
      Object.keys(spec.driver).length === 0
        ? {
            field: ".driver",
            problem: `sets neither branch nor flavour, so the plan uses the card's default: branch ${branch} with ${flavour} modules`,
            why: "if the machine runs another driver today, the update stops before it reboots the machine",
            remedy: `write the branch and the flavour that \`talosctl -n ${address} get extensions\` shows`,
          }
        : undefined,
    ),
  },
  "driver-branches": {
    rule: "Kernel modules and container toolkit are of the same branch, and match the field `driver`",
    source:
      "siderolabs/extensions, nvidia-gpu: the driver's user-space libraries are in the toolkit's extension",
    ofFiles: true,
    find: findPerGpuMachine((machine, { spec }) => {
      const branchesOf = (kind: string): Set<string> =>
        new Set(
          machine.extensions
            .map(nvidiaExtension)
            .flatMap((extension) =>
              extension?.kind === kind && extension.branch ? [extension.branch] : [],
            ),
        );
      const modules = [...branchesOf("modules")];
      const toolkit = [...branchesOf("toolkit")];
      if (modules.length === 1 && toolkit.length === 1 && modules[0] === toolkit[0])
        return findingsOfStatedDriver(machine, spec);
      return {
        field: ".extensions",
        problem: `the kernel modules are of branch ${modules.join(" and ")}, and the container toolkit is of branch ${toolkit.join(" and ")}`,
        why: "the toolkit's libraries would not match the kernel modules, so nvidia-smi would fail with a version mismatch",
        remedy:
          "use modules and toolkit of the same branch, or leave NVIDIA's extensions out and set driver.branch",
        ofFiles: { remedy: "use modules and toolkit of the same branch" },
      };
    }),
  },
  "fabricmanager-branch": {
    rule: "The fabric manager is of the kernel modules' branch, and runs only on machines with NVSwitches",
    source:
      "NVIDIA Fabric Manager user guide: its version must equal the driver's; supported systems; gpu-operator#610 (NV_WARN_NOTHING_TO_DO)",
    ofFiles: true,
    find: findPerGpuMachine((machine) => {
      const manager = machine.extensions
        .map(nvidiaExtension)
        .find((extension) => extension?.kind === "fabricmanager");
      if (!manager) return [];
      const { branch = "?" } = manager;
      const cards = machine.cards.map(({ model }) => model);
      if (hasNoSwitch(machine.uses))
        return {
          field: ".extensions",
          problem: `lists the fabric manager, but a machine with the ${cards.join(", ")} has no NVSwitch`,
          why: "without an NVSwitch the fabric manager exits with NV_WARN_NOTHING_TO_DO after each start, so the update would wait for the service",
          remedy: `leave siderolabs/nvidia-fabricmanager-${branch} out`,
        };
      return branch !== machine.branch
        ? {
            field: ".extensions",
            problem: `the fabric manager is of branch ${branch}, but the kernel modules are of branch ${machine.branch}`,
            why: "the fabric manager does not run with a driver of another version, and without it no CUDA program works on a machine with NVSwitches",
            remedy: `write siderolabs/nvidia-fabricmanager-${machine.branch}`,
          }
        : undefined;
    }),
  },
  "kernel-modules-once": {
    rule: "A machine has only one flavour of the kernel modules",
    source:
      'NVIDIA driver README, "Open Linux Kernel Modules": the two flavours exclude each other',
    ofFiles: false,
    find: findPerGpuMachine((machine) => {
      const modules = machine.extensions.filter(
        (name) => nvidiaExtension(name)?.kind === "modules",
      );
      const branches = new Set(modules.map((name) => nvidiaExtension(name)?.branch));
      // The check driver-branches reports two branches.
      if (modules.length < 2 || branches.size > 1) return [];
      return {
        field: ".extensions",
        problem: `names ${modules.join(" and ")}`,
        why: "both extensions contain a module called nvidia, and only one can be in the kernel",
        remedy:
          "keep one extension, or leave both out, so that the stack chooses the flavour that fits the card",
      };
    }),
  },
} satisfies Checks;

const lastBranchOf = (card: Card): number => architectureOf(card).lastDriverBranch ?? Infinity;

/** Reason why the kernel modules of a flavour do not find a card. */
function whyNot(flavour: ModuleFlavour, card: Card): string {
  if (flavour === "open")
    return "the open modules load but find no devices, because they need the GSP processor, which only Turing and newer cards have";
  if (card.flavours === undefined)
    return "the proprietary modules load but find no devices, because only the open modules support this architecture";
  return "NVIDIA supports this card with the open modules only";
}

/** A driver that does not support a card. */
interface UnsupportedDriver<Bound> {
  /** The driver as a message names it: branch, version and Talos version. */
  driver: string;
  card: Card;
  /** Name of the card's machine. */
  machineName: string;
  /** The oldest driver, or the last branch, that supports the card. */
  bound: Bound;
  /**
   * Remedy that selects a driver with support for the card; undefined if no branch of the Talos version has such a
   * driver.
   */
  otherBranchRemedy: Pick<FindingText, "remedy" | "ofFiles"> | undefined;
}

/** Findings for machines whose driver does not support one of their cards. */
const findingsOfDrivers = <Bound>(
  { spec, release, gpuMachines }: CheckContext,
  rule: {
    /** The oldest driver, or the last branch, that supports a card. */
    boundOf: (card: Card) => Bound;
    isSupported: (driver: string, bound: Bound) => boolean;
    findingText: (unsupported: UnsupportedDriver<Bound>) => FindingText;
  },
): Found =>
  gpuMachines.map((machine) => {
    const { driverVersion, branch, cards } = machine;
    if (driverVersion === undefined || release === undefined) return undefined;
    const card = cards.find(
      (candidate) => !rule.isSupported(driverVersion, rule.boundOf(candidate)),
    );
    if (card === undefined) return undefined;
    const otherBranch = branch === "lts" ? "production" : "lts";
    const version = release.drivers[otherBranch];
    const otherFits = cards.every((candidate) =>
      rule.isSupported(version, rule.boundOf(candidate)),
    );
    return {
      field: spec.driver?.branch ? "driver.branch" : "talosVersion",
      ...rule.findingText({
        driver: `the ${branch} driver of Talos ${spec.talosVersion} is ${driverVersion}`,
        card,
        machineName: machine.name,
        bound: rule.boundOf(card),
        otherBranchRemedy: otherFits
          ? {
              remedy: `set driver.branch to ${otherBranch} (${version})`,
              ofFiles: { remedy: `use the extensions of branch ${otherBranch} (${version})` },
            }
          : undefined,
      }),
    };
  });

/**
 * Finding for a machine whose list of extensions has kernel modules of another branch or flavour than `driver` sets.
 */
function findingsOfStatedDriver(machine: CheckedMachine, spec: ClusterSpec): Found {
  const { branch, flavour } = specFor(spec, machine.spec).driver ?? {};
  const modules = machine.extensions
    .map(nvidiaExtension)
    .find((extension) => extension?.kind === "modules");
  const [statedValue, extensionValue] =
    [
      [branch, modules?.branch],
      [flavour, modules?.flavour],
    ].find(
      ([stated, extension]) =>
        stated !== undefined && extension !== undefined && stated !== extension,
    ) ?? [];
  return statedValue !== undefined && extensionValue !== undefined
    ? {
        field: `${machine.field}.extensions`,
        problem: `lists ${extensionValue} kernel modules, but the field \`driver\` sets ${statedValue}`,
        why: "only one of the two would take effect",
        remedy:
          "leave NVIDIA's extensions out: the package adds those that fit the card and the field `driver`",
      }
    : undefined;
}
