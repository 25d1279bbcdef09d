import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

/** Ollama: a server of language models. */
export interface OllamaSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Names of the models that the server pulls. If you remove a model from the list, the model stays on the volume.
   * @default none
   * @example `[llama3.2:3b]`
   */
  models?: string[];
  /**
   * Image of the server's container. The package does not verify that the registry still has the default tag.
   * @default `ollama/ollama` with a tag that this package pins
   * @example `ollama/ollama:0.32.15`
   */
  image?: string;
  /**
   * Image of the Jobs that ask the server to pull its models. It must contain `sh`, `curl` and `grep`. The package
   * does not verify that the registry still has the default tag.
   * @default `curlimages/curl:8.16.0`
   * @example `curlimages/curl:8.16.0`
   */
  pullImage?: string;
  /**
   * Size of the volume for the models.
   * @default `30Gi`
   * @example `100Gi`
   */
  storage?: string;
  /**
   * Namespace of the server. The stack creates it, so no other workload may create a namespace of this name.
   * @default `ollama`
   * @example `team-ollama`
   */
  namespace?: string;
}
