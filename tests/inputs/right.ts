import { machine, type Inputs } from "./inputs";

const cuda = "nvcr.io/nvidia/cuda:12.2.0-base-ubuntu22.04";
const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
const h100 = { model: "H100 NVL" };
const pod = (more: object = {}): object => ({ image: cuda, ...more });

/** Inputs that are right: nothing is found. */
export const right: Inputs[] = [
  // Machines
  {
    base: "velaryon",
    at: "machines velaryon address",
    values: [
      ...["10.0.0.1", "192.168.1.254", "172.16.0.10", "100.64.0.7", "203.0.113.9", "169.254.1.2", "1.1.1.1"],
      ...[
        "2001:db8::10",
        "fd00::1",
        "FD00:0:0::A",
        "fdae:41e4:649b:9303::1",
        "2001:db8:0:0:0:0:0:1",
        "::ffff:10.0.0.1",
      ],
      ...["fe80::1%eth0", "gpu", "gpu-1", "gpu-1.lan", "gpu-1.example.com", "gpu-1.example.com.", "GPU-1.Example.com"],
      ...[
        "k8s.home.arpa",
        "node_1.lan",
        "1.node.example.com",
        "xn--bcher-kva.example",
        "a.b.c.d.e.f.g.h",
        "3com.example",
      ],
    ],
  },
  {
    base: "three-generations",
    at: "machines",
    values: [
      ...["gpu", "gpu-1", "gpu-1.example.com", "1", "0-0", "constructor", "tostring", "hasownproperty", "valueof"].map(
        (name) => ({ [name]: machine() }),
      ),
      ...["a".repeat(63), "node.with.dots", "ip-10-0-0-1.ec2.internal", "prototype"].map((name) => ({
        [name]: machine(),
      })),
      { a: machine({ address: "10.0.0.1" }), b: machine({ address: "10.0.0.2" }), c: machine({ address: "fd00::1" }) },
      { a: machine({ address: "fd00::1" }), b: machine({ address: "fd00::2" }) },
      { a: machine({ address: "10.0.0.1" }), b: machine({ address: "10.0.0.10" }) },
      { a: machine({ address: "fe80::1%eth0" }), b: machine({ address: "fe80::1%eth1" }) },
      { a: machine({ address: "10.0.0.1", gpus: [] }), b: machine() },
      { a: machine({ address: "10.0.0.1", gpus: undefined }), b: machine() },
      { a: machine({ gpus: [{ model: "RTX 4090", count: 8 }] }) },
      {
        a: machine({
          gpus: [
            { model: "RTX 4090", count: 1 },
            { model: "RTX 4090", count: 2 },
          ],
        }),
      },
      { a: machine({ gpus: [{ model: "RTX 4090" }, { model: "RTX 3090" }] }) },
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon labels",
    values: [
      { role: "gpu", a: "b" },
      ...["true", "", "1", "A", "a.b", "a_b", "a-b", "x".repeat(63), "v1.2.3", "0"].map((value) => ({
        role: "gpu",
        slot: value,
      })),
      ...[
        "example.com/rack",
        "a",
        "A_B.c-d",
        "topology.kubernetes.io/zone",
        "node-role.kubernetes.io/gpu",
        "x".repeat(63),
      ].map((key) => ({ role: "gpu", [key]: "y" })),
      ...["constructor", "toString", "hasOwnProperty", "valueOf", "prototype", "1"].map((key) => ({
        role: "gpu",
        [key]: "y",
      })),
      { role: "gpu", "nvidia.com/gpu.present": "true" },
      { role: "gpu", "nvidia.com/gpu.deploy.dcgm": "false" },
      { role: "gpu", [`${"a".repeat(60)}.${"b".repeat(60)}.example.com/name`]: "y" },
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon taints",
    values: [
      {},
      ...["true:NoSchedule", ":NoSchedule", ":PreferNoSchedule", "present:NoExecute", "a.b_c-d:NoSchedule"].map(
        (text) => ({
          gpu: text,
        }),
      ),
      ...["nvidia.com/gpu", "dedicated", "node.example.com/gpu", "A_B.c", "constructor"].map((key) => ({
        [key]: ":NoSchedule",
      })),
      { gpu: "true:NoSchedule", other: ":NoExecute" },
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon extensions",
    values: [
      [],
      ["siderolabs/iscsi-tools"],
      ["siderolabs/i915"],
      ["siderolabs/util-linux-tools", "siderolabs/qemu-guest-agent"],
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon kernelArgs",
    values: [
      [],
      ["iommu=pt"],
      ["-selinux"],
      ["net.ifnames=0", "console=ttyS0,115200n8"],
      ["intel_iommu=on", "pcie_aspm=off"],
    ],
  },
  { base: "velaryon", at: "machines velaryon platform", values: ["metal", "nocloud", "aws", "hcloud", "openstack"] },
  { base: "velaryon", at: "machines velaryon secureBoot", values: [true, false] },
  {
    base: "velaryon",
    at: "machines velaryon containerd",
    values: [{}, { cdiSpecDirs: [] }, { cdiSpecDirs: ["/run/cdi", "/var/cdi/static"] }, { baseRuntimeSpec: true }],
  },
  { base: "rtx3090-timeslicing", at: "machines gpu-a powerLimit", values: [undefined, 250, 300, 280.5, 350] },
  // The cluster
  {
    base: "rtx5070ti",
    at: "clusterEndpoint",
    values: [
      ...[
        "https://10.0.10.10:6443",
        "https://10.0.10.10",
        "https://k8s.example.com:443",
        "https://k8s",
        "https://k8s.lan:6443/",
      ],
      ...[
        "https://[fd00::1]:6443",
        "https://[2001:db8::1]",
        "HTTPS://k8s.example.com:6443",
        "https://kube.home.arpa:7445",
        "https://api.example.com.",
      ],
    ],
  },
  {
    base: "rtx5070ti",
    at: "factoryUrl",
    values: [
      ...[
        "https://factory.talos.dev",
        "https://factory.talos.dev/",
        "http://factory.lan:8080",
        "https://10.0.0.5:8443",
      ],
      ...["https://[fd00::5]:8443", "http://localhost:8080", "http://127.0.0.1:9999", "https://example.com/factory"],
    ],
  },
  {
    base: "rtx5070ti",
    at: "clusterName",
    values: ["home", "Home", "my-cluster", "my_cluster", "k8s.example.com", "cluster 1", "1"],
  },
  { base: "rtx5070ti", at: "kubernetesVersion", values: ["v1.35.0", "v1.34.2", "1.35.0", "v1.33.4"] },
  {
    base: "modern",
    at: "upgrade",
    values: [
      undefined,
      {},
      { maxParallel: 1 },
      { maxParallel: 100 },
      { drain: false },
      { maxParallel: 3, drain: true },
    ],
  },
  ...["pull", "drain", "reboot", "verify", "release", "gate", "workload"].map((wait): Inputs => ({
    base: "rtx5070ti",
    at: `timeouts ${wait}`,
    values: ["90s", "10m", "1h", "1h30m", "1m30s", "1.5h"],
  })),
  {
    base: "rtx5070ti",
    at: "timeouts gate",
    values: ["1s", "24h", "48h", "168h", "0h10m0s", "1500ms", "0.5m", "3600s", "2h45m30s", "100m"],
  },
  // What exposes the GPUs
  {
    base: "rtx5070ti",
    at: "gpuOperator namespace",
    values: ["gpu-operator", "nvidia", "kube-system", "a", "x".repeat(63), "0", "gpu-1"],
  },
  {
    base: "aarhus-h100",
    at: "devicePlugin namespace",
    values: [undefined, "nvidia-device-plugin", "kube-system", "gpu"],
  },
  { base: "rtx3090-timeslicing", at: "sharing timeSlicing replicas", values: [2, 3, 10, 48, 100] },
  { base: "rtx3090-timeslicing", at: "sharing timeSlicing renameByDefault", values: [true, false] },
  {
    base: "mig",
    at: "sharing mig profile",
    values: [
      "1g.18gb",
      "all-1g.18gb",
      "1g.18gb+me",
      "all-1g.18gb.me",
      "1g.35gb",
      "2g.35gb",
      "3g.71gb",
      "4g.71gb",
      "7g.141gb",
      "all-7g.141gb",
      "disabled",
      "all-disabled",
    ],
  },
  {
    base: "mig",
    at: "sharing mig",
    values: [
      { strategy: "mixed", profile: "all-balanced" },
      { strategy: "mixed", profile: "1g.18gb" },
      { strategy: "mixed", profile: "all-disabled" },
      { strategy: "mixed", profile: "1g.18gb+me" },
      undefined,
    ],
  },
  {
    base: "mig",
    at: "machines",
    values: [
      // MIG on one machine beside a card without it on another.
      { dc: machine({ address: "10.6.0.1", gpus: [{ model: "H200" }] }), ws: machine({ address: "10.6.0.2" }) },
      {
        dc: machine({ gpus: [{ model: "H200", count: 8 }] }),
        cp: machine({ address: "10.6.0.3", role: "controlplane", gpus: [] }),
      },
    ],
  },
  {
    base: "modern",
    at: "monitoring",
    values: [
      {},
      { serviceMonitor: true },
      { dashboard: false, namespace: "monitoring" },
      { labels: { release: "kube-prometheus-stack" } },
      { labels: {} },
    ],
  },
  // Workloads
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
    values: ["longhorn", "local-path", "ceph-block.fast", "gp3", "openebs-hostpath", "rook-ceph.example.com"],
  },
  { base: "rtx5070ti", at: "workloads ollama namespace", values: ["ollama", "ai", "llm-1", "0"] },
  { base: "rtx5070ti", at: "workloads ollama active", values: [true, false] },
  {
    base: "rtx5070ti",
    at: "workloads ollama models",
    values: [
      ...[
        "llama3.2",
        "llama3.2:3b",
        "qwen3:8b",
        "mistral:latest",
        "library/mistral",
        "someone/model:tag",
        "nomic-embed-text",
      ],
      ...[
        "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M",
        "hf.co/unsloth/gemma-3-4b-it-GGUF",
        "registry.lan:5000/ns/model:1",
      ],
      ...[
        "gpt-oss:20b",
        "deepseek-r1:14b-qwen-distill-q4_K_M",
        "huggingface.co/Qwen/Qwen2.5-7B-Instruct-GGUF",
        "phi4_mini",
      ],
    ].map((model) => [model]),
  },
  { base: "rtx5070ti", at: "workloads ollama models", values: [[], ["llama3.2:3b", "qwen3:8b", "llama3.2:3b"]] },
  { base: "rtx5070ti", at: "workloads ollama pullBy", values: ["job"] },
  {
    base: "rtx5070ti",
    at: "workloads ollama image",
    values: [
      ...[
        "ollama/ollama",
        "ollama/ollama:latest",
        "ollama/ollama:0.12.3",
        "docker.io/ollama/ollama:0.12.3",
        "registry.lan:5000/ollama/ollama:1",
      ],
      ...[
        "localhost/ollama",
        "localhost:5000/ollama",
        "ghcr.io/a/b/c/d:e",
        `ollama/ollama@${digest}`,
        `ollama/ollama:0.12@${digest}`,
        "ubuntu",
      ],
      ...[
        "10.0.0.5:5000/mirror/ollama:v1",
        "[fd00::1]:5000/ollama",
        "my.registry/a_b/c__d/e-f/g.h:T_a.g-1",
        "Registry.Example.com/app",
        "a/b:Ubuntu22.04",
      ],
      ...["quay.io/org/app:2024-01-01_rc.1", `registry.example.com:443/x@sha512:${"0123456789abcdef".repeat(8)}`],
    ],
  },
  { base: "rtx5070ti", at: "workloads ollama pullImage", values: ["curlimages/curl:8.16.0", "registry.lan/curl"] },
  {
    base: "rtx5070ti",
    at: "smokeTestImage",
    values: ["registry.lan:5000/cuda-sample:vectoradd", `registry.lan/sample@${digest}`],
  },
  {
    base: "rtx5070ti",
    at: "images",
    values: [
      {},
      { validationMarkers: "registry.lan/busybox:1.37" },
      { powerLimit: "ubuntu", dcgmExporter: "registry.lan:5000/nvidia/dcgm-exporter:4.4.1" },
    ],
  },
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
    base: "omni",
    at: "machines gpu-1 containerd cdiSpecDirs",
    values: [["/var/cdi/static"], ["/run/cdi", "/etc/cdi"]],
  },
  {
    base: "aarhus-h100",
    at: "workloads vllm",
    values: [
      ...[
        "Qwen/Qwen2.5-7B-Instruct",
        "meta-llama/Llama-3.1-8B-Instruct",
        "gpt2",
        "openai/gpt-oss-20b",
        "mistralai/Mistral-7B-v0.3",
      ],
      ...[
        "/models/mine",
        "s3://bucket/model",
        "unsloth/Qwen3-0.6B-GGUF:Q4_K_M",
        "neuralmagic/Meta-Llama-3.1-8B-FP8",
        "a/b_c.d-e",
      ],
      ...["./local/model", "gs://bucket/path/model", "unsloth/Qwen3-GGUF/model-q4.gguf"],
    ].map((model) => ({ model })),
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
    ],
  },
  {
    base: "velaryon",
    at: "workloads pods",
    values: [
      ...["a", "smi", "a.b", "1", "x".repeat(63), "constructor", "valueof", "train-1"].map((name) => ({
        [name]: pod(),
      })),
      ...["HOME", "hf_home", "A.B-C", "_x", "constructor", "PYTORCH_CUDA_ALLOC_CONF", "NVIDIA_DRIVER_CAPABILITIES"].map(
        (name) => ({
          a: pod({ env: { [name]: "all" } }),
        }),
      ),
      { a: pod({ env: { A: "$(B)", B: "$(C)", C: "" } }) },
      { a: pod({ env: { OPENAI_API_KEY: "EMPTY", OLLAMA_HOST: "http://ollama.ollama.svc:11434", HF_TOKEN: "" } }) },
      { a: pod({ env: { TEXT: "two\nlines\tand a tab", JSON: '{"a":"$(id)"}', UMLAUT: "größer" } }) },
      { a: pod({ command: ["sh", "-c", "nvidia-smi; echo $HOME | cat"], args: [] }) },
      { a: pod({ command: [], args: ["--flag"] }) },
      ...["2", "500m", "0.5", "1.5", "1e1", "0"].map((cpu) => ({ a: pod({ limits: { cpu } }) })),
      ...["4Gi", "512Mi", "1e9", "1G", "128974848", "1.5Gi"].map((memory) => ({ a: pod({ limits: { memory } }) })),
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
    ],
  },
  {
    // Requests are judged by the machines that their selector fits.
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
    base: "aarhus-h100",
    at: "machines",
    values: [
      {
        a: machine({ address: "10.0.0.1", gpus: [{ ...h100, count: 4 }], labels: { size: "large" } }),
        b: machine({ address: "10.0.0.2", gpus: [h100] }),
      },
      { a: machine({ gpus: [{ ...h100, count: 8 }], taints: { gpu: ":NoSchedule" } }) },
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
  { base: "omni", at: "clusterName", values: ["frank", "my_cluster", "Heim-1", "büro"] },
  {
    base: "rtx5070ti",
    at: "patches",
    values: [
      ['machine: {nodeLabels: {rack: "7", nvidia.com/gpu.present: "true"}}\n'],
      ['machine: {nodeLabels: {nvidia.com/gpu.deploy.dcgm-exporter: "false"}}\n'],
      ["machine: {kubelet: {extraArgs: {node-labels: rack=7}}}\n"],
    ],
  },
  {
    base: "rtx5070ti",
    at: "gpuOperator values",
    values: [
      { dcgmExporter: { env: [{ name: "DCGM_EXPORTER_INTERVAL", value: "15000" }] } },
      { dcgmExporter: { env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }] } },
      { daemonsets: { updateStrategy: "OnDelete" } },
    ],
  },
  // As nvidia-smi prints cards.
  {
    base: "three-generations",
    at: "machines titan gpus",
    values: ["NVIDIA TITAN RTX", "TITAN RTX", "NVIDIA TITAN V", "NVIDIA TITAN Xp", "Tesla V100-FHHL-16GB"].map(
      (model) => [{ model }],
    ),
  },
  {
    base: "aarhus-h100",
    at: "devicePlugin values",
    values: [
      { runtimeClassName: "nvidia" },
      { deviceIDStrategy: "index", failOnInitError: false },
      { affinity: null },
      {
        config: {
          map: { default: "version: v1\nflags:\n  migStrategy: none\n", other: "version: v1\n" },
          default: "other",
        },
      },
      { namespaceOverride: "" },
    ],
  },
  {
    base: "velaryon",
    at: "devicePlugin version",
    values: ["0.14.0", "0.14.5", "0.15.1", "v0.17.4", "0.18.2", "0.20.0", "0.21.0"],
  },
  { base: "rtx5070ti", at: "gpuOperator version", values: ["v24.9.0", "25.3.4", "v26.3.3", "v26.7.2", "v27.1.0"] },
  {
    base: "rtx5070ti",
    at: "patches",
    values: [
      ["machine: {type: worker}\n"],
      ["machine: {network: {hostname: k8s-worker4.lan}}\n"],
      ["apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: k8s-worker4\n"],
      ["machine: {kubelet: {extraArgs: {node-labels: 'rack=7,example.com/row=b'}}}\n"],
      ["machine: {env: {SSL_CERT_FILE: /etc/ssl/ca.pem, TOKEN_FILE: /var/token}}\n"],
    ],
  },
  {
    base: "velaryon",
    at: "workloads pods",
    values: [{ a: pod({ nodeSelector: { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" } }) }],
  },
  { base: "velaryon", at: "talosVersion", values: ["v1.11.6", "v1.11.9", "v1.12.0-beta.1"] },
  {
    base: "aarhus-h100",
    at: "workloads",
    values: [{ vllm: { model: "a/b", gpus: 2, args: ["--tensor_parallel_size=2", "--gpu-memory-utilization=0.95"] } }],
  },
];
