import { flavoursOf } from "../facts/card";
import type { Check } from "./check";

/** One driver runs all cards of a machine. */
export const mixedCards: Check = {
  id: "mixed-cards",
  source: 'NVIDIA driver 580 README, "Open Linux Kernel Modules": one driver and one flavour per machine',
  find: ({ gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const pairs = machine.cards.flatMap((card, index) =>
        machine.cards.slice(index + 1).map((other) => ({ card, other })),
      );
      const pair = pairs.find(
        ({ card, other }) => !flavoursOf(card).some((flavour) => flavoursOf(other).includes(flavour)),
      );
      if (!pair) return [];
      return {
        field: `${machine.field}.gpus`,
        problem: `no driver runs ${pair.card.model} and ${pair.other.model} together`,
        why: "one needs the proprietary kernel modules and the other the open ones, and a machine loads one of them",
        remedy: "put the cards into different machines",
      };
    }),
};
