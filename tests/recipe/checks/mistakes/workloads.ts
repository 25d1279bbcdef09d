import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about workloads. */
export const workloadsMistakes: Mistakes = {
  "cuda-image": [
    {
      name: "A CUDA 13 image on driver 570",
      base: "rtx5070ti",
      change: yaml`
        workloads: { comfyui: { image: yanwk/comfyui-boot:cu130-slim } }
      `,
      findings: [
        {
          check: "cuda-image",
          field: "workloads.comfyui.image",
          says: [
            "its CUDA 13.0 needs driver 580.65.06, but k8s-worker4 runs 570.211.01",
            "use an image of CUDA 12, another driver.branch or a newer Talos version",
          ],
        },
      ],
    },
    {
      name: "A CUDA 13 image on a card that CUDA 13 dropped",
      base: "three-generations",
      change: yaml`
        machines: { blackwell: null, spark: null }
        workloads:
          pods: { vectoradd: { image: nvidia/cuda:13.0.1-base-ubuntu24.04 } }
      `,
      findings: [
        {
          check: "cuda-image",
          field: "workloads.pods.vectoradd.image",
          says: [
            "its CUDA 13.0 no longer supports the GTX 1080 Ti (Pascal) of pascal",
            "CUDA 12.9 or older",
          ],
        },
      ],
    },
    {
      name: "A smoke test that the driver cannot run",
      base: "velaryon",
      change: yaml`
        smokeTestImage: nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda13.0.0
      `,
      findings: [
        {
          check: "cuda-image",
          field: "smokeTestImage",
          says: ["needs driver 580.65.06, but velaryon runs 535.247.01"],
        },
      ],
    },
    {
      name: "An image whose CUDA the driver does not support",
      base: "velaryon",
      change: yaml`
        driver: null
        workloads:
          pods: { smi: { image: nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04 } }
      `,
      findings: [
        {
          check: "cuda-image",
          field: "workloads.pods.smi.image",
          says: ["its CUDA 13.0 needs driver 580.65.06, but velaryon runs 570.172.08"],
        },
      ],
    },
  ],
  "cuda-architecture": [
    {
      name: "A PyTorch image without support for Blackwell",
      base: "rtx5070ti",
      change: yaml`
        workloads: { comfyui: { image: yanwk/comfyui-boot:cu124-slim } }
      `,
      findings: [
        {
          check: "cuda-architecture",
          field: "workloads.comfyui.image",
          says: [
            "its CUDA 12.4 does not yet support the RTX 5070 Ti (Blackwell) of k8s-worker4",
            "CUDA 12.8 or newer",
          ],
        },
      ],
    },
    {
      name: "A vLLM release whose CUDA does not support Blackwell",
      base: "rtx5070ti",
      change: yaml`
        workloads:
          vllm:
            active: false
            model: Qwen/Qwen2.5-7B-Instruct
            image: vllm/vllm-openai:v0.8.5
      `,
      findings: [
        {
          check: "cuda-architecture",
          field: "workloads.vllm.image",
          says: [
            "its CUDA 12.4 does not yet support the RTX 5070 Ti (Blackwell) of k8s-worker4",
            "CUDA 12.8 or newer",
          ],
        },
      ],
    },
  ],
  "visible-devices": [
    {
      name: "All cards for a pod that requests one",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          pods:
            vectoradd: { env: { NVIDIA_VISIBLE_DEVICES: all } }
      `,
      findings: [
        {
          check: "visible-devices",
          field: "workloads.pods.vectoradd.env.NVIDIA_VISIBLE_DEVICES",
          says: [
            "it overrides the device plugin's choice of card, so the container also sees cards of other pods",
          ],
        },
      ],
    },
  ],
  "pod-node-selector": [
    {
      name: "A node selector that matches no machine",
      base: "velaryon",
      change: yaml`
        workloads:
          pods:
            smi: { nodeSelector: { role: null, node-role.kubernetes.io/gpu: "true" } }
      `,
      findings: [
        {
          check: "pod-node-selector",
          field: "workloads.pods.smi.nodeSelector.node-role.kubernetes.io/gpu",
          says: ["no GPU machine of the stack has node-role.kubernetes.io/gpu=true"],
        },
      ],
    },
  ],
  litellm: [
    {
      name: "LiteLLM without a server behind it",
      base: "omni",
      change: yaml`
        workloads: { ollama: null }
      `,
      findings: [
        {
          check: "litellm",
          field: "workloads.litellm",
          says: ["no model to route to", "add workloads.ollama"],
        },
      ],
    },
    {
      name: "LiteLLM in front of a server without models",
      base: "omni",
      change: yaml`
        workloads: { ollama: { models: null } }
      `,
      findings: [
        {
          check: "litellm",
          field: "workloads.litellm",
          says: ["is set, but ollama has no models"],
        },
      ],
    },
  ],
  "plain-secret": [
    {
      name: "A token in plain text (an invented one)",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          pods:
            vectoradd: { env: { HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyzabcdefgh } }
      `,
      findings: [
        {
          check: "plain-secret",
          field: "workloads.pods.vectoradd.env.HF_TOKEN",
          says: ["contains a token of Hugging Face"],
        },
      ],
    },
  ],
  "workload-namespaces": [
    {
      name: "A workload in the operator's namespace",
      base: "frank",
      change: yaml`
        workloads: { ollama: { namespace: gpu-operator } }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.ollama.namespace",
          says: [
            "gpu-operator is also created by the release of the GPU Operator",
            "AlreadyExists",
          ],
        },
      ],
    },
    {
      name: "Workloads in the namespaces of another tool's release and of the stack's pods",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        external: { kind: gpuOperator, version: v25.10.1 }
        workloads:
          ollama: { namespace: gpu-operator }
          comfyui: { namespace: talos-gpu }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.ollama.namespace",
          says: [
            "gpu-operator already exists, because the external GPU provider is in it",
            "gpu-operator already exists, because the external GPU provider is in it",
            "AlreadyExists",
          ],
        },
        {
          check: "workload-namespaces",
          field: "workloads.comfyui.namespace",
          says: ["talos-gpu is also created for the stack's own pods"],
        },
      ],
    },
    {
      name: "A workload in the namespace of a release that the stack takes over",
      base: "velaryon",
      change: yaml`
        devicePlugin:
          namespace: nvidia
          takeOver: nvdp
          values:
            tolerations: [{ key: gpu, operator: Exists }]
        workloads: { ollama: { namespace: nvidia } }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.ollama.namespace",
          says: [
            "nvidia already exists, because the external GPU provider is in it",
            "nvidia already exists, because the external GPU provider is in it",
          ],
        },
      ],
    },
    {
      name: "A workload in a namespace that every cluster has",
      base: "rtx5070ti",
      change: yaml`
        workloads: { ollama: { namespace: default } }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.ollama.namespace",
          says: ["default exists in every cluster"],
        },
      ],
    },
    {
      name: "Workloads whose default namespace another workload creates",
      base: "one-card",
      change: yaml`
        workloads:
          ollama: { active: false, namespace: vllm }
          vllm: { active: false, model: Qwen/Qwen2.5-7B-Instruct }
          litellm: { active: false, namespace: gpu-pods }
          pods:
            test: { image: "nvidia/cuda:12.9.1-base-ubuntu24.04" }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.vllm.namespace",
          says: ["set this field to a namespace that exists before the update"],
        },
        {
          check: "workload-namespaces",
          field: "workloads.pods",
          says: ["set `namespace` in each of these pods"],
        },
      ],
    },
    {
      name: "A ComfyUI whose default namespace ollama creates",
      base: "one-card",
      change: yaml`
        workloads:
          ollama: { active: false, namespace: comfyui }
          comfyui: { active: false }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.comfyui.namespace",
          says: ["set this field to a namespace that only this workload uses"],
        },
      ],
    },
  ],
  "image-architecture": [
    {
      name: "An amd64 image on the only GPU machine, which is arm64",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            gpus: [{ model: GH200 }]
        workloads: { comfyui: {} }
      `,
      findings: [
        {
          check: "image-architecture",
          field: "workloads.comfyui.image",
          says: [
            "yanwk/comfyui-boot:cu130-slim-v2 is built only for amd64, not for the arm64 processor of gpu",
          ],
        },
      ],
    },
    {
      name: "The amd64 default image of a ComfyUI by name on an arm64 machine",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            gpus: [{ model: GH200 }]
        workloads: { named: { pictures: { comfyui: {} } } }
      `,
      findings: [
        {
          check: "image-architecture",
          field: "workloads.named.pictures.comfyui.image",
          says: [
            "yanwk/comfyui-boot:cu130-slim-v2 is built only for amd64, not for the arm64 processor of gpu",
          ],
        },
      ],
    },
  ],
};
