import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

/** Ollama: a server of language models. */
export interface OllamaSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Models to pull.
   * @default none
   * @example `[llama3.2:3b]`
   */
  models?: string[];
  /**
   * Container image. The registry was not asked for the default tag.
   * @default `ollama/ollama` of a release pinned by this package
   * @example `ollama/ollama:0.32.15`
   */
  image?: string;
  /**
   * Image of the Jobs that pull the models; any with sh, curl and grep. The registry was not asked for the default tag.
   * @default `curlimages/curl:8.16.0`
   * @example `curlimages/curl:8.16.0`
   */
  pullImage?: string;
  /**
   * Size of the volume for models.
   * @default `30Gi`
   * @example `100Gi`
   */
  storage?: string;
  /**
   * Namespace, which the workload makes. No other workload may make the same one.
   * @default `ollama`
   * @example `team-ollama`
   */
  namespace?: string;
}
