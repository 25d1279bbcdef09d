import { type Card, cardOf, supportsCard, flavoursOf, openModulesRefuse } from "./card";
import {
  fabricManagerExtension,
  modulesExtension,
  nvidiaExtension,
  toolkitExtension,
} from "./extension";
import type { Release } from "./talos-release";
import { defined } from "../mapping";
import type { DriverBranch, ClusterSpec, MachineSpec, ModuleFlavour } from "../spec/index";

/** An entry of a machine's `gpus`, with the facts about its card. */
export interface CardUse {
  /** Path of the entry in the stack, e.g. `machines.gpu-1.gpus[0]`. */
  field: string;
  model: string;
  count: number;
  /** The card; undefined if the tables lack the model. */
  card?: Card;
}

/** Facts about a machine's cards and driver. The plan of the machine and the checks follow from these facts. */
export interface MachineFacts {
  name: string;
  spec: MachineSpec;
  uses: CardUse[];
  /** The machine's known cards, without duplicates. */
  cards: Card[];
  /** Number of cards; 0 means that the machine is not a GPU machine. */
  gpuCount: number;
  branch: DriverBranch;
  flavour: ModuleFlavour;
  /** Version of NVIDIA's driver; undefined if the machine has no GPU, or if the Talos release is unknown. */
  driverVersion?: string;
  /** Sorted, without duplicates. */
  extensions: string[];
}

/**
 * Looks up a machine's cards and chooses its driver. Never fails: unknown facts stay undefined, and the checks report
 * them.
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
  const statedExtensions = [...new Set(spec.extensions ?? [])];
  const facts = { name, spec, uses, cards, gpuCount };
  if (gpuCount === 0)
    return { ...facts, branch: "production", flavour: "open", extensions: statedExtensions.sort() };

  const statedModules = statedExtensions
    .map(nvidiaExtension)
    .find((extension) => extension?.kind === "modules");
  const statedToolkit = statedExtensions
    .map(nvidiaExtension)
    .find((extension) => extension?.kind === "toolkit");
  const branch =
    statedModules?.branch ??
    statedToolkit?.branch ??
    cluster.driver?.branch ??
    defaultBranch(cards, release);
  const driverVersion = release?.drivers[branch];
  const flavour =
    statedModules?.flavour ?? cluster.driver?.flavour ?? defaultFlavour(cards, driverVersion);
  const extensions = [
    ...statedExtensions,
    ...(statedModules ? [] : [modulesExtension(flavour, branch)]),
    ...(statedToolkit ? [] : [toolkitExtension(branch)]),
    ...(hasSwitches(uses) &&
    !statedExtensions.some((name) => nvidiaExtension(name)?.kind === "fabricmanager")
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
 * Whether the cards are those of an HGX board with NVSwitches: at least eight SXM modules of a model that exists on
 * such boards. Without the fabric manager no program can use these cards (CUDA error 802). Boards with four modules
 * have no switch. Source: siderolabs/docs v1.13, nvidia-fabricmanager.mdx; NVIDIA Fabric Manager user guide, supported
 * systems.
 */
export function hasSwitches(uses: CardUse[]): boolean {
  const modules = uses.filter(({ card }) => card !== undefined && onBoards.test(card.model));
  return modules.reduce((sum, { count }) => sum + count, 0) >= 8;
}

/**
 * Whether the machine certainly has no NVSwitch. Only boards of SXM modules, superchips with Grace, and DGX systems
 * have NVSwitches. Source: NVIDIA Fabric Manager user guide, supported systems.
 */
export const hasNoSwitch = (uses: CardUse[]): boolean =>
  uses.length > 0 &&
  uses.every(
    ({ card }) => card !== undefined && !card.described && !maybeSwitched.test(card.model),
  );

/**
 * Pattern of the names of cards whose machine may have NVSwitches: data-center cards that exist as SXM modules or in
 * superchips, except names with PCIe or NVL. Boards with P100 or V100 SXM2 have no NVSwitch, because NVSwitches exist
 * only from SXM3 (DGX-2) on.
 */
const maybeSwitched =
  /SXM(?!2)|HBM|DGX-|^(PG|A100|A800|H\d|GH\d|G?B[123]\d\d)(?!.*(PCIe|PCIE|NVL|L ))/;

/** Pattern of the names of cards that are modules of HGX boards. */
const onBoards =
  /^(A[18]00[- ]SXM|H[128]00 SXM|H100 80GB HBM3$|H200$|H20$|H20 HBM3e$|H800$|B[12]00$|B300 SXM)/;

/**
 * Default branch of the driver: `production`, unless only the driver of `lts` supports all cards. On Talos ≥ 1.13 only
 * `lts` (580) supports cards from Maxwell to Volta: 580 is the last branch with support for them, and production is
 * 595. On Talos 1.12 only `lts` (580) supports cards that are too new for the production driver (570).
 */
function defaultBranch(cards: Card[], release: Release | undefined): DriverBranch {
  if (!release) return "production";
  const drivesAllCards = (branch: "lts" | "production"): boolean =>
    cards.every((card) => supportsCard(release.drivers[branch], card));
  return !drivesAllCards("production") && drivesAllCards("lts") ? "lts" : "production";
}

/**
 * Default flavour of the kernel modules: the first one that supports every card. The open modules of old drivers
 * support only some cards.
 */
function defaultFlavour(cards: Card[], driver: string | undefined): ModuleFlavour {
  const usable = (flavour: ModuleFlavour): boolean =>
    cards.every(
      (card) =>
        flavoursOf(card).includes(flavour) &&
        !(flavour === "open" && driver && openModulesRefuse(card, driver)),
    );
  return cards.flatMap(flavoursOf).find(usable) ?? "open";
}
