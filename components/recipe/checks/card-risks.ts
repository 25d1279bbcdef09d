import {
  type Card,
  findCard,
  memoryBounds,
  powerRangeOf,
  saidMemory,
  sizesInWords,
} from "../facts/card";
import { defined } from "../mapping";
import { gpuRequests } from "../stack/workloads";
import { type CheckedMachine, type Checks, type Found, ofMachines } from "./check";

/** Cards, as far as the tables or this package's own trials leave something open. */
export const cardRisks = {
  "card-described": {
    severity: "note",
    rule: "The tables list the card",
    source: "components/recipe/facts/data/cards.json",
    ofFiles: false,
    find: ofMachines(({ uses }) =>
      uses.map(
        ({ field, card }) =>
          card?.described === true && {
            field,
            problem: `"${card.model}" is in no table of cards`,
            why: `the package trusts the stack's description (${card.architecture}), and checks neither MIG nor power limits of the card`,
            remedy: "compare what the stack says of it with `nvidia-smi -q`",
          },
      ),
    ),
  },
  "card-alike": {
    severity: "note",
    rule: "All cards of a machine are of one model",
    source: "k8s-device-plugin, README: a node has one resource for all of its cards",
    ofFiles: false,
    find: ofMachines(
      ({ name, cards }) =>
        cards.length > 1 && {
          field: ".gpus",
          problem: `a pod that requests a GPU of ${name} gets any of its cards (${cardNames(cards).join(", ")})`,
          why: "Kubernetes does not tell the cards of a node apart",
          remedy: "nothing needs to be done, unless a pod needs a certain card: then use dra",
        },
    ),
  },
  "card-passed-on": {
    severity: "warning",
    rule: "A card is either for pods or bound to vfio-pci for virtual machines",
    source:
      "linux v6.18, drivers/vfio/pci/vfio_pci.c: vfio-pci takes every card of the IDs that it is given, and others only by their address",
    ofFiles: true,
    find: ofMachines(passedOn),
  },
  "card-memory": {
    severity: "warning",
    rule: "A card that exists with several sizes of memory meets a claim with each of them",
    source: "NVIDIA's data sheets; dra-driver-nvidia-gpu, capacity of a device",
    ofFiles: false,
    find: ({ spec, machines }) =>
      spec.dra !== undefined &&
      gpuRequests(spec).map(({ field, claim }) => {
        const { memory } = claim ?? {};
        const wantedMiB = saidMemory({ ...defined({ memory }) });
        if (memory === undefined || wantedMiB === undefined) return undefined;
        return machines.map(({ uses }) =>
          uses.map(({ field: ofCard, card }) => {
            const bounds = card && memoryBounds(card);
            return (
              bounds !== undefined &&
              bounds.least < wantedMiB &&
              wantedMiB <= bounds.greatest && {
                field: `${ofCard}.memory`,
                problem: `the ${card!.model} exists with ${sizesInWords(card!.memoriesMiB ?? [])}, and the ${memory} of ${field}.claim.memory do not fit each of them`,
                why: "on a card with less memory no such pod starts",
                remedy: "say which one it is (nvidia-smi shows it)",
              }
            );
          }),
        );
      }),
  },
  "power-limit-range": {
    severity: "note",
    rule: "The tables list the range of power limits of the card",
    source: "components/recipe/facts/data/cards.json; `nvidia-smi -q -d POWER` of each card",
    ofFiles: false,
    find: ofMachines(power),
  },
  "gb10-modules": {
    severity: "warning",
    rule: "The kernel modules were tried on a GB10",
    source:
      "components/recipe/facts/data/cards.json: siderolabs/docs, and what others report of driver 580.173.02",
    ofFiles: false,
    find: ofMachines(
      ({ cards, flavour, field }) =>
        cards.some(({ family }) => family === "spark") && {
          field: ".gpus",
          problem: `the ${flavour} modules were not tried by us on a GB10`,
          why: "Talos' documentation names the proprietary modules, and elsewhere those of driver 580.173.02 ended with Xid 169",
          remedy: `if the card does not come up (talosctl dmesg), set ${field}.driver.flavour: ${flavour === "open" ? "proprietary" : "open"}`,
        },
    ),
  },
} satisfies Checks;

/** Names of cards; where two have the same one, with their memory. */
function cardNames(cards: readonly Card[]): string[] {
  const isShared = ({ model }: Card): boolean =>
    cards.filter((card) => card.model === model).length > 1;
  return cards.map((card) =>
    isShared(card)
      ? `${card.model} with ${card.memoryMiB === undefined ? "unknown memory" : `${card.memoryMiB}Mi`}`
      : card.model,
  );
}

function passedOn({
  name,
  uses,
  spec: { kernelArgs = [], patches = [] },
}: Pick<CheckedMachine, "name" | "uses" | "spec">): Found {
  const text = [...kernelArgs, ...patches]
    .filter((each) => /vfio[-_]pci|pci[-_]stub/.test(each))
    .join("\n");
  const taken = new Map(
    [...text.matchAll(/\b10de:[0-9a-f]{4}\b/gi)].map(([id]) => [findCard(id)?.model, id]),
  );
  return uses.map(({ field, card }) => {
    const id = card && taken.get(card.model);
    return (
      id !== undefined && {
        field,
        problem: `virtual machines get every ${card!.model} of ${name}, by the ID ${id} that vfio-pci is given`,
        why: "NVIDIA's driver never sees the card, and pods that request it stay Pending",
        remedy:
          "leave it out of gpus, or bind one of two alike by its address (PCIDriverRebindConfig)",
      }
    );
  });
}

/** Power limits that no table can check: only the machine shows the card's own range. */
function power({
  spec: { powerLimit: watts },
  cards,
}: Pick<CheckedMachine, "spec" | "cards">): Found {
  if (watts === undefined) return [];
  return cards.map((card) => {
    const range = powerRangeOf(card);
    const refused =
      range && ((range.knownMax && watts > range.max) || (range.knownMin && watts < range.min));
    const own = card.power?.default ?? 0;
    const seen = watts >= (card.power?.seenFrom ?? own) && watts <= own;
    const known = range && ((range.knownMin && range.knownMax) || seen);
    return (
      !(refused || known || card.family === "spark") && {
        field: ".powerLimit",
        problem: `it is unknown whether the ${card.model} takes ${watts} W`,
        why: "if it does not, nvidia-smi refuses the limit, and the card runs with its own",
        remedy: "look at the card's range (`nvidia-smi -q -d POWER`)",
      }
    );
  });
}
