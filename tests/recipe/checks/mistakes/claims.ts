import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about claims of devices. */
export const claimsMistakes: Mistakes = {
  dra: [
    {
      name: "Claims on an old Talos and an old Kubernetes, of cards that are shared",
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
      name: "Cards that are claimed, and are to be split",
      base: "dra",
      change: yaml`
        sharing: { mig: { strategy: mixed, profile: 1g.12gb } }
      `,
      findings: [
        {
          check: "dra",
          field: "sharing.mig",
          says: ["only the GPU Operator's MIG manager makes them"],
        },
      ],
    },
  ],
  claims: [
    {
      name: "A claim without a driver that knows claims",
      base: "rtx5070ti",
      change: yaml`
        workloads:
          ollama: { claim: { memory: 8Gi } }
      `,
      findings: [
        {
          check: "claims",
          field: "workloads.ollama.claim",
          says: ["is there without dra", "nodeSelector"],
        },
      ],
    },
    {
      name: "Claims of cards that no machine has, and of more than one has together",
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
          says: ["no 2 cards of one machine of large", "a little less than its name says"],
        },
        { check: "claims", field: "workloads.ollama.claim", says: ["no device fits"] },
      ],
    },
    {
      name: "A claim of one's own with more beside it",
      base: "dra",
      change: yaml`
        workloads:
          ollama: { claim: { resourceClaimName: shared } }
      `,
      findings: [
        {
          check: "claims",
          field: "workloads.ollama.claim",
          says: ["says architecture, resourceClaimName together", "keep that one alone"],
        },
      ],
    },
    {
      name: "A claim of one's own for pods on two machines",
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
          says: ["its cards are on one machine", "take resourceClaimTemplateName"],
        },
      ],
    },
  ],
  "values-without-gpus": [
    {
      name: "A driver root where nothing is, and values without which no card is given out",
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
          says: ["dra-driver-nvidia-gpu#605", "/usr/local follows"],
        },
        {
          check: "values-without-gpus",
          field: "dra.values.gpuResourcesEnabledOverride",
          says: ["refuses to be installed"],
        },
        {
          check: "values-without-gpus",
          field: "dra.values.resources.gpus.enabled",
          says: ["would publish the cards"],
        },
        {
          check: "chart-values",
          field: "dra.values.kubeletPlugins",
          says: ["no such value", "kubeletPlugin"],
        },
      ],
    },
  ],
  "kubernetes-mode": [
    {
      name: "Cards for claims and for the plugin's resource",
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
