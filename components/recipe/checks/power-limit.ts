import { powerRangeOf, type PowerRange } from "../facts/card";
import type { Card } from "../facts/data/cards";
import type { Check, Found } from "./check";

/** A power limit is one that the card takes. */
export const powerLimit: Check = {
  id: "power-limit",
  source: "nvidia-smi, power.min_limit and power.max_limit; NVIDIA data sheets (board power)",
  find: ({ machines }) =>
    machines.flatMap((machine) => {
      const watts = machine.spec.powerLimit;
      if (watts === undefined) return [];
      const field = `${machine.field}.powerLimit`;
      if (machine.gpuCount === 0)
        return {
          field,
          problem: "on a machine without a GPU",
          why: "there is nothing to limit",
          remedy: "leave it out, or name the machine's cards under gpus",
        };
      return machine.cards.flatMap((card) => complaintOf(watts, card, field)).slice(0, 1);
    }),
};

/**
 * Where a bound is no known fact. GeForce boards have theirs from their makers: reports name 150 W as the least of one RTX 5060 Ti,
 * and no list of NVIDIA's has them, so 50 W on an RTX 5070 Ti is taken, and nvidia-smi's refusal is the power limit pod's own message.
 * No board takes more than this many times its reference design's power, nor less than this part of it. */
const most = 3;
const least = 1 / 100;

function complaintOf(watts: number, card: Card, field: string): Found {
  const range = powerRangeOf(card);
  if (!range) {
    // Of a card that only the list of PCI IDs knows, the power is not known; those of the Spark have no limit.
    if (card.family !== "spark") return [];
    return {
      field,
      problem: `the ${card.model} has no power limit of its own`,
      why: "nvidia-smi refuses it",
      remedy: "leave it out",
    };
  }
  const own = card.power?.default ?? 0;
  const tooLow = watts < (range.knownMin ? range.min : own * least);
  const tooHigh = watts > (range.knownMax ? range.max : own * most);
  if (!tooLow && !tooHigh) return [];
  return {
    field,
    problem: `${watts} W is outside of what the ${card.model} takes (${takes(range)})`,
    why: "nvidia-smi refuses it, and the card runs with its own limit",
    remedy: `write a value within; ${own} W is its own`,
  };
}

function takes({ min, max, knownMin, knownMax }: PowerRange): string {
  if (knownMin && knownMax) return `${min} to ${max} W`;
  return knownMax ? `at most ${max} W` : `about ${min} to ${max} W; boards differ`;
}
