import type { RightValues } from "../values";

/** A pod with CUDA. */
const cuda = { image: "nvcr.io/nvidia/cuda:12.2.0-base-ubuntu22.04" };

/** Right values of the workloads' fields. */
export const workloads: RightValues[] = [
  {
    base: "rtx5070ti",
    field: ["workloads.ollama.storage", "workloads.comfyui.storage"],
    values: [
      "100Gi",
      "1Ti",
      "500M",
      "0.5Gi",
      "1.5Ti",
      "1Ei",
      "1e9",
      "1E9",
      "10e9",
      "100G",
      "1024Mi",
      "2000k",
      "107374182400",
      "12P",
      ".5Gi",
      "+5Gi",
      "5.Gi",
    ],
  },
  {
    base: "rtx5070ti",
    field: "workloads.ollama.storageClass",
    values: [
      "longhorn",
      "local-path",
      "ceph-block.fast",
      "gp3",
      "openebs-hostpath",
      "rook-ceph.example.com",
    ],
  },
  {
    base: "rtx5070ti",
    field: "workloads.ollama.namespace",
    values: ["ollama", "ai", "llm-1", "0"],
  },
  {
    base: "rtx5070ti",
    field: "workloads.ollama.active",
    values: [true, false],
  },
  {
    base: "rtx5070ti",
    field: "workloads.ollama.models",
    values: [
      ["llama3.2"],
      ["llama3.2:3b"],
      ["qwen3:8b"],
      ["mistral:latest"],
      ["library/mistral"],
      ["someone/model:tag"],
      ["nomic-embed-text"],
      ["hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"],
      ["hf.co/unsloth/gemma-3-4b-it-GGUF"],
      ["registry.lan:5000/ns/model:1"],
      ["gpt-oss:20b"],
      ["deepseek-r1:14b-qwen-distill-q4_K_M"],
      ["huggingface.co/Qwen/Qwen2.5-7B-Instruct-GGUF"],
      ["phi4_mini"],
      [],
      ["llama3.2:3b", "qwen3:8b", "llama3.2:3b"],
    ],
  },
  {
    base: "rtx5070ti",
    field: "workloads.ollama.image",
    values: [
      "ollama/ollama",
      "ollama/ollama:latest",
      "ollama/ollama:0.12.3",
      "docker.io/ollama/ollama:0.12.3",
      "registry.lan:5000/ollama/ollama:1",
      "localhost/ollama",
      "localhost:5000/ollama",
      "ghcr.io/a/b/c/d:e",
      `ollama/ollama@sha256:${"0123456789abcdef".repeat(4)}`,
      `ollama/ollama:0.12@sha256:${"0123456789abcdef".repeat(4)}`,
      "ubuntu",
      "10.0.0.5:5000/mirror/ollama:v1",
      "[fd00::1]:5000/ollama",
      "my.registry/a_b/c__d/e-f/g.h:T_a.g-1",
      "Registry.Example.com/app",
      "a/b:Ubuntu22.04",
      "quay.io/org/app:2024-01-01_rc.1",
      `registry.example.com:443/x@sha512:${"0123456789abcdef".repeat(8)}`,
    ],
  },
  {
    base: "rtx5070ti",
    field: "workloads.ollama.pullImage",
    values: ["curlimages/curl:8.16.0", "registry.lan/curl"],
  },
  {
    base: "omni",
    field: "workloads.litellm",
    values: [
      {},
      { masterKeySecret: "litellm", namespace: "litellm" },
      { masterKeySecret: "team.litellm-key", namespace: "ai" },
      { active: false },
      { image: "registry.lan/litellm:v1" },
    ],
  },
  {
    base: "aarhus-h100",
    field: "workloads.vllm",
    values: [
      { model: "Qwen/Qwen2.5-7B-Instruct" },
      { model: "meta-llama/Llama-3.1-8B-Instruct" },
      { model: "gpt2" },
      { model: "openai/gpt-oss-20b" },
      { model: "mistralai/Mistral-7B-v0.3" },
      { model: "/models/mine" },
      { model: "s3://bucket/model" },
      { model: "unsloth/Qwen3-0.6B-GGUF:Q4_K_M" },
      { model: "neuralmagic/Meta-Llama-3.1-8B-FP8" },
      { model: "a/b_c.d-e" },
      { model: "./local/model" },
      { model: "gs://bucket/path/model" },
      { model: "unsloth/Qwen3-GGUF/model-q4.gguf" },
    ],
  },
  {
    base: "aarhus-h100",
    field: "workloads",
    values: [
      { vllm: { model: "a/b", gpus: 2 } },
      { vllm: { model: "a/b", gpus: 2, args: ["--tensor-parallel-size=2"] } },
      {
        vllm: {
          model: "a/b",
          gpus: 2,
          args: ["--tensor-parallel-size", "1", "--pipeline-parallel-size", "2"],
        },
      },
      {
        vllm: {
          model: "a/b",
          args: [
            "--max-model-len=8192",
            "--enable-prefix-caching",
            "--load-format=hf_transfer_fast_loader",
          ],
        },
      },
      {
        vllm: {
          model: "a/b",
          namespace: "llm",
          huggingFaceToken: { name: "hugging-face", key: "token" },
        },
      },
      {
        vllm: {
          model: "a/b",
          namespace: "llm",
          huggingFaceToken: { name: "hf.secrets", key: "HF_TOKEN" },
        },
      },
      {
        vllm: {
          model: "a/b",
          namespace: "llm",
          huggingFaceToken: { name: "hf", key: ".dockerconfigjson" },
        },
      },
      { vllm: { model: "a/b", sharedMemory: "16Gi" } },
      { vllm: { model: "a/b", sharedMemory: "0.5Gi" } },
      { vllm: { model: "a/b", active: false } },
      { vllm: { model: "a/b", gpus: 1 }, pods: { one: cuda } },
      { vllm: { model: "a/b", gpus: 2 }, pods: {} },
      {},
      { pods: {} },
      { pods: { a: { ...cuda, gpus: 2 } } },
      { pods: { a: cuda, b: cuda } },
      {
        vllm: {
          model: "a/b",
          gpus: 2,
          args: ["--tensor_parallel_size=2", "--gpu-memory-utilization=0.95"],
        },
      },
    ],
  },
  {
    base: "aarhus-h100",
    field: "workloads",
    values: [
      { named: { coder: { vllm: { model: "a/b" } }, chat: { ollama: { namespace: "chat-1" } } } },
      { ollama: { active: false }, named: { "ollama-2": { ollama: {} }, pics: { comfyui: {} } } },
    ],
  },
  {
    base: "velaryon",
    field: "workloads.pods",
    values: [
      { a: cuda },
      { smi: cuda },
      { "a.b": cuda },
      { "1": cuda },
      { ["x".repeat(63)]: cuda },
      { constructor: cuda },
      { valueof: cuda },
      { "train-1": cuda },
      { a: { ...cuda, env: { HOME: "all" } } },
      { a: { ...cuda, env: { hf_home: "all" } } },
      { a: { ...cuda, env: { "A.B-C": "all" } } },
      { a: { ...cuda, env: { _x: "all" } } },
      { a: { ...cuda, env: { constructor: "all" } } },
      { a: { ...cuda, env: { PYTORCH_CUDA_ALLOC_CONF: "all" } } },
      { a: { ...cuda, env: { NVIDIA_DRIVER_CAPABILITIES: "all" } } },
      { a: { ...cuda, env: { A: "$(B)", B: "$(C)", C: "" } } },
      {
        a: {
          ...cuda,
          env: {
            OPENAI_API_KEY: "EMPTY",
            OLLAMA_HOST: "http://ollama.ollama.svc:11434",
            HF_TOKEN: "",
          },
        },
      },
      {
        a: {
          ...cuda,
          env: { TEXT: "two\nlines\tand a tab", JSON: '{"a":"$(id)"}', UMLAUT: "größer" },
        },
      },
      { a: { ...cuda, command: ["sh", "-c", "nvidia-smi; echo $HOME | cat"], args: [] } },
      { a: { ...cuda, command: [], args: ["--flag"] } },
      { a: { ...cuda, limits: { cpu: "2" } } },
      { a: { ...cuda, limits: { cpu: "500m" } } },
      { a: { ...cuda, limits: { cpu: "0.5" } } },
      { a: { ...cuda, limits: { cpu: "1.5" } } },
      { a: { ...cuda, limits: { cpu: "1e1" } } },
      { a: { ...cuda, limits: { cpu: "0" } } },
      { a: { ...cuda, limits: { memory: "4Gi" } } },
      { a: { ...cuda, limits: { memory: "512Mi" } } },
      { a: { ...cuda, limits: { memory: "1e9" } } },
      { a: { ...cuda, limits: { memory: "1G" } } },
      { a: { ...cuda, limits: { memory: "128974848" } } },
      { a: { ...cuda, limits: { memory: "1.5Gi" } } },
      { a: { ...cuda, limits: { "ephemeral-storage": "10Gi", "hugepages-2Mi": "64Mi" } } },
      { a: { ...cuda, limits: { "rdma/hca_shared": "1", "example.com/fpga": "2" } } },
      { a: { ...cuda, nodeSelector: { role: "gpu" } } },
      { a: { ...cuda, nodeSelector: { "kubernetes.io/hostname": "velaryon" } } },
      {
        a: {
          ...cuda,
          nodeSelector: {
            "kubernetes.io/arch": "amd64",
            "nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-2070-SUPER",
          },
        },
      },
      { a: { ...cuda, nodeSelector: { "topology.kubernetes.io/zone": "" } } },
      { a: { ...cuda, nodeSelector: {} } },
      { a: { ...cuda, namespace: "team-a" } },
      { a: { ...cuda, namespace: "default" } },
      { a: { ...cuda, restricted: true } },
      {
        a: {
          ...cuda,
          nodeSelector: { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" },
        },
      },
    ],
  },
  {
    base: "three-generations",
    field: "workloads.pods",
    values: [
      {
        a: {
          image: "nvidia/cuda:13.0.0-base-ubuntu24.04",
          nodeSelector: { "kubernetes.io/hostname": "blackwell" },
        },
      },
      {
        a: {
          image: "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
          nodeSelector: { "kubernetes.io/hostname": "pascal" },
        },
      },
      {
        a: {
          image: "nvidia/cuda:12.2.0-base-ubuntu22.04",
          nodeSelector: { "kubernetes.io/hostname": "titan" },
        },
      },
      {
        blackwell: { ...cuda, nodeSelector: { "kubernetes.io/hostname": "blackwell" } },
        pascal: { ...cuda, nodeSelector: { "kubernetes.io/hostname": "pascal" } },
        spark: { ...cuda, nodeSelector: { "kubernetes.io/hostname": "spark" } },
        titan: { ...cuda, nodeSelector: { "kubernetes.io/hostname": "titan" } },
      },
      {
        a: cuda,
        b: cuda,
        c: cuda,
        d: { ...cuda, nodeSelector: { "kubernetes.io/hostname": "pascal" } },
      },
    ],
  },
  {
    base: "modern",
    field: "workloads",
    values: [
      { ollama: { namespace: "ai" }, comfyui: { namespace: "art", active: false } },
      {
        ollama: { models: ["llama3.2:3b"], namespace: "ai" },
        litellm: { namespace: "ai", masterKeySecret: "key" },
      },
      { ollama: { namespace: "ai" }, vllm: { model: "a/b", namespace: "ai", active: false } },
      { pods: { one: { image: "busybox:1.36", namespace: "gpu-operator" } } },
    ],
  },
];
