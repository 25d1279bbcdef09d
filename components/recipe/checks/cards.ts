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
  statedMemory,
  sizesInWords,
} from "../facts/card";
import { remembering } from "../memory";
import type { FindingText, FieldFinding } from "../rules";
import { closestOnes } from "../rules/suggest";
import { type Checks, type Found, findPerGpuMachine, findPerMachine } from "./check";

/** Checks of the machines' cards and of their power limits. */
export const cardChecks = {
  "gpu-machine": {
    rule: "At least one machine of a stack has a GPU",
    source:
      "the GPU Operator and the device plugin do nothing without a GPU node, and report success",
    ofFiles: false,
    find: ({ gpuMachines }) =>
      gpuMachines.length > 0
        ? []
        : {
            field: "machines",
            problem: "no machine has a GPU",
            why: "the update would install everything, but no node would offer a GPU and no smoke test could pass",
            remedy: "name the cards of at least one machine, e.g. `gpus: [{ model: RTX 4090 }]`",
          },
  },
  "gpu-model": {
    rule: "This package supports each card, the tables or the stack describe the card, and `architecture` does not contradict the tables",
    source:
      "recipe/facts/data/cards.json and pci-cards.json (the PCI ID project's list of NVIDIA's cards); NVIDIA, legacy GPUs (470); NVIDIA vGPU user guide; siderolabs/extensions, nvidia-gpu",
    ofFiles: false,
    find: findPerMachine((machine) =>
      machine.uses.flatMap((use, index): Found => {
        const statedArchitecture = machine.spec.gpus?.[index]?.architecture;
        const unsupported =
          use.card === undefined || use.card.described ? unsupportedCard(use.model) : undefined;
        if (unsupported !== undefined) return { field: `${use.field}.model`, ...unsupported };
        if (!use.card) return [unknownCard(use.field, use.model)];
        if (statedArchitecture === undefined || statedArchitecture === use.card.architecture)
          return [];
        return {
          field: `${use.field}.architecture`,
          problem: `is ${statedArchitecture}, but the architecture of the ${use.card.model} is ${use.card.architecture}`,
          why: "the stack chooses kernel modules and driver by the architecture, and a driver for the wrong architecture does not find the card",
          remedy: "leave `architecture` out: it is only for cards that no table lists",
        };
      }),
    ),
  },
  "gpu-memory": {
    rule: "A card's field `memory` is a size with which the card's model exists",
    source:
      "recipe/facts/data/cards.json (memoryMiB, memoriesMiB, rebuiltMiB), and the names of pci-cards.json",
    ofFiles: false,
    find: findPerMachine((machine) =>
      machine.uses.map(({ field }, index): Found => {
        const gpu = machine.spec.gpus?.[index];
        const statedMiB = gpu && statedMemory(gpu);
        const card = gpu && findCard(gpu.model);
        if (gpu?.memory === undefined || statedMiB === undefined || card === undefined)
          return undefined;
        const sizes = memorySizes(card);
        if (sizes.length === 0 || meantSize(card, statedMiB) !== undefined) return undefined;
        return {
          field: `${field}.memory`,
          problem: `is ${gpu.memory}, but the ${card.model} exists with ${sizesInWords(sizes)}`,
          why: "the stack checks claims against this size: if the real card has less memory, a pod with a larger claim stays Pending forever",
          remedy: "write one of these sizes, or leave `memory` out",
        };
      }),
    ),
  },
  "mixed-cards": {
    rule: "One flavour of the kernel modules supports all cards of a machine",
    source:
      'NVIDIA driver 580 README, "Open Linux Kernel Modules": one driver and one flavour per machine',
    ofFiles: true,
    find: findPerGpuMachine((machine) => {
      const pairs = machine.cards.flatMap((card, index) =>
        machine.cards.slice(index + 1).map((otherCard) => ({ card, other: otherCard })),
      );
      const pair = pairs.find(
        ({ card, other }) =>
          !flavoursOf(card).some((flavour) => flavoursOf(other).includes(flavour)),
      );
      return pair
        ? {
            field: ".gpus",
            problem: `no driver runs ${pair.card.model} and ${pair.other.model} together`,
            why: "one card needs the proprietary kernel modules and the other needs the open ones, and a machine loads only one flavour",
            remedy: "put the cards into different machines",
          }
        : undefined;
    }),
  },
  "power-limit": {
    rule: "Only a machine with a GPU sets powerLimit, and each card of the machine accepts the limit",
    source: "nvidia-smi, power.min_limit and power.max_limit; NVIDIA data sheets (board power)",
    ofFiles: true,
    find: findPerMachine((machine) => {
      const watts = machine.spec.powerLimit;
      if (watts === undefined) return [];
      const field = ".powerLimit";
      if (machine.gpuCount === 0)
        return {
          field,
          problem: "is set on a machine without a GPU",
          why: "the machine has no card to limit",
          remedy: "leave it out, or name the machine's cards under `gpus`",
        };
      return machine.cards.flatMap((card) => powerLimitFinding(watts, card, field)).slice(0, 1);
    }),
  },
} satisfies Checks;

