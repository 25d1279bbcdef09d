import {
  type Card,
  findCard,
  memoryBounds,
  powerRangeOf,
  statedMemory,
  sizesInWords,
} from "../facts/card";
import { defined } from "../mapping";
import { gpuRequests } from "../stack/workloads";
import { type CheckedMachine, type Checks, type Found, findPerMachine } from "./check";

/**
 * Warnings and notes about cards: facts that the tables lack, cards with which this package is untested, different cards
 * in one machine, and cards that another driver uses.
 */
export const cardRisks = {
  "card-described": {
    severity: "note",
    rule: "The package's tables list each card",
    source: "components/recipe/facts/data/cards.json",
    ofFiles: false,
    find: findPerMachine(({ uses }) =>
      uses.map(({ field, card }) =>
        card?.described === true
          ? {
              field,
              problem: `"${card.model}" is in no table of cards`,
              why: `the package trusts the stack's description (${card.architecture}), and checks neither MIG nor power limits of the card`,
              remedy:
                "compare the stack's description with the output of `nvidia-smi -q` in a pod on the machine",
            }
          : undefined,
      ),
    ),
  },
  "card-alike": {
    severity: "note",
    rule: "All cards of a machine have the same model and the same size of memory",
    source: "k8s-device-plugin, README: a node has one resource for all of its cards",
    ofFiles: false,
    find: findPerMachine(({ name, cards }) =>
      cards.length > 1
        ? {
            field: ".gpus",
            problem: `a pod that requests a GPU on ${name} may get any card of the machine (${cardNames(cards).join(", ")})`,
            why: "Kubernetes does not distinguish the cards of a node",
            remedy: "if a pod needs a certain card, use `dra`. Otherwise nothing needs to be done",
          }
        : undefined,
    ),
  },
  "card-passed-on": {
    severity: "warning",
    rule: "No kernel argument or patch binds a card under `gpus` to vfio-pci or pci-stub by the card's ID",
    source:
      "linux v6.18, drivers/vfio/pci/vfio_pci.c: vfio-pci binds every card that has a listed ID; a single card can be bound only by address",
    ofFiles: true,
    find: findPerMachine(vfioFindings),
  },
  "card-memory": {
    severity: "warning",
    rule: "If a card's model exists with several sizes of memory, and only some of these sizes meet a claim, the stack sets the card's memory",
    source: "NVIDIA's data sheets; dra-driver-nvidia-gpu, capacity of a device",
    ofFiles: false,
    find: ({ spec, machines }) =>
      spec.dra !== undefined &&
      gpuRequests(spec).map(({ field, claim }) => {
        const { memory } = claim ?? {};
        const requestedMiB = statedMemory({ ...defined({ memory }) });
        if (memory === undefined || requestedMiB === undefined) return undefined;
        return machines.map(({ uses }) =>
          uses.map(({ field: ofCard, card }) => {
            const bounds = card && memoryBounds(card);
            return bounds !== undefined &&
              bounds.least < requestedMiB &&
              requestedMiB <= bounds.greatest
              ? {
                  field: `${ofCard}.memory`,
                  problem: `the ${card!.model} exists with ${sizesInWords(card!.memoriesMiB ?? [])}, and some of these sizes do not meet ${field}.claim.memory (${memory})`,
                  why: "a pod with this claim does not start on a card with less memory",
                  remedy: "set this field to the card's memory (nvidia-smi shows it)",
                }
              : undefined;
          }),
        );
      }),
  },
  "power-limit-range": {
    severity: "note",
    rule: "The package's tables show whether each card accepts the machine's power limit",
    source: "components/recipe/facts/data/cards.json; `nvidia-smi -q -d POWER` of each card",
    ofFiles: false,
    find: findPerMachine(powerLimitFinding),
  },
  "gb10-modules": {
    severity: "warning",
    rule: "No machine has a GB10, a card on which this package is untested",
    source:
      "components/recipe/facts/data/cards.json: siderolabs/docs, and users' reports about driver 580.173.02",
    ofFiles: false,
    find: findPerMachine(({ cards, flavour, field }) =>
      cards.some(({ family }) => family === "spark")
        ? {
            field: ".gpus",
            problem: `this package is untested with the ${flavour} modules on a GB10`,
            why: "Talos' documentation recommends the proprietary modules for this card, but users report Xid 169 with the proprietary modules of driver 580.173.02",
            remedy: `if the card does not come up (talosctl dmesg), set ${field}.driver.flavour: ${flavour === "open" ? "proprietary" : "open"}`,
          }
        : undefined,
    ),
  },
} satisfies Checks;

/** Names of cards, each with its memory if another card has the same name. */
function cardNames(cards: readonly Card[]): string[] {
  const isShared = ({ model }: Card): boolean =>
    cards.filter((card) => card.model === model).length > 1;
  return cards.map((card) =>
    isShared(card)
      ? `${card.model} with ${card.memoryMiB === undefined ? "unknown memory" : `${card.memoryMiB}Mi`}`
      : card.model,
  );
}

function vfioFindings({
  name,
  uses,
  spec: { kernelArgs = [], patches = [] },
}: Pick<CheckedMachine, "name" | "uses" | "spec">): Found {
  const text = [...kernelArgs, ...patches]
    .filter((argOrPatch) => /vfio[-_]pci|pci[-_]stub/.test(argOrPatch))
    .join("\n");
  const passedIds = new Map(
    [...text.matchAll(/\b10de:[0-9a-f]{4}\b/gi)].map(([id]) => [findCard(id)?.model, id]),
  );
  return uses.map(({ field, card }) => {
    const id = card && passedIds.get(card.model);
    return id !== undefined
      ? {
          field,
          problem: `a kernel argument or a patch binds every ${card!.model} of ${name} to vfio-pci or pci-stub, by the ID ${id}`,
          why: "NVIDIA's driver never sees the card, and pods that request it stay Pending",
          remedy:
            "remove the card from `gpus`, or bind only the cards for virtual machines, by their addresses (PCIDriverRebindConfig)",
          ofFiles: {
            remedy:
              "remove this ID, or bind only the cards for virtual machines, by their addresses (PCIDriverRebindConfig)",
          },
        }
      : undefined;
  });
}

/**
 * Notes about power limits that a card may refuse, because the tables lack the range of limits that the card accepts.
 */
function powerLimitFinding({
  spec: { powerLimit: watts },
  cards,
}: Pick<CheckedMachine, "spec" | "cards">): Found {
  if (watts === undefined) return [];
  return cards.map((card) => {
    const range = powerRangeOf(card);
    const refused =
      range && ((range.knownMax && watts > range.max) || (range.knownMin && watts < range.min));
    const defaultWatts = card.power?.default ?? 0;
    const isWithinSeen = watts >= (card.power?.seenFrom ?? defaultWatts) && watts <= defaultWatts;
    const isKnown = range && ((range.knownMin && range.knownMax) || isWithinSeen);
    return !(refused || isKnown || card.family === "spark")
      ? {
          field: ".powerLimit",
          problem: `it is unknown whether the ${card.model} accepts ${watts} W`,
          why: "if it does not, nvidia-smi refuses the limit, and the card keeps its default limit",
          remedy: "look at the card's range (`nvidia-smi -q -d POWER`)",
        }
      : undefined;
  });
}
