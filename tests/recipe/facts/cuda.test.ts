import { judge, findingsOf } from "../../../components/recipe";
import { cudaFloor, cudaOfDriver, cudaOfImage, vllmImage } from "../../../components/recipe/facts/cuda";

test.each([
  ["535.247.01", "12.2"],
  ["550.144.03", "12.4"],
  ["570.211.01", "12.8"],
  ["580.126.20", "13.0"],
  ["595.91.07", "13.2"],
  ["583.10", "13.0"],
  ["470.1", "0.0"],
])("driver %s runs CUDA %s", (driver, cuda) => expect(cudaOfDriver(driver)).toBe(cuda));

test.each([
  ["yanwk/comfyui-boot:cu124-slim", "12.4"],
  ["yanwk/comfyui-boot:cu130-slim-v2", "13.0"],
  ["mmartial/comfyui-nvidia-docker:ubuntu24_cuda12.8-latest", "12.8"],
  ["nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04", "11.7"],
  ["nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", "12.5"],
  ["nvidia/cuda:13.0.1-devel@sha256:0123", "13.0"],
  ["pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime", "13.0"],
  ["registry:5000/cuda/app:12.4", undefined],
  ["vllm/vllm-openai:v0.11.0", "12.8"],
  ["vllm/vllm-openai:v0.8.5.post1", "12.4"],
  ["vllm/vllm-openai:v0.12.0-cu130", "13.0"],
  ["vllm/vllm-openai:latest", undefined],
  ["ollama/ollama:0.32.15", undefined],
  ["nvcr.io/nvidia/pytorch:25.01-py3", undefined],
  ["app", undefined],
])("image %s tells CUDA %s", (image, cuda) => expect(cudaOfImage(image)).toBe(cuda));

test.each([
  ["12.9", "525.60.13"],
  ["13.1", "580.65.06"],
  ["10.2", undefined],
])("CUDA %s needs driver %s", (cuda, driver) => expect(cudaFloor(cuda)).toBe(driver));

/** A server of vLLM on one RTX 5070 Ti, whose driver follows from release and branch. */
const serving = (talosVersion: string, branch: string, tag: string): unknown => ({
  talosVersion,
  machines: { g: { address: "10.1.0.5", role: "worker", configuration: "adopted", gpus: [{ model: "RTX 5070 Ti" }] } },
  driver: { branch },
  gpuOperator: { version: talosVersion.startsWith("v1.12") ? "v25.10.1" : "v26.3.3" },
  workloads: { vllm: { model: "a/b", image: `vllm/vllm-openai:${tag}` } },
});

// vLLM's images are of CUDA 13 from 0.20.0 on (vllm#42738), and CUDA 13 needs driver 580 (cudaFloors).
test.each([
  ["v1.12.6", "production", "570.211.01", "v0.20.0", true],
  ["v1.12.6", "production", "570.211.01", "v0.29.0", true],
  ["v1.12.6", "production", "570.211.01", "v0.19.1", false],
  ["v1.12.6", "production", "570.211.01", "v0.28.0-cu129", false],
  ["v1.12.6", "lts", "580.126.20", "v0.20.0", false],
  ["v1.13.9", "production", "595.91.07", "v0.29.0", false],
])("Talos %s, %s, driver %s: vLLM's %s is refused: %s", (talosVersion, branch, driver, tag, refused) => {
  const findings = findingsOf(serving(talosVersion, branch, tag));
  expect(findings.map(({ check, field }) => `${check} ${field}`)).toEqual(
    refused ? ["cuda-image workloads.vllm.image"] : [],
  );
  if (refused) expect(findings[0]?.problem).toContain(`needs driver 580.65.06, but g runs ${driver}`);
});

// docs.nvidia.com/deploy/cuda-compatibility, forward compatibility: data-center cards alone; a GeForce gets error 804.
test.each<[cards: Record<string, string[]>, wrong: string[], noted: string]>([
  [{ a: ["L40S"], b: ["V100-PCIE-16GB"] }, ["no longer knows the V100-PCIE-16GB (Volta) of b"], "a, b"],
  [{ a: ["L40S"], b: ["A100-SXM4-80GB"] }, [], "a, b"],
  [{ a: ["L40S", "RTX 4090"] }, ["needs driver 580.65.06, but a runs 570.211.01"], ""],
  [{ a: ["L40S"], b: ["RTX 4090"] }, ["needs driver 580.65.06, but b runs 570.211.01"], "a"],
])("CUDA 13 with driver 570 on %j", (cards, says, noted) => {
  const machine = { role: "worker", configuration: "adopted" };
  const machines = Object.entries(cards).map(([name, models], index) => [
    name,
    { ...machine, address: `10.1.0.${index + 5}`, gpus: models.map((model) => ({ model })) },
  ]);
  const { findings, plan } = judge({
    talosVersion: "v1.12.6",
    machines: Object.fromEntries(machines),
    gpuOperator: { version: "v25.10.1" },
    workloads: { pods: { train: { image: "nvidia/cuda:13.0.1-base-ubuntu24.04" } } },
  });
  const wrong = findings.filter(({ check }) => check === "cuda-image").map(({ problem }) => problem);
  expect(wrong).toEqual(says.map((words) => expect.stringContaining(words)));
  const notes = plan!.notes.filter((note) => note.includes("cuda-compat"));
  const older = noted.replaceAll(/\w+/g, "$& (570.211.01)");
  const note = `workloads.pods.train.image: its CUDA 13.0 is newer than the driver of ${older};`;
  expect(notes).toEqual(noted === "" ? [] : [expect.stringContaining(note)]);
});

test.each([
  ["whose CUDA the driver runs", "v0.20.0"],
  ["that tells none", "latest"],
])("an image %s gets no note", (_, tag) => {
  expect(judge(serving("v1.12.6", "lts", tag)).plan!.notes.join()).not.toContain("cuda-compat");
});

test.each([
  ["12.2", "v0.8.5"],
  ["12.6", "v0.8.5"],
  ["12.8", "v0.10.2"],
  ["13.0", "v0.22.1"],
  ["13.2", "v0.22.1"],
])("vLLM's default image for a driver of CUDA %s is %s", (cuda, tag) =>
  expect(vllmImage(cuda)).toBe(`vllm/vllm-openai:${tag}`),
);
