import { migOf } from "../facts/card";
import { canSplit } from "../facts/sharing";
import { migManagerRelease } from "../cluster/mig-manager";
import type { CheckedMachine, Checks } from "./check";

/** Checks of MIG. MIG was tested only in the lab's emulation, and not on hardware. */
export const migChecks = {
  "mig-untried": {
    severity: "warning",
    rule: "The stack does not use MIG, which is untested on hardware",
    source: "NVIDIA/mig-parted#356",
    ofFiles: false,
    find: ({ spec }) =>
      spec.sharing?.mig !== undefined
        ? {
            field: "sharing.mig",
            problem: "this package is untested with MIG on hardware",
            why: "each reboot removes the MIG devices, and the MIG manager fails if a workload gets the card before the manager splits it again",
            remedy: `try one machine first (upgrade.first). Other users report that the MIG manager ${migManagerRelease} splits cards on Talos once the MIG mode is on`,
          }
        : undefined,
  },
  "mig-whole": {
    severity: "note",
    rule: "With sharing.mig, every GPU machine has a card that supports MIG",
    source: "NVIDIA MIG user guide, supported GPUs",
    ofFiles: false,
    find: ({ spec, gpuMachines }) => {
      const unsplitMachines = gpuMachines.filter((machine) => !canSplit(machine));
      return spec.sharing?.mig !== undefined &&
        unsplitMachines.length > 0 &&
        unsplitMachines.length < gpuMachines.length
        ? {
            field: "sharing.mig",
            problem: `${namesOf(unsplitMachines)} ${unsplitMachines.length > 1 ? "have" : "has"} no card that supports MIG`,
            why: "such a node offers its cards as whole GPUs",
            remedy: "nothing needs to be done",
          }
        : undefined;
    },
  },
  "mig-profiles": {
    severity: "note",
    rule: "With sharing.mig, this package knows the MIG profiles of each card that may support MIG",
    source: "NVIDIA MIG user guide, supported profiles",
    ofFiles: false,
    find: ({ spec, machines }) =>
      spec.sharing?.mig !== undefined &&
      machines.map(({ uses }) =>
        uses.map(({ field, model, card }) =>
          card !== undefined && migOf(card) === undefined && card.mayHaveMig
            ? {
                field,
                problem: `this package does not know the MIG profiles of the ${model}`,
                why: "the plan assumes at least one instance of the profile per card, so no check can verify that all requests fit",
                remedy:
                  "check that the node's label nvidia.com/mig.config.state is success, and count the MIG devices that the node offers",
              }
            : undefined,
        ),
      ),
  },
  "mig-reset": {
    severity: "warning",
    rule: "With sharing.mig, each card can change the MIG mode without a reset",
    source: "gpu-operator#118; NVIDIA MIG user guide (Ampere needs a reset of the card)",
    ofFiles: false,
    find: ({ spec, machines }) => {
      const withReset = machines.filter(({ cards }) =>
        cards.some((card) => migOf(card)?.modeNeedsReset),
      );
      return spec.sharing?.mig !== undefined && withReset.length > 0
        ? {
            field: "sharing.mig",
            problem: `the Ampere cards of ${namesOf(withReset)} need a reset to change their MIG mode`,
            why: "nvidia-persistenced uses the cards, so the MIG manager cannot reset them",
            remedy:
              "if the node's label nvidia.com/mig.config.state becomes failed, reboot the machine once",
          }
        : undefined;
    },
  },
} satisfies Checks;

const namesOf = (machines: CheckedMachine[]): string => machines.map(({ name }) => name).join(", ");
