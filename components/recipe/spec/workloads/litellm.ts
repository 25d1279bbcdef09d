/** LiteLLM: one OpenAI-compatible endpoint in front of the models of ollama and vLLM. It needs no GPU. */
export interface LiteLlmSpec {
  /**
   * Whether the proxy runs. With `false`, the proxy's objects stay, but the proxy has no replicas.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Image of the proxy's container. The package does not verify that the registry still has the default tag.
   * @default `ghcr.io/berriai/litellm` with a tag that this package pins
   * @example `ghcr.io/berriai/litellm:v1.110.2`
   */
  image?: string;
  /**
   * Name of an existing Secret in the proxy's namespace. Its value `LITELLM_MASTER_KEY` is the API key that clients
   * must send.
   * @default none: clients need no key
   * @example `litellm-key`
   */
  masterKeySecret?: string;
  /**
   * Other namespaces whose pods may reach the proxy. Pods of the proxy's namespace may always reach it. `[]` allows no
   * other namespace. The stack makes a NetworkPolicy, which has an effect only if the cluster's network plugin enforces
   * such policies.
   * @default every namespace, without a NetworkPolicy
   * @example `[open-webui]`
   */
  allowFrom?: string[];
  /**
   * Namespace of the proxy. The stack creates it, unless you set `masterKeySecret`: then the namespace and the Secret
   * must already exist.
   * @default `litellm`
   * @example `team-gateway`
   */
  namespace?: string;
}
