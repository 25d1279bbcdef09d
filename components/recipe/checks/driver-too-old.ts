import { minDriverOf } from "../facts/card";
import type { Check } from "./check";
import { compareDotted } from "../facts/version";

/** No driver is older than the first that knows the card. */
export const driverTooOld: Check = {
  id: "driver-too-old",
  source: "CUDA toolkit release notes: first driver per architecture; siderolabs/extensions, nvidia-gpu/vars.yaml",
  find: ({ spec, release, gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const driver = machine.driverVersion;
      const card = driver
        ? machine.cards.find((candidate) => compareDotted(driver, minDriverOf(candidate)) < 0)
        : undefined;
      if (!driver || !card || !release) return [];
      const other = machine.branch === "lts" ? "production" : "lts";
      const otherFits = machine.cards.every(
        (candidate) => compareDotted(release.drivers[other], minDriverOf(candidate)) >= 0,
      );
      return {
        field: spec.driver?.branch ? "driver.branch" : "talosVersion",
        problem: `the ${machine.branch} driver of Talos ${spec.talosVersion} is ${driver}, but the ${card.model} of ${machine.name} needs ${minDriverOf(card)}`,
        why: "the driver does not know the card: the modules load and nvidia-smi finds no devices",
        remedy: otherFits ? `take driver.branch ${other} (${release.drivers[other]})` : "take a newer Talos release",
      };
    }),
};
