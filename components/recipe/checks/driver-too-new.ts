import { architectureOf } from "../facts/card";
import type { Check } from "./check";
import { majorOf } from "../facts/version";

/** No driver is so new that it has dropped the card. */
export const driverTooNew: Check = {
  id: "driver-too-new",
  source: "CUDA 13 release notes: branch 580 is the last one for Maxwell, Pascal and Volta",
  find: ({ spec, release, gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const driver = machine.driverVersion;
      const last = (card: (typeof machine.cards)[number]): number => architectureOf(card).lastDriverBranch ?? Infinity;
      const card = driver ? machine.cards.find((candidate) => majorOf(driver) > last(candidate)) : undefined;
      if (!driver || !card || !release) return [];
      const other = machine.branch === "lts" ? "production" : "lts";
      return {
        field: spec.driver?.branch ? "driver.branch" : "talosVersion",
        problem: `the ${machine.branch} driver of Talos ${spec.talosVersion} is ${driver}, but the ${card.model} of ${machine.name} (${card.architecture}) runs up to ${last(card)}`,
        why: "newer drivers dropped the architecture: the modules load and nvidia-smi finds no devices",
        remedy:
          majorOf(release.drivers[other]) <= last(card)
            ? `take driver.branch ${other} (${release.drivers[other]})`
            : "stay on an older Talos release",
      };
    }),
};
