import { comfyUiImage, vllmImage } from "../../components/recipe/facts/cuda";
import { workloadImages } from "../../components/recipe/facts/data/images";
import { type WorkloadKind, workloadsOfKind } from "../../components/recipe/stack/workloads";
import type { Plan } from "../../components/recipe";

/** Every image that machines pull for a stack, but for those that the chart's own values name; sorted. */
export function imagesOf({ machines, kubernetes, spec }: Plan): string[] {
  const { images, markers, mode, resourceName, smokeTestImage, cudaVersion } = kubernetes;
  const { workloads: { litellm, pods = {} } = {}, monitoring } = spec;
  const specsOf = <W extends WorkloadKind>(kind: W) => workloadsOfKind(spec, kind).map((workload) => workload.said);
  const named = [
    ...machines.map(({ installerImage }) => installerImage),
    resourceName !== "" && smokeTestImage,
    markers.length > 0 && images.validationMarkers,
    machines.some(({ powerLimit }) => powerLimit !== undefined) && images.powerLimit,
    monitoring !== undefined && mode === "devicePlugin" && images.dcgmExporter,
    ...specsOf("ollama").flatMap(
      ({ image = workloadImages.ollama, models, pullBy, pullImage = workloadImages.modelPull }) =>
        models?.length && pullBy !== "postStart" ? [image, pullImage] : [image],
    ),
    ...specsOf("comfyui").map(({ image = comfyUiImage(cudaVersion) }) => image),
    ...specsOf("vllm").map(({ image = vllmImage(cudaVersion) }) => image),
    litellm && (litellm.image ?? workloadImages.litellm),
    ...Object.values(pods).map(({ image }) => image),
  ];
  return [...new Set(named.filter((image) => typeof image === "string"))].sort();
}
