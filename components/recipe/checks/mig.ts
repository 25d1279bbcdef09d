import { migOf } from "../facts/card";
import { canSplit } from "../facts/sharing";
import { migManagerRelease } from "../cluster/mig-manager";
import type { CheckedMachine, Checks } from "./check";

/** Checks of MIG, which was tried only in the lab's emulation, and on no machine. */
export const migChecks = {
  "mig-untried": {
    severity: "warning",
    rule: "MIG was tried on hardware",
    source: "NVIDIA/mig-parted#356",
    ofFiles: false,
    find: ({ spec }) =>
      spec.sharing?.mig !== undefined && {
        field: "sharing.mig",
        problem: "MIG was not tried on hardware by us",
        why: "slices end with every boot, and a workload that takes a card before it is split again makes the MIG manager fail",
        remedy: `try one machine first (upgrade.first); with ${migManagerRelease} other users have split cards on Talos, where the MIG mode was already on`,
      },
  },
  "mig-whole": {
    severity: "note",
    rule: "With sharing.mig, every GPU machine has a card with MIG",
    source: "NVIDIA MIG user guide, supported GPUs",
    ofFiles: false,
    find: ({ spec, gpuMachines }) => {
      const whole = gpuMachines.filter((machine) => !canSplit(machine));
      return (
        spec.sharing?.mig !== undefined &&
        whole.length > 0 &&
        whole.length < gpuMachines.length && {
          field: "sharing.mig",
          problem: `${namesOf(whole)} ${whole.length > 1 ? "have" : "has"} no card with MIG`,
          why: "cards without MIG are offered whole",
          remedy: "nothing needs to be done",
        }
      );
    },
  },
  "mig-profiles": {
    severity: "note",
    rule: "The tables list the MIG profiles of each card",
    source: "NVIDIA MIG user guide, supported profiles",
    ofFiles: false,
    find: ({ spec, machines }) =>
      spec.sharing?.mig !== undefined &&
      machines.map(({ uses }) =>
        uses.map(
          ({ field, model, card }) =>
            card !== undefined &&
            migOf(card) === undefined &&
            card.mayHaveMig && {
              field,
              problem: `the tables lack the MIG profiles of the ${model}`,
              why: "the plan counts on one instance of the profile or more, so no check says whether all requests fit",
              remedy:
                "look at the node's label nvidia.com/mig.config.state, and count its instances",
            },
        ),
      ),
  },
  "mig-reset": {
    severity: "warning",
    rule: "A card changes its MIG mode without a reset",
    source: "gpu-operator#118; NVIDIA MIG user guide (Ampere needs a reset of the card)",
    ofFiles: false,
    find: ({ spec, machines }) => {
      const withReset = machines.filter(({ cards }) =>
        cards.some((card) => migOf(card)?.modeNeedsReset),
      );
      return (
        spec.sharing?.mig !== undefined &&
        withReset.length > 0 && {
          field: "sharing.mig",
          problem: `an Ampere card of ${namesOf(withReset)} changes its MIG mode by a reset`,
          why: "nvidia-persistenced keeps the card from being reset",
          remedy: "where nvidia.com/mig.config.state becomes failed, reboot the machine once",
        }
      );
    },
  },
} satisfies Checks;

const namesOf = (machines: CheckedMachine[]): string => machines.map(({ name }) => name).join(", ");
