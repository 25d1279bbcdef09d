import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about cards. */
export const cardRisksMistakes: Mistakes = {
  "card-described": [
    {
      name: "A card that is in no table",
      base: "one-card",
      change: yaml`
        machines: { gpu: { gpus: [{ model: RTX 6090, architecture: Blackwell, memory: 48Gi }] } }
      `,
      findings: [
        {
          check: "card-described",
          field: "machines.gpu.gpus[0]",
          severity: "note",
          says: [
            '"RTX 6090" is in no table of cards; the package trusts the stack\'s description (Blackwell), and checks neither',
          ],
        },
      ],
    },
  ],
  "card-alike": [
    {
      name: "Cards of two models",
      base: "one-card",
      change: yaml`
        machines: { gpu: { gpus: [{ model: RTX 3090 }, { model: RTX 4090 }] } }
      `,
      findings: [
        {
          check: "card-alike",
          field: "machines.gpu.gpus",
          severity: "note",
          says: [
            "a pod that requests a GPU on gpu may get any card of the machine (RTX 3090, RTX 4090); Kubernetes does not distinguish the cards of a node; if a pod needs a certain card, use `dra`. Otherwise nothing needs to be done",
          ],
        },
      ],
    },
    {
      name: "Cards of one model with different memory, one of them without its memory",
      base: "one-card",
      change: yaml`
        machines: { gpu: { gpus: [{ model: RTX 4060 Ti }, { model: RTX 4060 Ti, memory: 8Gi }] } }
      `,
      findings: [
        {
          check: "card-alike",
          field: "machines.gpu.gpus",
          severity: "note",
          says: ["RTX 4060 Ti with unknown memory, RTX 4060 Ti with 8188Mi"],
        },
      ],
    },
  ],
  "card-passed-on": [
    {
      name: "A card that is bound for virtual machines",
      base: "one-card",
      change: yaml`
        machines: { gpu: { kernelArgs: ["vfio-pci.ids=10de:1aef,10DE:2204"] } }
      `,
      findings: [
        {
          check: "card-passed-on",
          field: "machines.gpu.gpus[0]",
          severity: "warning",
          says: [
            "a kernel argument or a patch binds every RTX 3090 of gpu to vfio-pci or pci-stub, by the ID 10DE:2204; NVIDIA's driver never sees the card, and pods that request it stay Pending; remove the card from `gpus`, or bind only the cards for virtual machines, by their addresses (PCIDriverRebindConfig)",
          ],
        },
      ],
    },
  ],
  "card-memory": [
    {
      name: "A claim that only the larger card of a model meets",
      base: "dra",
      change: yaml`
        machines: { small: { gpus: [{ model: RTX 4060 Ti }] } }
        workloads:
          vllm: null
          pods: null
          ollama: { claim: { architecture: null, memory: 12Gi } }
      `,
      findings: [
        {
          check: "card-memory",
          field: "machines.small.gpus[0].memory",
          severity: "warning",
          says: [
            "the RTX 4060 Ti exists with 8188Mi or 16380Mi, and some of these sizes do not meet workloads.ollama.claim.memory (12Gi); a pod with this claim does not start on a card with less memory; set this field to the card's memory (nvidia-smi shows it)",
          ],
        },
      ],
    },
  ],
  "power-limit-range": [
    {
      name: "A power limit outside of the tables' known range",
      base: "one-card",
      change: yaml`
        machines: { gpu: { powerLimit: 380 } }
      `,
      findings: [
        {
          check: "power-limit-range",
          field: "machines.gpu.powerLimit",
          severity: "note",
          says: [
            "it is unknown whether the RTX 3090 accepts 380 W; if it does not, nvidia-smi refuses the limit, and the card keeps its default limit; look at the card's range (`nvidia-smi -q -d POWER`)",
          ],
        },
      ],
    },
  ],
};
