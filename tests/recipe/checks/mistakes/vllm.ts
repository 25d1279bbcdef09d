import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about vLLM. */
export const vllmMistakes: Mistakes = {
  vllm: [
    {
      name: "A model split over more GPUs than the pod has",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          vllm:
            active: false
            model: Qwen/Qwen2.5-7B-Instruct
            args: [--tensor-parallel-size=2]
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.args",
          says: ["splits the model over 2 GPUs, but the pod requests 1"],
        },
      ],
    },
    {
      name: "A Secret in a namespace that does not exist yet",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          vllm:
            active: false
            model: meta-llama/Llama-3.1-8B-Instruct
            huggingFaceToken: { name: hugging-face, key: token }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.huggingFaceToken",
          says: [
            "the Secret hugging-face cannot exist before its namespace, so the pod would wait for the Secret (CreateContainerConfigError)",
            "workloads.vllm.namespace",
          ],
        },
      ],
    },
    {
      name: "A key for clients in a namespace that the workload creates",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          vllm:
            active: false
            model: Qwen/Qwen2.5-7B-Instruct
            apiKeySecret: { name: vllm-key, key: key }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.apiKeySecret",
          says: [
            "the Secret vllm-key cannot exist before its namespace, so the pod would wait for the Secret (CreateContainerConfigError)",
            "workloads.vllm.namespace",
          ],
        },
      ],
    },
    {
      name: "LiteLLM without a key in front of a server with one",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          vllm:
            model: Qwen/Qwen2.5-7B-Instruct
            namespace: ai
            apiKeySecret: { name: vllm-key, key: key }
          litellm: {}
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.litellm.masterKeySecret",
          says: [
            "is not set, but workloads.vllm needs a key (apiKeySecret)",
            "clients could use the model through LiteLLM without a key, and LiteLLM's namespace, which this update creates, would lack the Secret vllm-key",
            "both Secrets",
          ],
        },
      ],
    },
    {
      name: "A secret in the arguments of a server",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          vllm:
            active: false
            model: Qwen/Qwen2.5-7B-Instruct
            args: [--api-key=not-a-key]
      `,
      findings: [{ check: "vllm", field: "workloads.vllm.args", says: ["contains a secret"] }],
    },
    {
      name: "An argument that the workload sets itself",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          vllm: { active: false, model: Qwen/Qwen2.5-7B-Instruct, args: [--port=9000] }
      `,
      findings: [{ check: "vllm", field: "workloads.vllm.args", says: ["sets --port"] }],
    },
    {
      name: "One model on two MIG devices",
      base: "mig",
      change: yaml`
        workloads: { vllm: { model: Qwen/Qwen2.5-7B-Instruct, gpus: 2 } }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.gpus",
          says: ["splits one model over 2 MIG devices", "no peer-to-peer"],
        },
      ],
    },
    {
      name: "vLLM on a card that its images do not support",
      base: "three-generations",
      change: yaml`
        machines: { blackwell: null, spark: null }
        workloads: { vllm: { active: false, model: Qwen/Qwen2.5-7B-Instruct } }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm",
          says: ["the GTX 1080 Ti of pascal has compute capability 6.1"],
        },
      ],
    },
    {
      name: "A model on more machines than the stack has",
      base: "large",
      change: yaml`
        workloads: { vllm: { machines: 3 } }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.machines",
          says: [
            "is 3, but only 2 of the stack's machines have the 4 cards that each pod needs (twin-1, twin-2)",
          ],
        },
      ],
    },
    {
      name: "A model on several machines, one with too few cards",
      base: "large",
      change: yaml`
        machines:
          twin-2:
            gpus: [{ model: H100 NVL, count: 2 }]
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.machines",
          says: [
            "is 2, but only 1 of the stack's machines has the 4 cards that each pod needs (twin-1)",
          ],
        },
      ],
    },
    {
      name: "A model on different cards",
      base: "large",
      change: yaml`
        machines:
          twin-2:
            gpus: [{ model: L40S, count: 4 }]
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.machines",
          says: [
            "its pods may run on different cards: H100 NVL, L40S",
            "workloads.vllm.nodeSelector",
          ],
        },
      ],
    },
    {
      name: "A model on cards that a claim does not distinguish",
      base: "large",
      change: yaml`
        devicePlugin: null
        dra: { version: 0.5.0 }
        machines:
          twin-2:
            gpus: [{ model: H200 NVL, count: 4 }]
        workloads:
          vllm: { claim: { memory: 80Gi } }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.machines",
          says: [
            "H200 NVL",
            "select machines with equal cards by workloads.vllm.nodeSelector, or select the card by claim.product",
          ],
        },
      ],
    },
    {
      name: "Tensor parallelism across machines",
      base: "large",
      change: yaml`
        workloads:
          vllm: { args: [--tensor-parallel-size=8] }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.args",
          says: ["splits each layer over 8 GPUs, but a machine gives the model only 4"],
        },
      ],
    },
    {
      name: "Parallel sizes that leave cards of several machines idle",
      base: "large",
      change: yaml`
        workloads:
          vllm: { args: [--pipeline-parallel-size=3] }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.args",
          says: ["splits the model over 6 GPUs, but the pods request 8"],
        },
      ],
    },
    {
      name: "A release of vLLM that needs Ray over several machines",
      base: "large",
      change: yaml`
        workloads: { vllm: { image: vllm/vllm-openai:v0.10.2 } }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.image",
          says: ["vLLM 0.10.2 does not run over several machines without Ray"],
        },
      ],
    },
    {
      name: "Arguments that the workload sets for each pod of a group",
      base: "large",
      change: yaml`
        workloads:
          vllm: { args: [--headless] }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.args",
          says: ["sets --headless", "workloads.vllm.machines"],
        },
      ],
    },
    {
      name: "Ray with an image that no longer has it",
      base: "large",
      change: yaml`
        workloads:
          vllm: { args: [--distributed-executor-backend=ray] }
      `,
      findings: [{ check: "vllm", field: "workloads.vllm.args", says: ["selects Ray"] }],
    },
    {
      name: "A model on MIG devices of several machines",
      base: "mig",
      change: yaml`
        leaderWorkerSet: { version: 0.9.0 }
        machines:
          dc-2:
            address: 10.6.0.2
            role: worker
            configuration: adopted
            gpus: [{ model: H200, count: 2 }]
        workloads:
          vllm:
            model: Qwen/Qwen2.5-7B-Instruct
            machines: 2
            image: vllm/vllm-openai:v0.12.0
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.machines",
          says: ["splits one model over 2 MIG devices"],
        },
      ],
    },
    {
      name: "An argument that the workload sets",
      base: "dra",
      change: yaml`
        workloads:
          vllm: { args: [--model=other] }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.args",
          says: ["sets --model", "write the model to workloads.vllm.model"],
        },
      ],
    },
    {
      name: "More memory than the card has",
      base: "dra",
      change: yaml`
        workloads:
          vllm: { args: [--gpu-memory-utilization=90] }
      `,
      findings: [
        {
          check: "vllm",
          field: "workloads.vllm.args",
          says: ["sets 90 as the share of the card's memory"],
        },
      ],
    },
  ],
  "chart-version": [
    {
      name: "A LeaderWorkerSet release whose upgrade deletes all LeaderWorkerSets",
      base: "large",
      change: yaml`
        leaderWorkerSet: { version: 0.7.0 }
      `,
      findings: [
        {
          check: "chart-version",
          field: "leaderWorkerSet.version",
          says: [
            '"0.7.0" is not a supported release of the chart lws',
            "releases before 0.8.0 cannot create a volume for each pod, and an upgrade from them deletes the CRD with all LeaderWorkerSets (lws#880)",
          ],
        },
      ],
    },
  ],
  "workload-namespaces": [
    {
      name: "A workload in the namespace of LeaderWorkerSet",
      base: "large",
      change: yaml`
        workloads: { litellm: { namespace: lws-system } }
      `,
      findings: [
        {
          check: "workload-namespaces",
          field: "workloads.litellm.namespace",
          says: ["lws-system is also created for LeaderWorkerSet"],
        },
      ],
    },
  ],
};
