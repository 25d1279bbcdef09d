import type { Plan } from "../../components/recipe";
import { comfyUiImage, vllmImage } from "../../components/recipe/facts/cuda";
import { workloads as workloadImages } from "../../components/recipe/facts/data/images.json";
import { wayOf } from "../../components/recipe/facts/way";
import type { WorkloadsSpec } from "../../components/recipe/spec/index";
import { type WorkloadKind, workloadsOf } from "../../components/recipe/stack/workloads";

/** Images of each kind of workload, by the newest CUDA that the drivers run. A kind that is missing here does not compile. */
const ofWorkload: {
  [W in WorkloadKind]: (said: NonNullable<WorkloadsSpec[W]>, cuda: string) => string[];
} = {
  ollama: ({ image = workloadImages.ollama, models, pullImage = workloadImages.modelPull }) =>
    models?.length ? [image, pullImage] : [image],
  comfyui: ({ image }, cuda) => [image ?? comfyUiImage(cuda)],
  litellm: ({ image = workloadImages.litellm }) => [image],
  vllm: ({ image }, cuda) => [image ?? vllmImage(cuda)],
  pods: (pods) => Object.values(pods).map(({ image }) => image),
};

/** Every image that machines pull for a stack, but for those that the chart's own values name; sorted. */
export function imagesOf({ machines, kubernetes, spec }: Plan): string[] {
  const { images, markers, mode, smokeTestImage, cudaVersion } = kubernetes;
  const named = [
    ...machines.map(({ installerImage }) => installerImage),
    smokeTestImage,
    markers.length > 0 && images.validationMarkers,
    machines.some(({ powerLimit }) => powerLimit !== undefined) && images.powerLimit,
    spec.monitoring !== undefined && !wayOf(mode).findsNodes && images.dcgmExporter,
    ...workloadsOf(spec).flatMap(({ kind, said }) =>
      (ofWorkload[kind] as (said: unknown, cuda: string) => string[])(said, cudaVersion),
    ),
  ];
  return [...new Set(named.filter((image) => typeof image === "string"))].sort();
}
