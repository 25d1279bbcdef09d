import { type Card, cardOf, drives, flavoursOf, openModulesRefuse } from "./card";
import {
  fabricManagerExtension,
  modulesExtension,
  nvidiaExtension,
  toolkitExtension,
} from "./extension";
import type { Release } from "./talos-release";
import { defined } from "../mapping";
import type { DriverBranch, ClusterSpec, MachineSpec, ModuleFlavour } from "../spec/index";

/** A kind of card in a machine, looked up. */
export interface CardUse {
  /** Path of the entry in the stack, e.g. `machines.gpu-1.gpus[0]`. */
  field: string;
  model: string;
  count: number;
  /** Undefined when the tables lack the model. */
  card?: Card;
}

/** Cards and driver of a machine, from which its recipe and the checks follow. */
export interface MachineFacts {
  name: string;
  spec: MachineSpec;
  uses: CardUse[];
  /** Cards of the tables, without duplicates. */
  cards: Card[];
  /** Number of cards; 0 means that the machine is not a GPU machine. */
  gpuCount: number;
  branch: DriverBranch;
  flavour: ModuleFlavour;
  /** Driver of the kernel modules; undefined without a GPU or without a known release. */
  driverVersion?: string;
  /** Sorted, without duplicates. */
  extensions: string[];
}

/**
 * Looks up a machine's cards and decides its driver. Never fails: what is unknown stays undefined, for the checks to
 * name.
 */
export function machineFacts(
  name: string,
  spec: MachineSpec,
  cluster: ClusterSpec,
  release?: Release,
): MachineFacts {
  const uses = (spec.gpus ?? []).map((gpu, index): CardUse => ({
    field: `machines.${name}.gpus[${index}]`,
    model: gpu.model,
    count: gpu.count ?? 1,
    ...defined({ card: cardOf(gpu) }),
  }));
  const cards = [...new Set(uses.flatMap((use) => (use.card ? [use.card] : [])))];
  const gpuCount = uses.reduce((sum, use) => sum + use.count, 0);
  const own = [...new Set(spec.extensions ?? [])];
  const facts = { name, spec, uses, cards, gpuCount };
  if (gpuCount === 0)
    return { ...facts, branch: "production", flavour: "open", extensions: own.sort() };

  const ownModules = own.map(nvidiaExtension).find((extension) => extension?.kind === "modules");
  const ownToolkit = own.map(nvidiaExtension).find((extension) => extension?.kind === "toolkit");
  const branch =
    ownModules?.branch ??
    ownToolkit?.branch ??
    cluster.driver?.branch ??
    defaultBranch(cards, release);
  const driverVersion = release?.drivers[branch];
  const flavour =
    ownModules?.flavour ?? cluster.driver?.flavour ?? defaultFlavour(cards, driverVersion);
  const extensions = [
    ...own,
    ...(ownModules ? [] : [modulesExtension(flavour, branch)]),
    ...(ownToolkit ? [] : [toolkitExtension(branch)]),
    ...(hasSwitches(uses) && !own.some((name) => nvidiaExtension(name)?.kind === "fabricmanager")
      ? [fabricManagerExtension(branch)]
      : []),
  ];
  return {
    ...facts,
    branch,
    flavour,
    ...(driverVersion ? { driverVersion } : {}),
    extensions: extensions.sort(),
  };
}

/**
 * Whether the cards are those of an HGX board with NVSwitches: eight modules of a kind that comes on one. Without the
 * fabric manager no program can use them (CUDA error 802). Boards of four have no switch. Source: siderolabs/docs
 * v1.13, nvidia-fabricmanager.mdx; NVIDIA Fabric Manager user guide, supported systems.
 */
export function hasSwitches(uses: CardUse[]): boolean {
  const modules = uses.filter(({ card }) => card !== undefined && onBoards.test(card.model));
  return modules.reduce((sum, { count }) => sum + count, 0) >= 8;
}

/**
 * Whether it is known that no NVSwitch is in the machine: they come on boards of SXM modules, with Grace, and in DGX
 * systems. Source: NVIDIA Fabric Manager user guide, supported systems.
 */
export const hasNoSwitch = (uses: CardUse[]): boolean =>
  uses.length > 0 &&
  uses.every(
    ({ card }) => card !== undefined && !card.described && !maybeSwitched.test(card.model),
  );

/**
 * Names of data-center cards that exist as SXM modules, except those that say PCIe themselves. NVSwitch came with
 * SXM3 (DGX-2): boards of P100 and of V100 SXM2 have none.
 */
const maybeSwitched =
  /SXM(?!2)|HBM|DGX-|^(PG|A100|A800|H\d|GH\d|G?B[123]\d\d)(?!.*(PCIe|PCIE|NVL|L ))/;

/** Modules of HGX boards, by the name of their card. */
const onBoards =
  /^(A[18]00[- ]SXM|H[128]00 SXM|H100 80GB HBM3$|H200$|H20$|H20 HBM3e$|H800$|B[12]00$|B300 SXM)/;

/**
 * `production`, unless only `lts` brings a driver that knows all cards. That is so for Maxwell to Volta on Talos ≥
 * 1.13 (580 is their last branch, production is 595). It is so for a card newer than the production driver of Talos
 * 1.12 (570; its lts is 580).
 */
function defaultBranch(cards: Card[], release: Release | undefined): DriverBranch {
  if (!release) return "production";
  const fits = (branch: "lts" | "production"): boolean =>
    cards.every((card) => drives(release.drivers[branch], card));
  return !fits("production") && fits("lts") ? "lts" : "production";
}

/** The first flavour that drives every card; open modules of old drivers only where they take the card. */
function defaultFlavour(cards: Card[], driver: string | undefined): ModuleFlavour {
  const usable = (flavour: ModuleFlavour): boolean =>
    cards.every(
      (card) =>
        flavoursOf(card).includes(flavour) &&
        !(flavour === "open" && driver && openModulesRefuse(card, driver)),
    );
  return cards.flatMap(flavoursOf).find(usable) ?? "open";
}
