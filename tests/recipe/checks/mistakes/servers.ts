import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about servers and their monitoring. */
export const serversMistakes: Mistakes = {
  "open-server": [
    {
      name: "An Ollama that answers every pod",
      base: "rtx5070ti",
      findings: [
        {
          check: "open-server",
          field: "workloads.ollama",
          severity: "warning",
          says: [
            "every pod of the cluster can use the server, pull models and delete them; clients need no key; list the namespaces of the clients in workloads.ollama.allowFrom",
          ],
        },
      ],
    },
    {
      name: "A ComfyUI that answers every pod",
      base: "rtx5070ti",
      change: yaml`
        workloads: { ollama: null, comfyui: { active: true } }
      `,
      findings: [
        {
          check: "open-server",
          field: "workloads.comfyui",
          severity: "warning",
          says: ["can run workflows on the server, and see their outputs"],
        },
      ],
    },
  ],
  "volume-namespace": [
    {
      name: "A volume in another workload's namespace, which a warning names",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { gpus: [{ model: RTX 5070 Ti, count: 2 }] } }
        workloads:
          comfyui: null
          ollama: { namespace: ai }
          vllm: { model: Qwen/Qwen3-0.6B, namespace: ai }
          litellm: {}
      `,
      findings: [
        {
          check: "volume-namespace",
          field: "workloads.vllm",
          severity: "warning",
          says: [
            "its volume is in namespace ai, which workloads.ollama creates; if you remove workloads.ollama from the stack, the update deletes the namespace with this volume; give workloads.vllm another namespace",
          ],
        },
        {
          check: "open-server",
          field: "workloads.vllm",
          severity: "warning",
          says: [
            "every pod of the cluster can use the server; clients need no key; set apiKeySecret, and list the namespaces of the clients in workloads.vllm.allowFrom",
          ],
        },
        {
          check: "open-server",
          field: "workloads.litellm",
          severity: "warning",
          says: [
            "every pod of the cluster can use the server's models; clients need no key; set masterKeySecret, or list the namespaces of the clients in workloads.litellm.allowFrom",
          ],
        },
      ],
    },
  ],
  "cuda-compat": [
    {
      name: "An image whose CUDA is newer than the driver of a data-center card",
      base: "one-card",
      change: yaml`
        talosVersion: v1.12.6
        machines: { gpu: { gpus: [{ model: L40S }] } }
        gpuOperator: { version: v25.10.1 }
        workloads: { pods: { train: { image: nvidia/cuda:13.0.1-base-ubuntu24.04 } } }
      `,
      findings: [
        {
          check: "cuda-compat",
          field: "workloads.pods.train.image",
          severity: "warning",
          says: [
            "its CUDA 13.0 is too new for the driver of gpu (570.211.01); CUDA then works only on data-center cards, and only if the image has NVIDIA's package cuda-compat; make sure that the image has cuda-compat, as NVIDIA's own images do",
          ],
        },
      ],
    },
  ],
  "dashboard-metrics": [
    {
      name: "An exporter that is newer than the dashboard",
      base: "aarhus-h100",
      change: yaml`
        monitoring: {}
        images: { dcgmExporter: nvcr.io/nvidia/k8s/dcgm-exporter:4.7.0-4.9.0-distroless }
      `,
      findings: [
        {
          check: "dashboard-metrics",
          field: "monitoring",
          severity: "warning",
          says: [
            "the metrics of the DCGM exporter 4.9.0 have other names and units than the dashboard expects; the exporter changed them in 4.9.0, so some panels of the dashboard stay empty; use an exporter of release 4.8, or write `dashboard: false`",
          ],
        },
      ],
    },
  ],
  "claim-metrics": [
    {
      name: "Metrics of cards that pods claim",
      base: "dra",
      change: yaml`
        monitoring: {}
      `,
      findings: [
        {
          check: "claim-metrics",
          field: "monitoring",
          severity: "note",
          says: [
            "the metrics of a card do not name the pod that claims the card; the kubelet does not report claims to the exporter; nothing needs to be done",
          ],
        },
      ],
    },
  ],
};