/** Finding for a card that this package does not support. The function looks only at the card's name. */
function unsupportedCard(model: string): FindingText | undefined {
  const name = model.replace(/^NVIDIA /i, "").trim();
  if (isTooOld(model))
    return {
      problem: `"${model}" is too old`,
      why: "drivers newer than branch 470 do not find cards of the Kepler architecture or an older one, and all drivers of Talos are newer",
      remedy:
        "leave out `gpus` of this machine, or install a card with the Maxwell architecture or a newer one",
    };
  // A profile's name ends in its memory and its kind (NVIDIA vGPU user guide, virtual GPU types).
  if (/-\d+[QABC](?:ME|NG)?$/i.test(name) || /^GRID /i.test(name))
    return {
      problem: `"${model}" is a virtual GPU, not a card`,
      why: "a virtual GPU needs NVIDIA's licensed vGPU driver, which no Talos extension contains",
      remedy:
        "pass the whole card through to the machine as a PCI device, and write the card's model here",
    };
  if (/\b(jetson|tegra|xavier|orin|thor)\b/i.test(name))
    return {
      problem: `"${model}" is a GPU inside a system on a chip`,
      why: "Talos' NVIDIA extensions contain the driver for PCI cards, which does not know this GPU",
      remedy: "remove `gpus` from this machine, because this package supports only PCI cards",
    };
  return undefined;
}

/**
 * Known models whose names resemble the given name. The results are cached, because the machines of a fleet have the
 * same few cards.
 */
const modelsNear = remembering(
  (name: string) => closestOnes(name, knownModels()),
  (name) => name,
);

function unknownCard(field: string, model: string): FieldFinding {
  const name = model.replace(/^NVIDIA |\b(GeForce|Quadro|Tesla) /gi, "").trim();
  if (/^PG\d{3}(-\d{3})?$/i.test(name))
    return {
      field: `${field}.model`,
      problem: `"${model}" is the code of a board, not the name of a card`,
      why: "the stack chooses kernel modules, driver and resources by the card's architecture",
      remedy:
        "write the PCI ID that `lspci -nn` prints, e.g. `10de:1df0`, or the name of the card with this board",
    };
  const numbered = knownModels().filter(
    (knownModel) => /^\d{3,4}$/.test(name) && knownModel.split(" ")[1] === name,
  );
  const nearModels = numbered.length > 0 ? numbered.slice(0, 3) : modelsNear(name);
  const suggestion =
    nearModels.length === 0
      ? ""
      : `did you mean ${nearModels.map((name) => `"${name}"`).join(" or ")}? `;
  return {
    field: `${field}.model`,
    problem: `"${model}" is in no table of cards`,
    why: "the stack chooses kernel modules, driver and resources by the card's architecture",
    remedy: `${suggestion}write the name that \`nvidia-smi -L\` prints, or the PCI ID (10de:…), or describe a newer card by architecture and memory`,
  };
}

/**
 * Bounds of a power limit if the card's range is unknown, as factors of the card's default power. No board accepts more
 * than `mostFactor` times, or less than `leastFactor` times this power. Each board maker chooses the range of power
 * limits for its GeForce boards, and NVIDIA publishes no list of these ranges. Users report 150 W as the minimum of one RTX 5060 Ti. So the check accepts
 * limits that a board may refuse, e.g. 50 W on an RTX 5070 Ti. Then the power limit pod reports nvidia-smi's refusal.
 */
const mostFactor = 3;

const leastFactor = 1 / 100;

function powerLimitFinding(watts: number, card: Card, field: string): Found {
  const range = powerRangeOf(card);
  if (!range) {
    // If only the list of PCI IDs has the card, its power is unknown. The card of a DGX Spark has no power limit.
    if (card.family !== "spark") return [];
    return {
      field,
      problem: `is set, but the ${card.model} has no power limit`,
      why: "nvidia-smi refuses to set one",
      remedy: "leave it out",
    };
  }
  const defaultWatts = card.power?.default ?? 0;
  const tooLow = watts < (range.knownMin ? range.min : defaultWatts * leastFactor);
  const tooHigh = watts > (range.knownMax ? range.max : defaultWatts * mostFactor);
  if (!tooLow && !tooHigh) return [];
  return {
    field,
    problem: `${watts} W is outside the range of the ${card.model} (${rangeText(range)})`,
    why: "nvidia-smi refuses this limit, and the card keeps its default limit",
    remedy: `write a value in that range (${defaultWatts} W is the card's default)`,
  };
}

function rangeText({ min, max, knownMin, knownMax }: PowerRange): string {
  if (knownMin && knownMax) return `${min} to ${max} W`;
  return knownMax ? `at most ${max} W` : `about ${min} to ${max} W, depending on the board`;
}
