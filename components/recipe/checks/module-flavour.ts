import { flavoursOf } from "../facts/card";
import type { Check } from "./check";

/** The flavour of the kernel modules drives the machine's cards. */
export const moduleFlavour: Check = {
  id: "module-flavour",
  source:
    'NVIDIA driver 580 README, "Open Linux Kernel Modules"; cozystack#3563; NVIDIA, "Transitions Fully Towards Open-Source GPU Kernel Modules" (GH200)',
  find: ({ spec, gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      // Cards that no flavour has in common are the business of mixed-cards.
      if (
        !["open", "proprietary"].some((flavour) =>
          machine.cards.every((card) => flavoursOf(card).includes(flavour as never)),
        )
      )
        return [];
      const card = machine.cards.find((candidate) => !flavoursOf(candidate).includes(machine.flavour));
      if (!card) return [];
      const needed = flavoursOf(card).join(" or ");
      const reason =
        machine.flavour === "open"
          ? "the open modules need a processor on the card that came with Turing: they load, and find no devices"
          : card.flavours !== undefined
            ? "NVIDIA supports this card with the open modules only"
            : "the proprietary modules load but find no devices: NVIDIA drives this architecture with the open ones only";
      return {
        field: spec.driver?.flavour === machine.flavour ? "driver.flavour" : `${machine.field}.extensions`,
        problem: `${machine.flavour} kernel modules for the ${card.model} (${card.architecture}) of ${machine.name}`,
        why: reason,
        remedy: `leave driver.flavour out, or take ${needed}`,
      };
    }),
};
