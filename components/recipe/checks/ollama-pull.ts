import { workloadsOfKind } from "../stack/workloads";
import type { Check } from "./check";

/** Models are not pulled by a postStart hook where that kills the container. */
export const ollamaPull: Check = {
  id: "ollama-pull",
  source: "siderolabs/extensions#940: reported for a postStart hook's exec; gone with Talos 1.13",
  find: ({ spec, plan }) =>
    workloadsOfKind(spec, "ollama")
      .filter(
        ({ said: { pullBy, models = [] } }) => pullBy === "postStart" && plan.era === "legacy" && models.length > 0,
      )
      .map(({ field }) => ({
        field: `${field}.pullBy`,
        problem: "postStart on Talos ≤ 1.12",
        why: "the hook's exec fails in a GPU container there, so Kubernetes kills ollama seconds after it started, again and again",
        remedy: "leave it out: a job pulls the models once the server runs",
      })),
};
