import { customizationPath } from "../../recipe/machine/containerd/containerd";
import {
  containerdProblem,
  mergesInMemory,
  missingKeys,
} from "../../recipe/machine/containerd/effective";
import { upgradePath } from "../../recipe/effect/hops";
import { findRelease } from "../../recipe/facts/talos-release";
import { parseTalosVersion } from "../../recipe/facts/version";
import type { MachineRecipe, Plan } from "../../recipe/types";
import type { Observations, ObservedMachine } from "../observations";
import { difference, type Difference } from "./difference";

/** Differences between a machine and the plan. Properties that could not be read are skipped. */
export const machineDifferences = (plan: Plan, observations: Observations): Difference[] =>
  plan.machines.flatMap((recipe) => {
    const about = `machine ${recipe.name}`;
    const machine = observations.machines?.find(({ name }) => name === recipe.name);
    if (machine === undefined) return [];
    const { stage = "running", bootErrors = [] } = machine;
    return [
      ...image.flatMap((problemOf) => difference(about, problemOf(recipe, machine))),
      ...difference(about, stage !== "running" && `is ${stage}, not running`, bootErrors.slice(-3)),
      ...configuration.flatMap((problemOf) => difference(about, problemOf(recipe, machine))),
      ...services(recipe, machine).flatMap((problem) => difference(about, problem)),
      ...difference(about, containerd(recipe, machine)),
      ...difference(about, cri(machine)),
    ];
  });

/**
 * Function that describes one kind of difference; its result is undefined or false if the machine agrees with the plan.
 */
type ProblemOf = (recipe: MachineRecipe, machine: ObservedMachine) => string | false | undefined;

const image: ProblemOf[] = [release, schematic, extensions];
const configuration: ProblemOf[] = [
  (_, { staged }) =>
    staged &&
    "has a different configuration staged for its next boot, from another tool or from an unfinished update",
  cards,
  modules,
  driver,
];

function release(
  { talosVersion, extensions, ownImage, configuration }: MachineRecipe,
  { talosVersion: runningRelease = talosVersion }: ObservedMachine,
) {
  if (withoutV(runningRelease) === withoutV(talosVersion)) return false;
  const differenceText = `runs Talos ${runningRelease}, the plan says ${talosVersion}`;
  const [runningVersion, plannedVersion] = [
    parseTalosVersion(runningRelease),
    parseTalosVersion(talosVersion),
  ];
  if (!runningVersion || !plannedVersion) return differenceText;
  const byOmni = configuration === "omni";
  const { intermediateReleases: hops, fault: finding } = upgradePath(
    runningVersion.text,
    plannedVersion.text,
    {
      extensions,
      ownImage,
      byOmni,
    },
  );
  if (hops.length === 0) return differenceText;
  if (finding !== undefined) return `${differenceText}: ${finding.problem}; ${finding.remedy}`;
  return `${differenceText}: an update first upgrades to ${hops.join(" and then to ")}, with ${hops.length + 1} reboots in all`;
}

const withoutV = (version: string): string => version.replace(/^v/, "");

const short = (schematicId: string): string => schematicId.slice(0, 12);

/**
 * Difference in the image. Machines in Omni are skipped, because Omni creates their schematics itself. For the user's
 * own image (`installerImage`), only the image's reference is compared.
 */
function schematic(recipe: MachineRecipe, machine: ObservedMachine) {
  const { schematicId, ownImage, installerImage } = recipe;
  const { schematicId: runs, imageId = runs, installImage = installerImage } = machine;
  if (ownImage)
    return (
      installImage !== installerImage &&
      `is configured for the image ${installImage}, the plan says ${installerImage}`
    );
  if (recipe.configuration === "omni" || runs === undefined || imageId === schematicId)
    return undefined;
  return `runs the image of schematic ${short(runs)}, the plan says ${short(schematicId)}: the machine was upgraded or reinstalled by hand, or the stack has not upgraded it yet`;
}

