import { parse, type TomlValue } from "smol-toml";
import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { findRelease } from "../../recipe/facts/talos-release";
import type { MachineRecipe, Plan } from "../../recipe/types";
import type { Observations, ObservedMachine } from "../observations";
import { difference, type Difference } from "./difference";

/** Where a machine itself is unlike the plan. What could not be looked at is not judged. */
export function unlikeMachines(plan: Plan, seen: Observations): Difference[] {
  return plan.machines.flatMap((recipe) => {
    const machine = seen.machines?.find(({ name }) => name === recipe.name);
    if (machine === undefined) return [];
    return aspects.flatMap((aspect) =>
      aspect(recipe, machine).map(({ problem, words }) => difference(`machine ${recipe.name}`, problem, words)),
    );
  });
}

type Aspect = (recipe: MachineRecipe, machine: ObservedMachine) => { problem: string; words?: string[] }[];

const aspects: Aspect[] = [release, schematic, extensions, stage, staged, modules, driver, services, containerd];

function release({ talosVersion }: MachineRecipe, { talosVersion: runs }: ObservedMachine): { problem: string }[] {
  return runs === undefined || withoutV(runs) === withoutV(talosVersion)
    ? []
    : [{ problem: `runs Talos ${runs}, the plan says ${talosVersion}` }];
}

const withoutV = (version: string): string => version.replace(/^v/, "");

const short = (schematicId: string): string => schematicId.slice(0, 12);

/** Omni makes the schematics of its machines itself. What runs of an image of the user's own, no schematic tells. */
function schematic(recipe: MachineRecipe, machine: ObservedMachine): { problem: string }[] {
  const { configuration, schematicId, ownImage, installerImage } = recipe;
  const runs = machine.schematicId;
  const names = machine.installImage;
  if (ownImage)
    return names === undefined || names === installerImage
      ? []
      : [{ problem: `is configured for the image ${names}, the plan says ${installerImage}` }];
  if (configuration === "omni" || runs === undefined || (machine.imageId ?? runs) === schematicId) return [];
  return [
    {
      problem: `runs the image of schematic ${short(runs)}, the plan says ${short(schematicId)}: somebody upgraded or reinstalled it, or the stack has not upgraded it yet`,
    },
  ];
}

/** Names in an image of the planned schematic need not be compared: the schematic is their list. */
function extensions(recipe: MachineRecipe, machine: ObservedMachine): { problem: string }[] {
  if (
    machine.extensions === undefined ||
    recipe.ownImage ||
    (machine.imageId ?? machine.schematicId) === recipe.schematicId
  )
    return [];
  const has = new Set(machine.extensions);
  const missing = recipe.extensions.map((name) => name.replace(/^.*\//, "")).filter((name) => !has.has(name));
  return missing.length === 0 ? [] : [{ problem: `its image lacks the extensions ${missing.join(", ")}` }];
}

function stage(
  _: MachineRecipe,
  { stage: is, bootErrors = [] }: ObservedMachine,
): { problem: string; words?: string[] }[] {
  return is === undefined || is === "running"
    ? []
    : [{ problem: `is ${is}, not running`, words: bootErrors.slice(-3) }];
}

function staged(_: MachineRecipe, machine: ObservedMachine): { problem: string }[] {
  return machine.staged
    ? [
        {
          problem:
            "has another configuration staged for its next boot: somebody else's, or that of an update that did not end",
        },
      ]
    : [];
}

function modules({ kernelModules }: MachineRecipe, { modules: loaded }: ObservedMachine): { problem: string }[] {
  if (loaded === undefined) return [];
  const missing = kernelModules.map(({ name }) => name).filter((name) => !loaded.includes(name.replaceAll("-", "_")));
  return missing.length === 0 ? [] : [{ problem: `kernel modules are not loaded: ${missing.join(", ")}` }];
}

/** Of a release that is newer than the tables the driver is assumed, so that only its branch can be told. */
function driver(
  { driverVersion: planned, talosVersion }: MachineRecipe,
  { driverVersion: loaded }: ObservedMachine,
): { problem: string }[] {
  if (planned === undefined || loaded === undefined || loaded === planned) return [];
  const assumed = findRelease(talosVersion)?.assumed === true;
  if (assumed && loaded !== null && branchOf(loaded) === branchOf(planned)) return [];
  const is = loaded === null ? "no NVIDIA driver" : `NVIDIA driver ${loaded}`;
  return [{ problem: `${is} is loaded, the plan says ${planned}` }];
}

const branchOf = (driverVersion: string): string => driverVersion.replace(/\..*$/, "");

function services({ extensionServices }: MachineRecipe, { services: seen }: ObservedMachine): { problem: string }[] {
  if (seen === undefined) return [];
  return extensionServices
    .filter(({ name, state }) => seen[name] !== state)
    .map(({ name, state }) => ({ problem: `service ${name} is ${seen[name] ?? "not there"}, the plan says ${state}` }));
}

/** The machine's part may say more than ours: that of its owner is merged with it. */
function containerd({ containerdPart: planned }: MachineRecipe, machine: ObservedMachine): { problem: string }[] {
  if (planned === undefined || machine.containerdPart === undefined) return [];
  const missing = missingIn(tableOf(machine.containerdPart), tableOf(planned), "");
  return missing.length === 0 ? [] : [{ problem: `${customizationPath} is stale: it lacks ${missing.join(", ")}` }];
}

function tableOf(toml: string): TomlValue {
  try {
    return parse(toml);
  } catch {
    return {};
  }
}

/** Dotted keys whose planned value the actual one does not have. */
function missingIn(actual: TomlValue | undefined, planned: TomlValue, at: string): string[] {
  if (isTable(planned)) {
    return Object.entries(planned).flatMap(([key, value]) =>
      missingIn(isTable(actual) ? actual[key] : undefined, value, at === "" ? key : `${at}.${key}`),
    );
  }
  const has = Array.isArray(planned)
    ? Array.isArray(actual) && planned.every((item) => actual.includes(item))
    : actual === planned;
  return has ? [] : [at];
}

const isTable = (value: TomlValue | undefined): value is Record<string, TomlValue> =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof Date);
