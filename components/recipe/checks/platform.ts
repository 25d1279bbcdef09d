import type { Check } from "./check";
import { platforms } from "../facts/data/platforms";
import { didYouMean } from "../rules/suggest";

/** A platform is one of the Image Factory. */
export const platform: Check = {
  id: "platform",
  source: "talos, pkg/machinery/platforms; image-factory, docs/api.md",
  find: ({ machines }) =>
    machines.flatMap((machine) => {
      const name = machine.spec.platform;
      if (name === undefined || platforms.includes(name)) return [];
      return {
        field: `${machine.field}.platform`,
        problem: `"${name}" is not a platform of the Image Factory`,
        why: "there is no installer image of that name, and one of another platform would not find the machine's network and metadata",
        remedy: `${didYouMean(name, platforms)}one of ${platforms.join(", ")}`,
      };
    }),
};
