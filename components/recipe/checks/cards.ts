import {
  type Card,
  findCard,
  flavoursOf,
  isTooOld,
  knownModels,
  meantSize,
  memorySizes,
  type PowerRange,
  powerRangeOf,
  saidMemory,
  sizesInWords,
} from "../facts/card";
import type { Problem } from "../rules";
import { closestOnes } from "../rules/suggest";
import { type Checks, complaint, fault, type Found, ofGpuMachines, ofMachines } from "./check";

/** Cards of machines, and their power. */
export const cardChecks: Checks = {
  "gpu-machine": ({ gpuMachines }) => (gpuMachines.length > 0 ? [] : complaint("machines", "gpu-machine")),
  "gpu-model": ofMachines((machine) =>
    machine.uses.flatMap((use, index): Found => {
      const said = machine.spec.gpus?.[index]?.architecture;
      const other = use.card === undefined || use.card.described ? unlike(use.model) : undefined;
      if (other !== undefined) return { field: `${use.field}.model`, ...other };
      if (!use.card) return [unknown(use.field, use.model)];
      if (said === undefined || said === use.card.architecture) return [];
      return complaint(`${use.field}.architecture`, "gpu-model/architecture", { said, ...use });
    }),
  ),
  "gpu-memory": ofMachines((machine) =>
    machine.uses.map(({ field }, index): Found => {
      const gpu = machine.spec.gpus?.[index];
      const saidMiB = gpu && saidMemory(gpu);
      const card = gpu && findCard(gpu.model);
      if (saidMiB === undefined || card === undefined) return undefined;
      const sizes = memorySizes(card);
      if (sizes.length === 0 || meantSize(card, saidMiB) !== undefined) return undefined;
      return complaint(`${field}.memory`, "gpu-memory", { said: gpu!.memory, card, sizes: sizesInWords(sizes) });
    }),
  ),
  "mixed-cards": ofGpuMachines((machine) => {
    const pairs = machine.cards.flatMap((card, index) =>
      machine.cards.slice(index + 1).map((other) => ({ card, other })),
    );
    const pair = pairs.find(
      ({ card, other }) => !flavoursOf(card).some((flavour) => flavoursOf(other).includes(flavour)),
    );
    return pair && complaint(".gpus", "mixed-cards", pair);
  }),
  "power-limit": ofMachines((machine) => {
    const watts = machine.spec.powerLimit;
    if (watts === undefined) return [];
    const field = ".powerLimit";
    if (machine.gpuCount === 0) return complaint(field, "power-limit/no-gpu");
    return machine.cards.flatMap((card) => complaintOf(watts, card, field)).slice(0, 1);
  }),
};

/** What is no card of this package's, whatever a stack says of it: by its name. */
function unlike(model: string): Omit<Problem, "field"> | undefined {
  const name = model.replace(/^NVIDIA /i, "").trim();
  if (isTooOld(model)) return fault("gpu-model/too-old", { model });
  // A profile's name ends in its memory and its kind (NVIDIA vGPU user guide, virtual GPU types).
  if (/-\d+[QABC](?:ME|NG)?$/i.test(name) || /^GRID /i.test(name)) return fault("gpu-model/virtual", { model });
  if (/\b(jetson|tegra|xavier|orin|thor)\b/i.test(name)) return fault("gpu-model/on-chip", { model });
  return undefined;
}

function unknown(field: string, model: string): Problem {
  const name = model.replace(/^NVIDIA |\b(GeForce|Quadro|Tesla) /gi, "").trim();
  if (/^PG\d{3}(-\d{3})?$/i.test(name)) return complaint(`${field}.model`, "gpu-model/board", { model });
  const numbered = knownModels().filter((known) => /^\d{3,4}$/.test(name) && known.split(" ")[1] === name);
  const near = numbered.length > 0 ? numbered.slice(0, 3) : closestOnes(name, knownModels());
  const meant = near.length === 0 ? "" : `did you mean ${near.map((name) => `"${name}"`).join(" or ")}? `;
  return complaint(`${field}.model`, "gpu-model/unknown", { model, meant });
}

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
    return complaint(field, "power-limit/none", { card });
  }
  const own = card.power?.default ?? 0;
  const tooLow = watts < (range.knownMin ? range.min : own * least);
  const tooHigh = watts > (range.knownMax ? range.max : own * most);
  if (!tooLow && !tooHigh) return [];
  return complaint(field, "power-limit/outside", { watts, card, range: takes(range), own });
}

function takes({ min, max, knownMin, knownMax }: PowerRange): string {
  if (knownMin && knownMax) return `${min} to ${max} W`;
  return knownMax ? `at most ${max} W` : `about ${min} to ${max} W; boards differ`;
}
