import { nvidiaExtension } from "../../recipe/facts/extension";
import type { Observations } from "../observations";
import type { Evidence } from "../evidence";
import type { Rule } from "./rule";
import type { System } from "./system";

/** Without a driver nothing above it works; the pods then wait like those without markers. */
export const kernelModules: Rule = {
  fix: "kernelModules",
  sign: driverNotLoaded,
  causes: [
    "validationMarkers",
    "operatorValidatorLabel",
    "bpfJitHarden",
    "gpuPresentLabel",
    "tolerations",
    "taintThroughApi",
    "driverBranches",
    "cudaImage",
  ],
};

function driverNotLoaded(seen: Observations, system: System): Evidence[] {
  const expected = new Map(system.gpuMachines.map((machine) => [machine.name, machine.schematicId]));
  // A machine that runs another image has no driver for another reason: it was not upgraded, or rolled back.
  const runsOurs = (name: string, schematic: string | undefined): boolean => {
    const wanted = expected.get(name);
    return expected.has(name) && (schematic === undefined || wanted === undefined || schematic === wanted);
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
  extensions === undefined || extensions.some((name) => nvidiaExtension(`siderolabs/${name}`)?.kind === "modules");
