import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about MIG. */
export const migMistakes: Mistakes = {
  "mig-untried": [
    {
      name: "MIG on one machine of two",
      base: "mig-beside-whole",
      findings: [
        {
          check: "mig-untried",
          field: "sharing.mig",
          severity: "warning",
          says: [
            "this package is untested with MIG on hardware; each reboot removes the MIG devices, and the MIG manager fails if a workload gets the card before the manager splits it again; try one machine first (upgrade.first). Other users report that the MIG manager v0.12.3-ubuntu20.04 splits cards on Talos once the MIG mode is on",
            "try one machine first (upgrade.first). Other users report that the MIG manager v0.12.3-ubuntu20.04 splits cards on Talos once the MIG mode is on",
          ],
        },
        {
          check: "mig-whole",
          field: "sharing.mig",
          severity: "note",
          says: [
            "home-1 has no card that supports MIG; such a node offers its cards as whole GPUs; nothing needs to be done",
          ],
        },
      ],
    },
  ],
  "mig-profiles": [
    {
      name: "A card whose MIG profiles are unknown",
      base: "one-card",
      change: yaml`
        machines:
          gpu: { gpus: [{ model: NVIDIA X100 80GB, architecture: Hopper, memory: 80Gi }] }
        sharing: { mig: { strategy: single, profile: all-1g.10gb } }
      `,
      findings: [
        {
          check: "mig-profiles",
          field: "machines.gpu.gpus[0]",
          severity: "note",
          says: [
            "this package does not know the MIG profiles of the NVIDIA X100 80GB; the plan assumes at least one instance of the profile per card, so no check can verify that all requests fit; check that the node's label nvidia.com/mig.config.state is success, and count the MIG devices that the node offers",
          ],
        },
      ],
    },
  ],
  "mig-reset": [
    {
      name: "A card that needs a reset to change its MIG mode",
      base: "mig",
      change: yaml`
        machines: { dc-1: { gpus: [{ model: A30 }], powerLimit: null } }
        sharing: { mig: { profile: 1g.6gb } }
      `,
      findings: [
        {
          check: "mig-reset",
          field: "sharing.mig",
          severity: "warning",
          says: [
            "the Ampere cards of dc-1 need a reset to change their MIG mode; nvidia-persistenced uses the cards, so the MIG manager cannot reset them; if the node's label nvidia.com/mig.config.state becomes failed, reboot the machine once",
          ],
        },
      ],
    },
  ],
};
