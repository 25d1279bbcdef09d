import { leaderWorkerSet } from "../facts/leader-worker-set";
import type { LeaderWorkerSetSpec } from "../spec/index";
import type { PodToleration, ReleaseRecipe } from "../types";
import { mergeValues, repositoryOf } from "./values";

/** The release of LeaderWorkerSet. Its controller may have no other place than machines with GPUs. */
export function leaderWorkerSetRelease(
  { version, repository, values }: LeaderWorkerSetSpec,
  tolerations: PodToleration[],
): ReleaseRecipe {
  const { chart, namespace } = leaderWorkerSet;
  return {
    ...{ name: chart, namespace, chart, version },
    repository: repositoryOf(repository, chart) ?? leaderWorkerSet.repository,
    values: mergeValues({ tolerations }, values),
  };
}
