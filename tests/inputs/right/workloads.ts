import { words, type Inputs } from "../inputs";

const cuda = "nvcr.io/nvidia/cuda:12.2.0-base-ubuntu22.04";
const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
const pod = (more: object = {}): object => ({ image: cuda, ...more });

/** Right inputs of workloads. */
export const workloads: Inputs[] = [
  ...["ollama", "comfyui"].map((app): Inputs => ({
    base: "rtx5070ti",
    at: `workloads ${app} storage`,
    values: [
      ...[
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
    ],
  })),
  {
    base: "rtx5070ti",
    at: "workloads ollama storageClass",
    values: [...words("longhorn local-path ceph-block.fast gp3 openebs-hostpath rook-ceph.example.com")],
  },
  { base: "rtx5070ti", at: "workloads ollama namespace", values: [...words("ollama ai llm-1 0")] },
  { base: "rtx5070ti", at: "workloads ollama active", values: [true, false] },
  {
    base: "rtx5070ti",
    at: "workloads ollama models",
    values: [
      ...[
        ...words("llama3.2 llama3.2:3b qwen3:8b mistral:latest library/mistral someone/model:tag"),
        ...words("nomic-embed-text hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"),
        ...words("hf.co/unsloth/gemma-3-4b-it-GGUF registry.lan:5000/ns/model:1 gpt-oss:20b"),
        ...words("deepseek-r1:14b-qwen-distill-q4_K_M huggingface.co/Qwen/Qwen2.5-7B-Instruct-GGUF phi4_mini"),
      ].map((model) => [model]),
      [],
      ["llama3.2:3b", "qwen3:8b", "llama3.2:3b"],
    ],
  },
  { base: "rtx5070ti", at: "workloads ollama pullBy", values: ["job"] },
  {
    base: "rtx5070ti",
    at: "workloads ollama image",
    values: [
      ...words("ollama/ollama ollama/ollama:latest ollama/ollama:0.12.3 docker.io/ollama/ollama:0.12.3"),
      ...words("registry.lan:5000/ollama/ollama:1 localhost/ollama localhost:5000/ollama ghcr.io/a/b/c/d:e"),
      `ollama/ollama@${digest}`,
      `ollama/ollama:0.12@${digest}`,
      ...words("ubuntu 10.0.0.5:5000/mirror/ollama:v1 [fd00::1]:5000/ollama"),
      ...words("my.registry/a_b/c__d/e-f/g.h:T_a.g-1 Registry.Example.com/app a/b:Ubuntu22.04"),
      ...words("quay.io/org/app:2024-01-01_rc.1"),
      `registry.example.com:443/x@sha512:${"0123456789abcdef".repeat(8)}`,
    ],
  },
  { base: "rtx5070ti", at: "workloads ollama pullImage", values: ["curlimages/curl:8.16.0", "registry.lan/curl"] },
  {
    base: "omni",
    at: "workloads litellm",
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
    at: "workloads vllm",
    values: [
      ...[
        ...words("Qwen/Qwen2.5-7B-Instruct meta-llama/Llama-3.1-8B-Instruct gpt2 openai/gpt-oss-20b"),
        ...words("mistralai/Mistral-7B-v0.3 /models/mine s3://bucket/model unsloth/Qwen3-0.6B-GGUF:Q4_K_M"),
        ...words("neuralmagic/Meta-Llama-3.1-8B-FP8 a/b_c.d-e ./local/model gs://bucket/path/model"),
        ...words("unsloth/Qwen3-GGUF/model-q4.gguf"),
      ].map((model) => ({ model })),
    ],
  },
  {
    base: "aarhus-h100",
    at: "workloads",
    values: [
      { vllm: { model: "a/b", gpus: 2 } },
      { vllm: { model: "a/b", gpus: 2, args: ["--tensor-parallel-size=2"] } },
      { vllm: { model: "a/b", gpus: 2, args: ["--tensor-parallel-size", "1", "--pipeline-parallel-size", "2"] } },
      {
        vllm: {
          model: "a/b",
          args: ["--max-model-len=8192", "--enable-prefix-caching", "--load-format=hf_transfer_fast_loader"],
        },
      },
      { vllm: { model: "a/b", namespace: "llm", huggingFaceToken: { name: "hugging-face", key: "token" } } },
      { vllm: { model: "a/b", namespace: "llm", huggingFaceToken: { name: "hf.secrets", key: "HF_TOKEN" } } },
      { vllm: { model: "a/b", namespace: "llm", huggingFaceToken: { name: "hf", key: ".dockerconfigjson" } } },
      { vllm: { model: "a/b", sharedMemory: "16Gi" } },
      { vllm: { model: "a/b", sharedMemory: "0.5Gi" } },
      { vllm: { model: "a/b", active: false } },
      { vllm: { model: "a/b", gpus: 1 }, pods: { one: pod() } },
      { vllm: { model: "a/b", gpus: 2 }, pods: {} },
      {},
      { pods: {} },
      { pods: { a: pod({ gpus: 2 }) } },
      { pods: { a: pod(), b: pod() } },
      { vllm: { model: "a/b", gpus: 2, args: ["--tensor_parallel_size=2", "--gpu-memory-utilization=0.95"] } },
    ],
  },
  {
    base: "velaryon",
    at: "workloads pods",
    values: [
      ...[...words("a smi a.b 1"), "x".repeat(63), "constructor", "valueof", "train-1"].map((name) => ({
        [name]: pod(),
      })),
      ...words("HOME hf_home A.B-C _x constructor PYTORCH_CUDA_ALLOC_CONF NVIDIA_DRIVER_CAPABILITIES").map((name) => ({
        a: pod({ env: { [name]: "all" } }),
      })),
      { a: pod({ env: { A: "$(B)", B: "$(C)", C: "" } }) },
      { a: pod({ env: { OPENAI_API_KEY: "EMPTY", OLLAMA_HOST: "http://ollama.ollama.svc:11434", HF_TOKEN: "" } }) },
      { a: pod({ env: { TEXT: "two\nlines\tand a tab", JSON: '{"a":"$(id)"}', UMLAUT: "größer" } }) },
      { a: pod({ command: ["sh", "-c", "nvidia-smi; echo $HOME | cat"], args: [] }) },
      { a: pod({ command: [], args: ["--flag"] }) },
      ...words("2 500m 0.5 1.5 1e1 0").map((cpu) => ({ a: pod({ limits: { cpu } }) })),
      ...words("4Gi 512Mi 1e9 1G 128974848 1.5Gi").map((memory) => ({ a: pod({ limits: { memory } }) })),
      { a: pod({ limits: { "ephemeral-storage": "10Gi", "hugepages-2Mi": "64Mi" } }) },
      { a: pod({ limits: { "rdma/hca_shared": "1", "example.com/fpga": "2" } }) },
      { a: pod({ nodeSelector: { role: "gpu" } }) },
      { a: pod({ nodeSelector: { "kubernetes.io/hostname": "velaryon" } }) },
      {
        a: pod({
          nodeSelector: { "kubernetes.io/arch": "amd64", "nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-2070-SUPER" },
        }),
      },
      { a: pod({ nodeSelector: { "topology.kubernetes.io/zone": "" } }) },
      { a: pod({ nodeSelector: {} }) },
      { a: pod({ namespace: "team-a" }) },
      { a: pod({ namespace: "default" }) },
      { a: pod({ restricted: true }) },
      { a: pod({ nodeSelector: { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" } }) },
    ],
  },
  {
    base: "three-generations",
    at: "workloads pods",
    values: [
      {
        a: pod({
          image: "nvidia/cuda:13.0.0-base-ubuntu24.04",
          nodeSelector: { "kubernetes.io/hostname": "blackwell" },
        }),
      },
      {
        a: pod({
          image: "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
          nodeSelector: { "kubernetes.io/hostname": "pascal" },
        }),
      },
      { a: pod({ image: "nvidia/cuda:12.2.0-base-ubuntu22.04", nodeSelector: { "kubernetes.io/hostname": "titan" } }) },
      Object.fromEntries(
        ["blackwell", "pascal", "spark", "titan"].map((host) => [
          host,
          pod({ nodeSelector: { "kubernetes.io/hostname": host } }),
        ]),
      ),
      { a: pod(), b: pod(), c: pod(), d: pod({ nodeSelector: { "kubernetes.io/hostname": "pascal" } }) },
    ],
  },
  {
    base: "modern",
    at: "workloads",
    values: [
      { ollama: { namespace: "ai" }, comfyui: { namespace: "art", active: false } },
      { ollama: { models: ["llama3.2:3b"], namespace: "ai" }, litellm: { namespace: "ai", masterKeySecret: "key" } },
      { ollama: { namespace: "ai" }, vllm: { model: "a/b", namespace: "ai", active: false } },
      { pods: { one: { image: "busybox:1.36", namespace: "gpu-operator" } } },
    ],
  },
];
