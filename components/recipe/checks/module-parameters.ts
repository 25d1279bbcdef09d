import type { Check, Found } from "./check";
import { didYouMean } from "../rules/suggest";

/** Parameters are those of modules that this package declares. */
export const moduleParameters: Check = {
  id: "module-parameters",
  source:
    "talos v1.13.9, machine.kernel.modules[].parameters; pkg/machinery/config/types/v1alpha1: of two items with a name the last one's parameters win",
  find: ({ machines, clusterPatches }) =>
    machines.flatMap((machine) =>
      Object.entries(machine.spec.moduleParameters ?? {}).flatMap(([module, parameters]): Found => {
        const field = `${machine.field}.moduleParameters.${module}`;
        const ours = machine.recipe.kernelModules.map(({ name }) => name);
        if (!ours.includes(module)) {
          const known = ours.length === 0 ? "this machine has no GPU" : `it loads ${ours.join(", ")}`;
          return {
            field,
            problem: `${module} is not a module that this package loads (${known})`,
            why: "the parameters would be of no module",
            remedy: `${didYouMean(module, ours)}write another module with its parameters under machine.kernel.modules in a patch`,
          };
        }
        const rival = [...clusterPatches, ...machine.patches].find(({ modules }) => modules.includes(module));
        if (rival !== undefined)
          return {
            field,
            problem: `${rival.field} declares ${module}, too`,
            why: "a module is declared once, with one list of parameters, and the patch's would stay",
            remedy: "write the parameters in the patch, or take the module out of it",
          };
        const odd = parameters.find((text) => !/^[\w-]+(?:=(?:"[^"]*"|[^\s"])*)?$/.test(text));
        return odd === undefined
          ? []
          : {
              field,
              problem: `"${odd}" is not one parameter`,
              why: "the kernel takes parameters apart at blanks, and refuses the module for one that it does not know",
              remedy: "write one per entry, as `name=value`; a value with blanks in double quotes",
            };
      }),
    ),
};
