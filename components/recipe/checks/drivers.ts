import { architectureOf, type Card, flavoursOf, minDriverOf, openModulesRefuse } from "../facts/card";
import { nvidiaExtension } from "../facts/extension";
import { hasNoSwitch } from "../facts/machine-facts";
import { extensionsOf } from "../facts/talos-release";
import { compareDotted, majorOf } from "../facts/version";
import { seenBy } from "../machine/apart";
import type { ClusterSpec, ModuleFlavour } from "../spec/index";
import { type CheckContext, type CheckedMachine, type Checks, complaint, type Found, ofGpuMachines } from "./check";

/** Drivers for the cards: kernel modules, their branch and their flavour. */
export const driverChecks: Checks = {
  "module-flavour": ofGpuMachines((machine, { spec }) => {
    const fits = (flavour: ModuleFlavour): boolean => machine.cards.every((card) => flavoursOf(card).includes(flavour));
    // Cards that no flavour has in common are the business of mixed-cards.
    if (!fits("open") && !fits("proprietary")) return [];
    const card = machine.cards.find((candidate) => !flavoursOf(candidate).includes(machine.flavour));
    if (!card) return [];
    const reason = machine.flavour === "open" ? "open" : card.flavours === undefined ? "architecture" : "card";
    const field = spec.driver?.flavour === machine.flavour ? "driver.flavour" : ".extensions";
    return complaint(field, `module-flavour/${reason}`, { machine, card, needed: flavoursOf(card).join(" or ") });
  }),
  "open-modules-card": ofGpuMachines((machine, { spec }) => {
    const driver = machine.driverVersion;
    if (!driver || machine.flavour !== "open") return [];
    const card = machine.cards.find(
      (candidate) =>
        flavoursOf(candidate).includes("proprietary") &&
        flavoursOf(candidate).includes("open") &&
        openModulesRefuse(candidate, driver),
    );
    const field = spec.driver?.flavour === "open" ? "driver.flavour" : ".extensions";
    return card && complaint(field, "open-modules-card", { driver, card, machine });
  }),
  "driver-too-old": (context) =>
    ofDrivers(context, "driver-too-old", minDriverOf, (driver, least) => compareDotted(driver, least) >= 0),
  "driver-too-new": (context) =>
    ofDrivers(context, "driver-too-new", lastBranchOf, (driver, last) => majorOf(driver) <= last),
  "driver-branch": ofGpuMachines((machine, { release }) => {
    const lacks = machine.extensions.find(
      (name) =>
        nvidiaExtension(name) !== undefined &&
        machine.spec.extensions?.includes(name) !== true &&
        release !== undefined &&
        !(release.extensions?.includes(name) ?? extensionsOf(release.minor.minor).has(name)),
    );
    const isFlavour = nvidiaExtension(lacks ?? "")?.kind === "modules" && machine.flavour === "proprietary";
    const saying = isFlavour ? "driver-branch/flavour" : "driver-branch/other";
    return lacks !== undefined && complaint("driver.branch", saying, { machine, lacks, release });
  }),
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
    const things = { modules: [...modules].join(" and "), toolkit: [...toolkit].join(" and ") };
    return complaint(".extensions", "driver-branches/unlike", things);
  }),
  "fabricmanager-branch": ofGpuMachines((machine) => {
    const manager = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "fabricmanager");
    if (!manager) return [];
    const { branch = "?" } = manager;
    const cards = machine.cards.map(({ model }) => model);
    if (hasNoSwitch(machine.uses)) return complaint(".extensions", "fabricmanager-branch/no-switch", { cards, branch });
    return branch !== machine.branch && complaint(".extensions", "fabricmanager-branch/other", { branch, machine });
  }),
  "kernel-modules-once": ofGpuMachines((machine) => {
    const modules = machine.extensions.filter((name) => nvidiaExtension(name)?.kind === "modules");
    const branches = new Set(modules.map((name) => nvidiaExtension(name)?.branch));
    // Two branches are the business of driver-branches.
    if (modules.length < 2 || branches.size > 1) return [];
    return complaint(".extensions", "kernel-modules-once", { modules: modules.join(" and ") });
  }),
};

const lastBranchOf = (card: Card): number => architectureOf(card).lastDriverBranch ?? Infinity;

/** Drivers that a card of their machine does not fit, by the bound that the card sets. */
const ofDrivers = <Bound>(
  { spec, release, gpuMachines }: CheckContext,
  check: "driver-too-old" | "driver-too-new",
  boundOf: (card: Card) => Bound,
  fits: (driver: string, bound: Bound) => boolean,
): Found =>
  gpuMachines.map((machine) => {
    const { driverVersion, branch, cards } = machine;
    const card = cards.find((one) => driverVersion !== undefined && !fits(driverVersion, boundOf(one)));
    if (!card || !release) return undefined;
    const other = branch === "lts" ? "production" : "lts";
    const driver = release.drivers[other];
    const remedy = cards.every((one) => fits(driver, boundOf(one))) ? "branch" : "release";
    const things = { spec, machine, card, bound: boundOf(card), other, driver };
    return complaint(spec.driver?.branch ? "driver.branch" : "talosVersion", `${check}/${remedy}`, things);
  });

/** What is said of the driver beside a list that says something else. */
function against(machine: CheckedMachine, spec: ClusterSpec): Found {
  const { branch, flavour } = seenBy(spec, machine.spec).driver ?? {};
  const modules = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "modules");
  const said = [
    [branch, modules?.branch],
    [flavour, modules?.flavour],
  ].find(([wanted, listed]) => wanted !== undefined && listed !== undefined && wanted !== listed);
  const [wanted, listed] = said ?? [];
  return said && complaint(`${machine.field}.extensions`, "driver-branches/against-driver", { wanted, listed });
}
