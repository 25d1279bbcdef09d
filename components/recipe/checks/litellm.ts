import type { Check } from "./check";

/** LiteLLM has ollama's models to route to. */
export const liteLlm: Check = {
  id: "litellm",
  source: "litellm, docs/my-website/docs/providers/ollama.md: a model list names the server of each model",
  find: ({ spec }) => {
    const { litellm, ollama } = spec.workloads ?? {};
    if (litellm === undefined || litellm.active === false) return [];
    const complaint = (problem: string, remedy: string) => ({
      field: "workloads.litellm",
      problem,
      why: "it would have no model to route to",
      remedy,
    });
    if (ollama === undefined || ollama.active === false)
      return complaint("is there, but ollama does not run", "add workloads.ollama, or make litellm `active: false`");
    return (ollama.models ?? []).length === 0
      ? complaint("is there, but ollama has no models", "name them under workloads.ollama.models")
      : [];
  },
};
