import { knownModels } from "../facts/card";
import type { Check } from "./check";
import { didYouMean } from "../stack/suggest";

export const gpuModel: Check = {
  id: "gpu-model",
  source: "recipe/facts/data/cards.ts",
  find: ({ machines }) =>
    machines.flatMap((machine) =>
      machine.uses
        .filter((use) => !use.card)
        .map((use) => ({
          field: `${use.field}.model`,
          problem: `"${use.model}" is not a card that is known here`,
          why: "kernel modules, driver and resources follow from the card's architecture",
          remedy: `${didYouMean(use.model, knownModels())}write the model as \`nvidia-smi -L\` prints it, without vendor and family, or add it to recipe/facts/data/cards.ts`,
        })),
    ),
};
