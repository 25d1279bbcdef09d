import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about claims of devices. */
export const claimsMistakes: Mistakes = {
  dra: [
    {
      name: "Claims on an old Talos and an old Kubernetes, with shared cards",
      base: "rtx3090-timeslicing",
      change: yaml`
        devicePlugin: null
        dra: { version: 25.12.0 }
        kubernetesVersion: v1.33.4
      `,
      findings: [
        { check: "dra", field: "dra", says: ["waits forever", "/usr/local/glibc"] },
        { check: "dra", field: "kubernetesVersion", says: ["claims need 1.34"] },
        { check: "dra", field: "sharing.timeSlicing", says: ["alpha feature"] },
        { check: "chart-version", field: "dra.version", says: ["nvidia-dra-driver-gpu"] },
      ],
    },
    {
      name: "Claimed cards with MIG",
      base: "dra",
      change: yaml`
        sharing: { mig: { strategy: mixed, profile: 1g.12gb } }
      `,
      findings: [
        {
          check: "dra",
          field: "sharing.mig",
          says: ["only the GPU Operator's MIG manager creates them"],
        },
      ],
    },
  ],
  claims: [
    {
      name: "A claim without the DRA driver",
      base: "rtx5070ti",
      change: yaml`
        workloads:
          ollama: { claim: { memory: 8Gi } }
      `,
      findings: [
        {
          check: "claims",
          field: "workloads.ollama.claim",
          says: ["is set without dra", "nodeSelector"],
        },
      ],
    },
    {
      name: "Claims of a card that no machine has, and of more cards than one machine has",
      base: "dra",
      change: yaml`
        workloads:
          vllm: { gpus: 2, claim: { memory: 900Gi } }
          ollama: { claim: { architecture: Volta } }
      `,
      findings: [
        {
          check: "claims",
          field: "workloads.vllm.claim",
          says: [
            "none of large, small (H100 NVL, RTX 5090) has 2 cards that meet this claim",
            "a little less than its name says",
          ],
        },
        { check: "claims", field: "workloads.ollama.claim", says: ["no device fits"] },
      ],
    },
    {
      name: "A ResourceClaim of the user together with other fields of a claim",
      base: "dra",
      change: yaml`
        workloads:
          ollama: { claim: { resourceClaimName: shared } }
      `,
      findings: [
        {
          check: "claims",
          field: "workloads.ollama.claim",
          says: ["sets architecture, resourceClaimName together", "keep only `resourceClaimName`"],
        },
      ],
    },
    {
      name: "A ResourceClaim of the user for pods on two machines",
      base: "large",
      change: yaml`
        devicePlugin: null
        dra: { version: 0.5.0 }
        workloads:
          vllm: { claim: { resourceClaimName: shared } }
      `,
      findings: [
        {
          check: "claims",
          field: "workloads.vllm.claim",
          says: [
            "the claim's cards are on one machine, and the pods for other machines stay Pending forever",
            "use resourceClaimTemplateName, which gives each pod its own claim",
          ],
        },
      ],
    },
  ],
  "values-without-gpus": [
    {
      name: "A DRA driver root that Talos does not have, and values that publish no card",
      base: "dra",
      change: yaml`
        dra:
          values:
            nvidiaDriverRoot: /
            gpuResourcesEnabledOverride: false
            resources: { gpus: { enabled: false } }
            kubeletPlugins: {}
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "dra.values.nvidiaDriverRoot",
          says: ["dra-driver-nvidia-gpu#605", "the default is /usr/local"],
        },
        {
          check: "values-without-gpus",
          field: "dra.values.gpuResourcesEnabledOverride",
          says: ["the chart fails if this value is false"],
        },
        {
          check: "values-without-gpus",
          field: "dra.values.resources.gpus.enabled",
          says: ["would publish the cards"],
        },
        {
          check: "chart-values",
          field: "dra.values.kubeletPlugins",
          says: ["the chart dra-driver-nvidia-gpu 0.5.0 does not have this value", "kubeletPlugin"],
        },
      ],
    },
  ],
  "kubernetes-mode": [
    {
      name: "Claims and requests for the device plugin's resource together",
      base: "plugin-on-1.13",
      change: yaml`
        dra: { version: 0.5.0 }
      `,
      findings: [
        {
          check: "kubernetes-mode",
          field: "dra",
          says: ["is set together with devicePlugin", "hand out the same GPUs"],
        },
      ],
    },
  ],
};
