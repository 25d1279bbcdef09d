import { flavoursOf, openModulesRefuse } from "../facts/card";
import type { Check } from "./check";

/** Open modules of old drivers drive data-center cards only. */
export const openModulesCard: Check = {
  id: "open-modules-card",
  source: 'NVIDIA driver 535 README, "Open Linux Kernel Modules"; siderolabs/extensions#114',
  find: ({ spec, gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const driver = machine.driverVersion;
      if (!driver || machine.flavour !== "open") return [];
      const card = machine.cards.find(
        (candidate) =>
          flavoursOf(candidate).includes("proprietary") &&
          flavoursOf(candidate).includes("open") &&
          openModulesRefuse(candidate, driver),
      );
      if (!card) return [];
      return {
        field: spec.driver?.flavour === "open" ? "driver.flavour" : `${machine.field}.extensions`,
        problem: `open kernel modules of driver ${driver} for the ${card.model} of ${machine.name}`,
        why: "before driver 545 they take GeForce and workstation cards only with NVreg_OpenRmEnableUnsupportedGpus=1: they load, and find no devices",
        remedy: "leave driver.flavour out (proprietary follows), or take driver.branch production",
      };
    }),
};
