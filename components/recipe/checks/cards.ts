import { findCard, flavoursOf, isTooOld, knownModels, type PowerRange, powerRangeOf } from "../facts/card";
import type { Card } from "../facts/data/cards";
import type { UserPatch } from "../machine/user-patches";
import { asText, valueAt } from "../mapping";
import { closestOnes } from "../rules/suggest";
import { type CheckedMachine, type Checks, type Complaint, type Found, ofGpuMachines, ofMachines } from "./check";

/** Cards of machines, and their power. */
export const cardChecks: Checks = {
  /** A stack has a machine with a GPU. Source: the GPU Operator and the device plugin do nothing without a GPU node, and report success. */
  "gpu-machine": ({ gpuMachines }) =>
    gpuMachines.length > 0
      ? []
      : {
          field: "machines",
          problem: "no machine has a GPU",
          why: "everything would be installed, nothing would ever offer a GPU, and no gate could be passed",
          remedy: "name the cards of at least one machine, e.g. `gpus: [{ model: RTX 4090 }]`",
        },
  /**
   * A card is one that is known, or that the stack describes. Source: recipe/facts/data/cards.json and pci-cards.json (the PCI ID project's
   * list of NVIDIA's cards); NVIDIA, legacy GPUs (470); NVIDIA vGPU user guide; siderolabs/extensions, nvidia-gpu.
   */
  "gpu-model": ofMachines((machine) =>
    machine.uses.flatMap((use, index): Found => {
      const said = machine.spec.gpus?.[index]?.architecture;
      const other = use.card === undefined || use.card.described ? unlike(use.model) : undefined;
      if (other !== undefined) return { field: `${use.field}.model`, ...other };
      if (!use.card) return [unknown(use.field, use.model)];
      if (said === undefined || said === use.card.architecture) return [];
      return {
        field: `${use.field}.architecture`,
        problem: `is ${said}, but the ${use.card.model} is of ${use.card.architecture}`,
        why: "the stack chooses kernel modules and driver by the architecture; those for another architecture do not find the card",
        remedy: "leave architecture out: it describes cards that are in no table",
      };
    }),
  ),
  /**
   * One driver runs all cards of a machine. Source: NVIDIA driver 580 README, "Open Linux Kernel Modules": one driver and one flavour per
   * machine.
   */
  "mixed-cards": ofGpuMachines((machine) => {
    const pairs = machine.cards.flatMap((card, index) =>
      machine.cards.slice(index + 1).map((other) => ({ card, other })),
    );
    const pair = pairs.find(
      ({ card, other }) => !flavoursOf(card).some((flavour) => flavoursOf(other).includes(flavour)),
    );
    if (!pair) return [];
    return {
      field: ".gpus",
      problem: `no driver runs ${pair.card.model} and ${pair.other.model} together`,
      why: "one needs the proprietary kernel modules and the other the open ones, and a machine loads one of them",
      remedy: "put the cards into different machines",
    };
  }),
  /**
   * A card is a pod's or a virtual machine's. Source: linux v6.18, drivers/vfio/pci/vfio_pci.c (`ids`: vendor:device, of every device
   * that has them); talos v1.13.9, PCIDriverRebindConfig (one device, by its address).
   */
  "card-passed-on": ofGpuMachines((machine, { clusterPatches }) =>
    passedOnBy(machine, clusterPatches).flatMap(({ field, text }) => {
      const ids = (passedOn.exec(text)?.[1] ?? "").split(/[",]/).filter((id) => /^10de:/i.test(id));
      return ids.flatMap((id) => {
        const model = findCard(id.split(":", 2).join(":"))?.model;
        const use = machine.uses.find((one) => one.card !== undefined && one.card.model === model);
        return use === undefined
          ? []
          : {
              field,
              problem: `gives the ${use.card!.model} (${id}) of ${machine.name} to virtual machines`,
              why: "a card has one driver: NVIDIA's would not find it, and the update would wait for it",
              remedy: `leave the card out of ${machine.field}.gpus, or its ID out here; of two alike, bind one by its address (PCIDriverRebindConfig)`,
            };
      });
    }),
  ),
  /**
   * A power limit is one that the card takes. Source: nvidia-smi, power.min_limit and power.max_limit; NVIDIA data sheets (board power).
   */
  "power-limit": ofMachines((machine) => {
    const watts = machine.spec.powerLimit;
    if (watts === undefined) return [];
    const field = ".powerLimit";
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

/** A parameter of the driver that virtual machines get devices by: IDs of all that it is to take. */
const passedOn = /^"?(?:vfio[-_]pci|pci[-_]stub)\.ids=(.*)$/;

/** Texts that say which cards virtual machines get, with where they stand. */
function passedOnBy({ spec, patches }: CheckedMachine, clusterPatches: UserPatch[]): { field: string; text: string }[] {
  const ofPatches = [...clusterPatches, ...patches].flatMap(({ field, config, modules }) => {
    const args = valueAt(config, "machine", "install", "extraKernelArgs");
    const said = modules.flatMap(({ name, parameters }) => parameters.map((one) => `${name}.${one}`));
    return [...said, ...(Array.isArray(args) ? args.map(asText) : [])].map((text) => ({ field, text }));
  });
  return [...(spec.kernelArgs ?? []).map((text, index) => ({ field: `.kernelArgs[${index}]`, text })), ...ofPatches];
}

/** What is no card of this package's, whatever a stack says of it: by its name. */
function unlike(model: string): Omit<Complaint, "field"> | undefined {
  const name = model.replace(/^NVIDIA /i, "").trim();
  if (isTooOld(model))
    return {
      problem: `"${model}" is too old`,
      why: "the last driver for Kepler is of branch 470, and every release of Talos that is known here brings a newer one, which does not find the card",
      remedy: "leave this machine's gpus out, or put a card of Maxwell or newer into it",
    };
  // A profile's name ends in its memory and its kind (NVIDIA vGPU user guide, virtual GPU types).
  if (/-\d+[QABC](?:ME|NG)?$/i.test(name) || /^GRID /i.test(name))
    return {
      problem: `"${model}" is a virtual GPU, not a card`,
      why: "its guest needs NVIDIA's licensed vGPU driver, which is in no extension of Talos: the modules that there are find no card",
      remedy: "pass the whole card through to the machine as a PCI device, and write the card's model here",
    };
  if (/\b(jetson|tegra|xavier|orin|thor)\b/i.test(name))
    return {
      problem: `"${model}" is a GPU inside a system on a chip`,
      why: "Talos' NVIDIA extensions hold the driver of PCI cards, which does not know the GPU of a Jetson",
      remedy: "leave this machine's gpus out: this package does not provision it",
    };
  return undefined;
}

function unknown(field: string, model: string): Complaint {
  const name = model.replace(/^NVIDIA |\b(GeForce|Quadro|Tesla) /gi, "").trim();
  if (/^PG\d{3}(-\d{3})?$/i.test(name))
    return {
      field: `${field}.model`,
      problem: `"${model}" is the code of a board, not of a card that is known here`,
      why: "kernel modules, driver and resources follow from the card's architecture",
      remedy:
        "write the PCI ID as `lspci -nn` prints it, e.g. `10de:1df0`, or the name of the card that is on the board",
    };
  const numbered = knownModels().filter((known) => /^\d{3,4}$/.test(name) && known.split(" ")[1] === name);
  const near = numbered.length > 0 ? numbered.slice(0, 3) : closestOnes(name, knownModels());
  const meant = near.length === 0 ? "" : `did you mean ${near.map((name) => `"${name}"`).join(" or ")}? `;
  return {
    field: `${field}.model`,
    problem: `"${model}" is not a card that is known here`,
    why: "kernel modules, driver and resources follow from the card's architecture",
    remedy: `${meant}write what \`nvidia-smi -L\` prints, or its PCI ID (10de:…), or a newer card's architecture and memory`,
  };
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
