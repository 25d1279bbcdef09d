import {
  oldestDriverForCuda,
  cudaOfDriver,
  cudaOfImage,
  vllmImage,
} from "../../../components/recipe/facts/cuda";
import { ofVllm } from "../../../components/recipe/facts/data/cuda.json";

test.each([
  ["535.247.01", "12.2"],
  ["550.144.03", "12.4"],
  ["570.211.01", "12.8"],
  ["580.126.20", "13.0"],
  ["595.91.07", "13.2"],
  ["610.10", "13.3"],
  ["615.71.10", "13.4"],
  ["583.10", "13.0"],
])("driver %s runs CUDA %s", (driver, cuda) => expect(cudaOfDriver(driver)).toBe(cuda));

test("a driver older than the tables runs no known CUDA, so its CUDA is 0.0", () =>
  expect(cudaOfDriver("470.1")).toBe("0.0"));

test.each([
  ["yanwk/comfyui-boot:cu124-slim", "12.4"],
  ["yanwk/comfyui-boot:cu130-slim-v2", "13.0"],
  ["mmartial/comfyui-nvidia-docker:ubuntu24_cuda12.8-latest", "12.8"],
  ["nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04", "11.7"],
  ["nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", "12.5"],
  ["nvidia/cuda:13.0.1-devel@sha256:0123", "13.0"],
  ["pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime", "13.0"],
  ["vllm/vllm-openai:v0.11.0", "12.8"],
  ["vllm/vllm-openai:v0.8.5.post1", "12.4"],
  ["vllm/vllm-openai:v0.12.0-cu130", "13.0"],
])("the name of the image %s shows that the image has CUDA %s", (image, cuda) =>
  expect(cudaOfImage(image)).toBe(cuda),
);

test.each([
  "registry:5000/cuda/app:12.4",
  "vllm/vllm-openai:latest",
  "ollama/ollama:0.32.15",
  "nvcr.io/nvidia/pytorch:25.01-py3",
  "app",
])("the name of the image %s does not show the CUDA release of the image", (image) =>
  expect(cudaOfImage(image)).toBeUndefined(),
);

test.each([
  ["12.9", "525.60.13"],
  ["13.1", "580.65.06"],
])("CUDA %s needs driver %s", (cuda, driver) => expect(oldestDriverForCuda(cuda)).toBe(driver));

test("CUDA 10.2 has no known oldest driver", () =>
  expect(oldestDriverForCuda("10.2")).toBeUndefined());

test.each([
  ["12.2", "v0.8.5"],
  ["12.6", "v0.8.5"],
  ["12.8", "v0.10.2"],
  ["13.0", ofVllm[0]!.image],
  ["13.4", ofVllm[0]!.image],
])("vLLM's default image for a driver of CUDA %s is %s", (cuda, tag) =>
  expect(vllmImage(cuda)).toBe(`vllm/vllm-openai:${tag}`),
);
