/** LiteLLM: one OpenAI-compatible endpoint in front of the models of ollama and vLLM. Needs no GPU. */
export interface LiteLlmSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Container image. The registry was not asked for the default tag.
   * @default `ghcr.io/berriai/litellm` of a release pinned by this package
   * @example `ghcr.io/berriai/litellm:v1.110.2`
   */
  image?: string;
  /**
   * Secret in its namespace with the key `LITELLM_MASTER_KEY`, which clients must then send. It must exist.
   * @default none: open to the cluster
   * @example `litellm-key`
   */
  masterKeySecret?: string;
  /**
   * Namespaces whose pods may reach it; those of its own namespace always may. `[]`: no others. It makes a NetworkPolicy, which has an
   * effect only where the cluster's network plugin enforces such policies.
   * @default none: every pod of the cluster may reach it
   * @example `[open-webui]`
   */
  allowFrom?: string[];
  /**
   * Namespace. The stack makes it, unless `masterKeySecret` is set: that Secret must exist before, so its namespace must too.
   * @default `litellm`
   * @example `team-gateway`
   */
  namespace?: string;
}
