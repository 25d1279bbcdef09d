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
            "MIG was not tried on hardware by us; slices end with every",
            "other users have split cards on Talos, where the MIG mode",
          ],
        },
        {
          check: "mig-whole",
          field: "sharing.mig",
          severity: "note",
          says: [
            "home-1 has no card with MIG; cards without MIG are offered whole; nothing needs to be done",
          ],
        },
      ],
    },
  ],
  "mig-profiles": [
    {
      name: "A card of unknown MIG profiles",
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
            "the tables lack the MIG profiles of the NVIDIA X100 80GB; the plan counts on one instance of the profile or more, so no check says whether all requests fit; look at the node's label",
          ],
        },
      ],
    },
  ],
  "mig-reset": [
    {
      name: "A card whose MIG mode changes by a reset",
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
            "an Ampere card of dc-1 changes its MIG mode by a reset; nvidia-persistenced keeps the card from being reset; where nvidia.com/mig.config.state becomes failed, reboot the machine once",
          ],
        },
      ],
    },
  ],
};
