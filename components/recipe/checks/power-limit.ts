import { powerRangeOf } from "../facts/card";
import type { Check } from "./check";

export const powerLimit: Check = {
  id: "power-limit",
  source: "nvidia-smi, power.min_limit and power.max_limit; NVIDIA data sheets (board power)",
  find: ({ machines }) =>
    machines.flatMap((machine) => {
      const watts = machine.spec.powerLimit;
      if (watts === undefined) return [];
      const field = `${machine.field}.powerLimit`;
      if (machine.gpuCount === 0) {
        return [
          {
            field,
            problem: "on a machine without a GPU",
            why: "there is nothing to limit",
            remedy: "leave it out, or name the machine's cards under gpus",
          },
        ];
      }
      for (const card of machine.cards) {
        const range = powerRangeOf(card);
        if (!range) {
          return [
            {
              field,
              problem: `the ${card.model} has no power limit of its own`,
              why: "nvidia-smi refuses it",
              remedy: "leave it out",
            },
          ];
        }
        if (watts < range.min || watts > range.max) {
          return [
            {
              field,
              problem: `${watts} W is outside of what the ${card.model} takes (${range.exact ? "" : "at most "}${range.min} to ${range.max} W)`,
              why: "nvidia-smi refuses it, and the card runs unlimited",
              remedy: `write a value in between; ${card.power?.default} W is its own`,
            },
          ];
        }
      }
      return [];
    }),
};
