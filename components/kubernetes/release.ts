import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { leaderWorkerSet } from "../recipe/facts/gpu-provider";
import type { ReleaseRecipe } from "../recipe/types";
import { type ReplacedWith, replacedWith } from "./replaced-with";
import { outlasting } from "./timeouts";

/**
 * The Helm release of the GPU provider or of LeaderWorkerSet. It is a real Helm release, and not a chart rendered by
 * Pulumi, because the operator's chart upgrades its CRDs in a Helm hook. The release is ready when the chart's own
 * objects are ready. The gate (`testsPassed`) waits for the pods that the operator starts afterwards.
 *
 * @param limit Seconds within which the chart's objects must become ready.
 * @param further.withExposure Links the release to a resource that Pulumi replaces together with it. Default: there is
 *   none.
 * @param further.reconcileToken If this text changes, Helm upgrades the release even without another change, which
 *   restores missing objects (helm, pkg/kube/client.go, Update: "creating" what it does not find). Helm stores the token
 *   as the revision's description. Default: there is none.
 */
export function gpuRelease(
  name: string,
  recipe: ReleaseRecipe,
  limit: number,
  opts: pulumi.CustomResourceOptions,
  {
    withExposure: { dependent } = replacedWith(undefined),
    reconcileToken,
  }: { withExposure?: ReplacedWith; reconcileToken?: string | undefined } = {},
): k8s.helm.v3.Release {
  const { chart, repository } = recipe;
  return new k8s.helm.v3.Release(
    `${name}-release`,
    {
      // A fixed name, so that users find the release under the chart's name.
      name: recipe.name,
      namespace: recipe.namespace,
      // Helm finds a chart in a registry by its reference, and one in a repository by its name (helm,
      // pkg/action/install.go, LocateChart).
      ...(repository.startsWith("oci://")
        ? { chart: `${repository}/${chart}` }
        : { chart, repositoryOpts: { repo: repository } }),
      version: recipe.version,
      values: recipe.values,
      timeout: dependent(limit),
      cleanupOnFail: true,
      ...(keepsWhatTheChartDrops(chart) ? { forceUpdate: true } : {}),
      // A failed release stays for inspection, and the next update continues from it.
      atomic: false,
      ...(reconcileToken === undefined ? {} : { description: `reconcileToken: ${reconcileToken}` }),
    },
    // Cluster-wide objects of a chart, such as ClusterRoles, cannot belong to the old and the new release at once.
    pulumi.mergeOptions(opts, {
      customTimeouts: outlasting(limit),
      deleteBeforeReplace: true,
      replaceOnChanges: kindsComeWith[chart] ?? [],
    }),
  );
}

/**
 * Whether Helm must replace the existing objects of the chart (`--force`, pkg/kube/client.go, updateResource), because
 * a patch would keep a field that the chart no longer sets. The device plugin's chart has a service account only with a
 * `config`, which time slicing adds. If the chart no longer sets `serviceAccountName` in the DaemonSet, a patch removes
 * this field, but not its alias `serviceAccount`. From the alias the API server sets `serviceAccountName` again
 * (kubernetes, pkg/apis/core/v1/conversion.go, Convert_v1_PodSpec_To_core_PodSpec). Helm then deletes the account, and
 * the DaemonSet can no longer create pods.
 */
const keepsWhatTheChartDrops = (chart: string): boolean => chart === "nvidia-device-plugin";

/**
 * Inputs of a release that decide which CRDs its chart has. Helm creates the CRDs of a chart's crds folder when it
 * installs a release, but not when it upgrades the release (helm, pkg/action/upgrade.go). So Pulumi replaces a release
 * if one of these inputs changes. In the device plugin's chart, `nfd` and `gfd` both add the CRDs of Node Feature
 * Discovery. Without these CRDs the pods of Node Feature Discovery and of GPU feature discovery exit. A new version of
 * the LeaderWorkerSet chart, such as 0.9.0, may bring CRDs that its controller needs. The LeaderWorkerSets and their
 * pods stay in the cluster during the replacement.
 */
const kindsComeWith: Record<string, string[]> = {
  "nvidia-device-plugin": ["values.nfd", "values.gfd"],
  [leaderWorkerSet.chart]: ["version"],
};
