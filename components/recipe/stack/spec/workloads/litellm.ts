/** LiteLLM: one OpenAI-compatible endpoint in front of ollama's models. Needs no GPU. */
export interface LiteLlmSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Image. That the default's tag is served is not verified.
   * @default `ghcr.io/berriai/litellm` of a release pinned by this package
   * @example `ghcr.io/berriai/litellm:v1.89.4`
   */
  image?: string;
  /**
   * Secret in its namespace with the key `LITELLM_MASTER_KEY`, which clients must then send. It must exist.
   * @default none: open to the cluster
   * @example `litellm-key`
   */
  masterKeySecret?: string;
  /**
   * Namespace. A cluster makes it unless a `masterKeySecret` is named, which must be there before.
   * @default `litellm`
   * @example `ai`
   */
  namespace?: string;
}