/**
 * Extensions that the machine's image lacks. Skips an image with the planned schematic, which has all extensions, and
 * the user's own image, whose content is unknown.
 */
function extensions(
  recipe: MachineRecipe,
  { extensions: actualExtensions, schematicId, imageId = schematicId }: ObservedMachine,
) {
  if (actualExtensions === undefined || recipe.ownImage || imageId === recipe.schematicId)
    return undefined;
  const missing = recipe.extensions
    .map((name) => name.replace(/^.*\//, ""))
    .filter((name) => !actualExtensions.includes(name));
  return missing.length > 0 && `its image lacks the extensions ${missing.join(", ")}`;
}

/**
 * Difference in the number of cards on the PCI bus. If the driver is loaded although the PCI bus has no card, the card
 * is on another bus, e.g. an integrated GPU.
 */
function cards(
  { gpuCount }: MachineRecipe,
  { cards: foundCount = gpuCount, modules: loaded }: ObservedMachine,
) {
  if (foundCount >= gpuCount || (foundCount === 0 && loaded?.includes("nvidia"))) return undefined;
  return `its PCI bus shows ${foundCount} of NVIDIA's cards, the plan says ${gpuCount}: check the firmware, seat, power and pass-through of the missing card`;
}

function modules({ kernelModules }: MachineRecipe, { modules: loaded }: ObservedMachine) {
  const missing = kernelModules
    .map(({ name }) => name)
    .filter((name) => !loaded?.includes(name.replaceAll("-", "_")));
  return (
    loaded !== undefined &&
    missing.length > 0 &&
    `kernel modules are not loaded: ${missing.join(", ")}`
  );
}

/**
 * Difference in the loaded driver. For a Talos release newer than the tables, the package only assumes the driver's
 * version, so only the driver's branch is compared.
 */
function driver(
  { driverVersion: planned, talosVersion }: MachineRecipe,
  { driverVersion: loaded }: ObservedMachine,
) {
  if (planned === undefined || loaded === undefined || loaded === planned) return undefined;
  const assumed = findRelease(talosVersion)?.assumed === true;
  if (assumed && loaded !== null && branchOf(loaded) === branchOf(planned)) return undefined;
  return `${loaded === null ? "no NVIDIA driver" : `NVIDIA driver ${loaded}`} is loaded, the plan says ${planned}`;
}

const branchOf = (driverVersion: string): string => driverVersion.replace(/\..*$/, "");

function services(
  { extensionServices }: MachineRecipe,
  { services: actualStates }: ObservedMachine,
): string[] {
  if (actualStates === undefined) return [];
  return extensionServices
    .filter(({ name, state }) => actualStates[name] !== state)
    .map(
      ({ name, state }) =>
        `service ${name} is ${actualStates[name] ?? "not there"}, the plan says ${state}`,
    );
}

/**
 * Difference in containerd's configuration. The file on the machine may have more settings than planned, because it
 * also has those of the configuration's owner. From Talos 1.14 on, a further document may override the file, so the
 * merged configuration is compared.
 */
function containerd(
  { containerdPart: planned }: MachineRecipe,
  observations: ObservedMachine,
): string | false | undefined {
  const { containerdPart: actualPart, mergedContainerd, talosVersion } = observations;
  if (planned === undefined) return undefined;
  if (talosVersion !== undefined && mergesInMemory(talosVersion) && mergedContainerd !== undefined)
    return containerdProblem(talosVersion, planned, mergedContainerd);
  if (actualPart === undefined) return undefined;
  const missing = missingKeys(actualPart, planned);
  return missing.length > 0 && `${customizationPath} is stale: it lacks ${missing.join(", ")}`;
}

/**
 * Difference in Talos' service `cri`, which runs containerd for pods. Talos reports a machine as running and ready even
 * if this service does not run (seen on Talos v1.14.1).
 */
function cri({ stage = "running", services }: ObservedMachine): string | false {
  const state = services?.["cri"];
  return (
    stage === "running" &&
    state !== undefined &&
    state !== "Running" &&
    `service cri is ${state}: no pod starts`
  );
}
