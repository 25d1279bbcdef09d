import { comfyUiImage, vllmImage } from "../../components/recipe/facts/cuda";
import { workloadImages } from "../../components/recipe/facts/data/images";
import type { Plan } from "../../components/recipe";

/** Every image that machines pull for a stack, but for those that the chart's own values name; sorted. */
export function imagesOf({ machines, kubernetes, spec: { workloads = {}, monitoring } }: Plan): string[] {
  const { images, markers, mode, smokeTestImage, cudaVersion } = kubernetes;
  const { ollama, comfyui, vllm, litellm, pods = {} } = workloads;
  const named = [
    ...machines.map(({ installerImage }) => installerImage),
    smokeTestImage,
    markers.length > 0 && images.validationMarkers,
    machines.some(({ powerLimit }) => powerLimit !== undefined) && images.powerLimit,
    monitoring !== undefined && mode === "devicePlugin" && images.dcgmExporter,
    ollama && (ollama.image ?? workloadImages.ollama),
    ollama?.models?.length && ollama.pullBy !== "postStart" && (ollama.pullImage ?? workloadImages.modelPull),
    comfyui && (comfyui.image ?? comfyUiImage(cudaVersion)),
    vllm && (vllm.image ?? vllmImage(cudaVersion)),
    litellm && (litellm.image ?? workloadImages.litellm),
    ...Object.values(pods).map(({ image }) => image),
  ];
  return [...new Set(named.filter((image) => typeof image === "string"))].sort();
}
