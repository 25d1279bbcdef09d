import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about the cards of a machine. */
export const cardsMistakes: Mistakes = {
  "gpu-machine": [
    {
      name: "No machine has a card",
      base: "aarhus-h100",
      change: yaml`
        machines: { talos-gpu: { gpus: null } }
      `,
      findings: [{ check: "gpu-machine", field: "machines", says: ["no machine has a GPU"] }],
    },
  ],
  "gpu-model": [
    {
      name: "A misspelt card",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            gpus: [{ model: RTX 5070 Tie }]
      `,
      findings: [
        {
          check: "gpu-model",
          field: "machines.k8s-worker4.gpus[0].model",
          says: ['"RTX 5070 Tie" is in no table of cards', "RTX 5070 Ti"],
        },
      ],
    },
    {
      name: "A known card that the stack describes with another architecture",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            gpus: [{ model: RTX 5070 Ti, architecture: Ada }]
      `,
      findings: [
        {
          check: "gpu-model",
          field: "machines.k8s-worker4.gpus[0].architecture",
          says: ["is Ada, but the architecture of the RTX 5070 Ti is Blackwell"],
        },
      ],
    },
    {
      name: "A GPU that this package does not support",
      base: "own-discovery",
      change: yaml`
        machines:
          gpu-1:
            gpus:
              - { model: Tesla K80 }
              - { model: GRID A100-10C }
              - { model: Jetson Orin }
              - { model: PG199 }
      `,
      findings: [
        {
          check: "gpu-model",
          field: "machines.gpu-1.gpus[0].model",
          says: ['"Tesla K80" is too old'],
        },
        {
          check: "gpu-model",
          field: "machines.gpu-1.gpus[1].model",
          says: ['"GRID A100-10C" is a virtual GPU, not a card'],
        },
        {
          check: "gpu-model",
          field: "machines.gpu-1.gpus[2].model",
          says: ['"Jetson Orin" is a GPU inside a system on a chip'],
        },
        {
          check: "gpu-model",
          field: "machines.gpu-1.gpus[3].model",
          says: ['"PG199" is the code of a board, not the name of a card'],
        },
      ],
    },
  ],
  "mixed-cards": [
    {
      name: "A Pascal and a Blackwell card in one machine",
      base: "three-generations",
      change: yaml`
        machines:
          blackwell:
            gpus: [{ model: RTX 5090 }, { model: GTX 1080 Ti }]
      `,
      findings: [
        {
          check: "mixed-cards",
          field: "machines.blackwell.gpus",
          says: ["no driver runs RTX 5090 and GTX 1080 Ti together", "different machines"],
        },
      ],
    },
  ],
  "power-limit": [
    {
      name: "A power limit that the card does not accept",
      base: "mig",
      change: yaml`
        machines: { dc-1: { powerLimit: 750 } }
      `,
      findings: [
        {
          check: "power-limit",
          field: "machines.dc-1.powerLimit",
          says: ["750 W is outside the range of the H200 (200 to 700 W)"],
        },
      ],
    },
    {
      name: "A power limit on a machine without a card",
      base: "frank",
      change: yaml`
        machines: { mini-1: { powerLimit: 100 } }
      `,
      findings: [
        {
          check: "power-limit",
          field: "machines.mini-1.powerLimit",
          says: ["on a machine without a GPU"],
        },
      ],
    },
    {
      name: "A power limit below the range of the card: seen on an H100 SXM",
      base: "mig",
      change: yaml`
        machines:
          dc-1:
            gpus: [{ model: H100 80GB HBM3, count: 2 }]
            powerLimit: 180
        sharing: { mig: { profile: 1g.10gb } }
      `,
      findings: [
        {
          check: "power-limit",
          field: "machines.dc-1.powerLimit",
          says: ["180 W is outside the range of the H100 80GB HBM3 (200 to 700 W)"],
        },
      ],
    },
    {
      name: "A power limit for the DGX Spark",
      base: "three-generations",
      change: yaml`
        machines: { spark: { powerLimit: 100 } }
      `,
      findings: [
        {
          check: "power-limit",
          field: "machines.spark.powerLimit",
          says: ["is set, but the GB10 has no power limit"],
        },
      ],
    },
    {
      name: "Power limits far outside of any board's, and above a known maximum",
      base: "three-generations",
      change: yaml`
        machines:
          blackwell: { powerLimit: 2000 }
          pascal:
            gpus: [{ model: P40 }]
            powerLimit: 400
      `,
      findings: [
        {
          check: "power-limit",
          field: "machines.blackwell.powerLimit",
          says: [
            "2000 W is outside the range of the RTX 5090 (about 144 to 862 W, depending on the board)",
          ],
        },
        {
          check: "power-limit",
          field: "machines.pascal.powerLimit",
          says: ["400 W is outside the range of the P40 (at most 250 W)"],
        },
      ],
    },
  ],
  "gpu-memory": [
    {
      name: "Memory that no card of this model has",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            gpus: [{ model: RTX 4060 Ti, memory: 12Gi }]
      `,
      findings: [
        {
          check: "gpu-memory",
          field: "machines.k8s-worker4.gpus[0].memory",
          says: ["is 12Gi, but the RTX 4060 Ti exists with 8188Mi or 16380Mi"],
        },
      ],
    },
  ],
};
