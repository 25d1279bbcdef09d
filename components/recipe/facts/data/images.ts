import type { ImagesSpec } from "../../spec/index";

/**
 * Images that a stack gets when it names none. The tags are those of the projects' releases as read in their sources; that
 * a registry still serves each of them is not verified, since this package asks no registry. So each can be overridden: the
 * first group by `images` of a cluster, the second by `image` of its workload, `smokeTestImage` and ollama's `pullImage`.
 * Images that follow from a driver's CUDA are in data/cuda.ts.
 */
export const helperImages: Required<ImagesSpec> = {
  // Any with sh, cmp and cp. Source: docker-library/official-images, library/busybox.
  validationMarkers: "busybox:1.37",
  // Any with bash, awk and glibc: the NVIDIA runtime brings nvidia-smi. Source: docker-library/official-images, library/ubuntu.
  powerLimit: "ubuntu:24.04",
  // The one of GPU Operator v26.3.3 (gpu-operator, deployments/gpu-operator/values.yaml).
  dcgmExporter: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless",
};

/** Images of the workloads that do not follow from a CUDA. */
export const workloadImages = {
  // Source: ollama/ollama, releases.
  ollama: "ollama/ollama:0.32.15",
  // Any with sh, curl and grep. Source: curl/curl-container, releases.
  modelPull: "curlimages/curl:8.16.0",
  // Source: BerriAI/litellm-docs#417 (tags are plain versions from 1.84 on; that this one is served was seen there).
  litellm: "ghcr.io/berriai/litellm:v1.89.4",
} as const;

/**
 * Months in which the releases behind the default images of the servers came out; of those that follow from a driver's CUDA the
 * table says it (data/cuda.ts). Renew image and month together: a test asks that none is a year older than the tables' own date.
 * Source: when projects that pin the tag took it up (AndreiGavriliu/homelab#7196; docker-hardened-images/catalog#439, 1.89.2).
 */
export const released: Record<Exclude<keyof typeof workloadImages, "modelPull">, string> = {
  ollama: "2026-08",
  litellm: "2026-06",
};
