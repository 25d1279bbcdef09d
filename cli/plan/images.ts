import type { Plan } from "../../components/recipe";
import { workloads as workloadImages } from "../../components/recipe/facts/data/images.json";
import { gpuProviderOf } from "../../components/recipe/facts/gpu-provider";
import type { WorkloadsSpec } from "../../components/recipe/spec/index";
import { type WorkloadKind, workloadsOf } from "../../components/recipe/stack/workloads";
import { defaultImages } from "../../components/recipe/stack/workloads/default-images";

/**
 * Images of each kind of workload, from its specification and its default image. This file does not compile if a kind
 * is missing here.
 */
const ofWorkload: {
  [W in WorkloadKind]: (workload: NonNullable<WorkloadsSpec[W]>, byDefault: string) => string[];
} = {
  ollama: ({ image, models, pullImage = workloadImages.modelPull }, byDefault) =>
    models?.length ? [image ?? byDefault, pullImage] : [image ?? byDefault],
  comfyui: ({ image }, byDefault) => [image ?? byDefault],
  litellm: ({ image }, byDefault) => [image ?? byDefault],
  vllm: ({ image }, byDefault) => [image ?? byDefault],
  pods: (pods) => Object.values(pods).map(({ image }) => image),
};

/** All images that machines pull for a stack, sorted, without those that the chart's own values name. */
export function imagesOf({ machines, kubernetes, spec }: Plan): string[] {
  const { images, markers, mode, smokeTestImage, cudaVersion } = kubernetes;
  const candidates = [
    ...machines.map(({ installerImage }) => installerImage),
    smokeTestImage,
    markers.length > 0 && images.validationMarkers,
    machines.some(({ powerLimit }) => powerLimit !== undefined) && images.powerLimit,
    spec.monitoring !== undefined && !gpuProviderOf(mode).findsNodes && images.dcgmExporter,
    ...workloadsOf(spec).flatMap(({ kind, spec: workload }) =>
      (ofWorkload[kind] as (workload: unknown, byDefault: string) => string[])(
        workload,
        defaultImages[kind]?.(cudaVersion) ?? "",
      ),
    ),
  ];
  return [...new Set(candidates.filter((image) => typeof image === "string"))].sort();
}
