import { expectPlan, type StackChange } from "./expect-plan";

const cuda13 = { pods: { train: { image: "nvidia/cuda:13.0.1-base-ubuntu24.04" } } };

/** vLLM with an image as the only workload. */
const onlyVllm = (image: string): StackChange => ({
  workloads: { ollama: null, comfyui: null, vllm: { model: "a/b", image } },
});

test("CUDA of Talos 1.9", () =>
  expectPlan(
    { talosVersion: "v1.9.6", change: { gpuOperator: { version: "v25.3.4" } } },
    {
      kubernetes: {
        cudaVersion: "12.4",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04",
      },
    },
  ));

test("CUDA of the branch lts", () =>
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

test("CUDA of Talos 1.13", () =>
  expectPlan(
    { machine: { gpus: [{ model: "L4" }] } },
    {
      kubernetes: {
        cudaVersion: "13.2",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
      },
    },
  ));

test("CUDA of a card that CUDA 13 dropped", () =>
  expectPlan(
    { machine: { gpus: [{ model: "TITAN V" }] } },
    {
      kubernetes: {
        cudaVersion: "12.9",
        smokeTestImage: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
      },
    },
  ));

test("the oldest driver decides", () =>
  expectPlan({ base: "three-generations" }, { kubernetes: { cudaVersion: "12.9" } }));

test("a smoke test image of the user", () =>
  expectPlan(
    { base: "modern", change: { smokeTestImage: "x:1" } },
    { kubernetes: { smokeTestImage: "x:1" } },
  ));

// vLLM's images are of CUDA 13 from 0.20.0 on (vllm#42738), and CUDA 13 needs driver 580 (cudaFloors).
test("vLLM 0.20.0 on driver 570", () =>
  expectPlan(
    { base: "rtx5070ti", change: onlyVllm("vllm/vllm-openai:v0.20.0") },
    {
      findings: [
        /^cuda-image workloads\.vllm\.image: .*needs driver 580\.65\.06, but k8s-worker4 runs 570\.211\.01/,
      ],
    },
  ));

test("vLLM 0.29.0 on driver 570", () =>
  expectPlan(
    { base: "rtx5070ti", change: onlyVllm("vllm/vllm-openai:v0.29.0") },
    {
      findings: [
        /^cuda-image workloads\.vllm\.image: .*needs driver 580\.65\.06, but k8s-worker4 runs 570\.211\.01/,
      ],
    },
  ));

test("vLLM 0.19.1 on driver 570", () =>
  expectPlan(
    { base: "rtx5070ti", change: onlyVllm("vllm/vllm-openai:v0.19.1") },
    { findings: [] },
  ));

test("vLLM for CUDA 12 on driver 570", () =>
  expectPlan(
    { base: "rtx5070ti", change: onlyVllm("vllm/vllm-openai:v0.28.0-cu129") },
    { findings: [] },
  ));

test("vLLM 0.20.0 on driver 580 needs no forward compatibility", () =>
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
    { noNote: [/cuda-compat/] },
  ));

test("vLLM's tag latest names no CUDA", () =>
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
    { noNote: [/cuda-compat/] },
  ));

test("vLLM 0.29.0 on driver 595", () =>
  expectPlan(
    {
      base: "one-card",
      machine: { gpus: [{ model: "RTX 5070 Ti" }] },
      change: { workloads: { vllm: { model: "a/b", image: "vllm/vllm-openai:v0.29.0" } } },
    },
    { findings: [] },
  ));

// Forward compatibility is for data-center cards only: a GeForce gets error 804
// (docs.nvidia.com/deploy/cuda-compatibility).

const driver570 = String.raw`(b|gpu) \(570\.211\.01\)`;
const needsCompat = new RegExp(
  String.raw`^workloads\.pods\.train\.image: its CUDA 13\.0 is newer than the driver of ` +
    `${driver570}, ${driver570};.*cuda-compat`,
);

test("CUDA 13 with driver 570 on data-center cards", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }] },
      change: {
        gpuOperator: { version: "v25.10.1" },
        workloads: cuda13,
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

test("CUDA 13 with driver 570 on two data-center cards, one of which CUDA 13 dropped", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }] },
      change: {
        gpuOperator: { version: "v25.10.1" },
        workloads: cuda13,
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

test("CUDA 13 with driver 570 and a GeForce in another machine", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }] },
      change: {
        gpuOperator: { version: "v25.10.1" },
        workloads: cuda13,
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
      someNotes: [/is newer than the driver of gpu \(570\.211\.01\);.*cuda-compat/],
      findings: [/^cuda-image .*needs driver 580\.65\.06, but b runs 570\.211\.01/],
    },
  ));

test("CUDA 13 with driver 570 and a GeForce in the same machine", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "L40S" }, { model: "RTX 4090" }] },
      change: { gpuOperator: { version: "v25.10.1" }, workloads: cuda13 },
    },
    {
      noNote: [/cuda-compat/],
      findings: [/^cuda-image .*needs driver 580\.65\.06, but gpu runs 570\.211\.01/],
    },
  ));
