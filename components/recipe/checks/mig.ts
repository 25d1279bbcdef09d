import { mayHaveMig, migOf } from "../facts/card";
import type { Check, Complaint } from "./check";
import { canSplit, instancesOf, profileName, splits } from "../facts/sharing";
import { migProfile } from "../rules";
import { didYouMean } from "../rules/suggest";
import { compareDotted } from "../facts/version";
import type { MigGeometry } from "../facts/data/mig";
import { valueAt } from "../mapping";

/** A card has the MIG profile, its driver can split it, and the operator's MIG manager does. */
export const mig: Check = {
  id: "mig",
  source: "NVIDIA MIG user guide, supported profiles; NVIDIA/mig-parted, config-default.yaml",
  find: ({ spec, gpuMachines }) => {
    const wanted = spec.sharing?.mig;
    if (!wanted) return [];
    const profile = profileName(wanted.profile);
    if (!splits(wanted.profile)) return [];
    const fault = profile === "balanced" ? undefined : migProfile(wanted.profile);
    if (fault) return { field: "sharing.mig.profile", ...fault };
    const complaints: Complaint[] = [];
    if (spec.devicePlugin && !spec.gpuOperator) {
      complaints.push({
        field: "sharing.mig",
        problem: "with the standalone plugin",
        why: "nothing would partition the cards: the MIG manager belongs to the GPU Operator, and Talos has no shell in which you could do it by hand",
        remedy: "take gpuOperator, or leave mig out",
      });
    }
    if (profile === "balanced" && wanted.strategy === "single") {
      complaints.push({
        field: "sharing.mig.strategy",
        problem: "single with all-balanced",
        why: "all-balanced makes MIG devices of several sizes, and the strategy single offers them only if all have the same size",
        remedy: "write mixed, or one profile for all",
      });
    }
    const unlisted = (geometry: MigGeometry): readonly string[] =>
      // A configuration of the user's own names what it names.
      valueAt(spec.gpuOperator?.values, "migManager", "config", "name") ? [] : (geometry.unlisted ?? []);
    const withMig = gpuMachines.filter(canSplit);
    // Machines whose cards are all without MIG keep them whole, as long as there is one to split.
    for (const machine of withMig.length > 0 ? withMig : gpuMachines) {
      for (const { card, field } of machine.uses) {
        if (!card) continue;
        const geometry = migOf(card);
        if (!geometry && mayHaveMig(card)) continue; // its profiles are not known here, and a note says so
        if (!geometry) {
          complaints.push({
            field: "sharing.mig",
            problem: `the ${card.model} of ${machine.name} has no MIG`,
            why: "the MIG manager would fail on it, and take its GPUs out of service while it tries",
            remedy: `leave mig out, or ${field} out of the stack`,
          });
        } else if (profile === "balanced" ? !geometry.balanced : unlisted(geometry).includes(profile)) {
          complaints.push({
            field: "sharing.mig.profile",
            problem: `all-${profile} does nothing on the ${card.model} of ${machine.name}`,
            why: "the MIG manager's configuration names other cards: it reports success and splits none of these",
            remedy: `write one of ${Object.keys(geometry.profiles)
              .filter((name) => !unlisted(geometry).includes(name))
              .join(", ")}`,
          });
        } else if (Object.keys(instancesOf(geometry, wanted.profile)).length === 0) {
          const profiles = Object.keys(geometry.profiles);
          complaints.push({
            field: "sharing.mig.profile",
            problem: `the ${card.model} of ${machine.name} has no profile ${profile}`,
            why: "the MIG manager would set nvidia.com/mig.config.state=failed, and the node would offer whole cards or none",
            remedy: `${didYouMean(profile, profiles)}one of ${[...profiles, ...(geometry.balanced ? ["all-balanced"] : [])].join(", ")}`,
          });
        } else if (machine.driverVersion && compareDotted(machine.driverVersion, geometry.minDriver) < 0) {
          complaints.push({
            field: "sharing.mig",
            problem: `MIG on the ${card.model} needs driver ${geometry.minDriver}, but ${machine.name} runs ${machine.driverVersion}`,
            why: "the driver cannot partition the card",
            remedy: "take another driver.branch or a newer Talos release",
          });
        }
      }
    }
    return complaints;
  },
};
