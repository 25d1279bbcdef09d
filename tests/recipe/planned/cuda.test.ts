import { expectPlan, type StackChange } from "./expect-plan";

const cuda13Pod = { pods: { train: { image: "nvidia/cuda:13.0.1-base-ubuntu24.04" } } };

/** vLLM with an image as the only workload. */
const vllmAlone = (image: string): StackChange => ({
  workloads: { ollama: null, comfyui: null, vllm: { model: "a/b", image } },
});

test("on Talos 1.9, whose driver runs CUDA 12.4, the smoke test's image has CUDA 11.7.1", () =>
  expectPlan(
    { talosVersion: "v1.9.6", change: { gpuOperator: { version: "v25.3.4" } } },
    {
      kubernetes: {
        cudaVersion: "12.4",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04",
      },
    },
  ));

test("on Talos 1.12, the branch lts runs CUDA 13.0, and the smoke test's image has CUDA 12.5", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "RTX 5070 Ti" }] },
      change: { driver: { branch: "lts" } },
    },
    {
      kubernetes: {
        cudaVersion: "13.0",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
      },
    },
  ));

test("on Talos 1.13, the default driver runs CUDA 13.2, and the smoke test's image has CUDA 12.5", () =>
  expectPlan(
    { machine: { gpus: [{ model: "L4" }] } },
    {
      kubernetes: {
        cudaVersion: "13.2",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
      },
    },
  ));

test("a card that CUDA 13 dropped limits its stack to CUDA 12.9", () =>
  expectPlan(
    { machine: { gpus: [{ model: "TITAN V" }] } },
    {
      kubernetes: {
        cudaVersion: "12.9",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
      },
    },
  ));

test("the card with the oldest CUDA limits the stack's CUDA", () =>
  expectPlan({ base: "three-generations" }, { kubernetes: { cudaVersion: "12.9" } }));

test("smokeTestImage replaces the default image of the smoke test", () =>
  expectPlan(
    { base: "modern", change: { smokeTestImage: "x:1" } },
    { kubernetes: { smokeTestImage: "x:1" } },
  ));

// From 0.20.0 on, vLLM's images have CUDA 13 (vllm#42738), and CUDA 13 needs driver 580 (cudaFloors).
test("driver 570 is too old for vLLM 0.20.0, whose image has CUDA 13", () =>
  expectPlan(
    { base: "rtx5070ti", change: vllmAlone("vllm/vllm-openai:v0.20.0") },
    {
      findings: [
        /^cuda-image workloads\.vllm\.image: .*needs driver 580\.65\.06, but k8s-worker4 runs 570\.211\.01/,
      ],
    },
  ));

test("driver 570 is too old for vLLM 0.29.0, whose image has CUDA 13", () =>
  expectPlan(
    { base: "rtx5070ti", change: vllmAlone("vllm/vllm-openai:v0.29.0") },
    {
      findings: [
        /^cuda-image workloads\.vllm\.image: .*needs driver 580\.65\.06, but k8s-worker4 runs 570\.211\.01/,
      ],
    },
  ));

test("driver 570 is new enough for vLLM 0.19.1", () =>
  expectPlan(
    { base: "rtx5070ti", change: vllmAlone("vllm/vllm-openai:v0.19.1") },
    { findings: [] },
  ));

test("driver 570 is new enough for vLLM's image with CUDA 12.9", () =>
  expectPlan(
    { base: "rtx5070ti", change: vllmAlone("vllm/vllm-openai:v0.28.0-cu129") },
    { findings: [] },
  ));

test("vLLM 0.20.0 on driver 580 gets no note on forward compatibility", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: {
        driver: { branch: "lts" },
        workloads: {
          ollama: null,
          comfyui: null,
          vllm: { model: "a/b", image: "vllm/vllm-openai:v0.20.0" },
        },
      },
    },
    { absentNotes: [/cuda-compat/] },
  ));

test("vLLM's tag latest, which does not show its CUDA release, gets no note on forward compatibility", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: {
        driver: { branch: "lts" },
        workloads: {
          ollama: null,
          comfyui: null,
          vllm: { model: "a/b", image: "vllm/vllm-openai:latest" },
        },
      },
    },
    { absentNotes: [/cuda-compat/] },
  ));

test("driver 595 is new enough for vLLM 0.29.0", () =>
  expectPlan(
    {
      base: "one-card",
      machine: { gpus: [{ model: "RTX 5070 Ti" }] },
      change: { workloads: { vllm: { model: "a/b", image: "vllm/vllm-openai:v0.29.0" } } },
    },
    { findings: [] },
  ));

// Only data-center cards support forward compatibility: a GeForce gets error 804
// (docs.nvidia.com/deploy/cuda-compatibility).

const driver570 = String.raw`(b|gpu) \(570\.211\.01\)`;
const needsCompat = new RegExp(
  String.raw`^workloads\.pods\.train\.image: its CUDA 13\.0 is too new for the driver of ` +
    `${driver570}, ${driver570};.*cuda-compat`,
);

test("on data-center cards with driver 570, an image with CUDA 13 gets a note on forward compatibility", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }] },
      change: {
        gpuOperator: { version: "v25.10.1" },
        workloads: cuda13Pod,
        machines: {
          b: {
            address: "10.1.0.6",
            role: "worker",
            configuration: "adopted",
            gpus: [{ model: "A100-SXM4-80GB" }],
          },
        },
      },
    },
    { someNotes: [needsCompat] },
  ));

test("an image with CUDA 13 is refused if a machine has a data-center card that CUDA 13 dropped", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }] },
      change: {
        gpuOperator: { version: "v25.10.1" },
        workloads: cuda13Pod,
        machines: {
          b: {
            address: "10.1.0.6",
            role: "worker",
            configuration: "adopted",
            gpus: [{ model: "V100-PCIE-16GB" }],
          },
        },
      },
    },
    {
      someNotes: [needsCompat],
      findings: [/^cuda-image .*no longer supports the V100-PCIE-16GB \(Volta\) of b/],
    },
  ));

test("an image with CUDA 13 is refused if one of two machines has a GeForce with driver 570", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }] },
      change: {
        gpuOperator: { version: "v25.10.1" },
        workloads: cuda13Pod,
        machines: {
          b: {
            address: "10.1.0.6",
            role: "worker",
            configuration: "adopted",
            gpus: [{ model: "RTX 4090" }],
          },
        },
      },
    },
    {
      someNotes: [/is too new for the driver of gpu \(570\.211\.01\);.*cuda-compat/],
      findings: [/^cuda-image .*needs driver 580\.65\.06, but b runs 570\.211\.01/],
    },
  ));

test("an image with CUDA 13 is refused if a machine has a GeForce with driver 570 next to a data-center card", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }, { model: "RTX 4090" }] },
      change: { gpuOperator: { version: "v25.10.1" }, workloads: cuda13Pod },
    },
    {
      absentNotes: [/cuda-compat/],
      findings: [/^cuda-image .*needs driver 580\.65\.06, but gpu runs 570\.211\.01/],
    },
  ));
