import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { leaderWorkerSet } from "../recipe/facts/gpu-provider";
import type { ReleaseRecipe } from "../recipe/types";
import { outlasting } from "./timeouts";

/**
 * A Helm release: of what exposes the GPUs, or of LeaderWorkerSet. A release, not a chart rendered by
 * Pulumi, because the operator's chart upgrades its CRDs in a hook. It is ready when the chart's own objects are;
 * what the operator starts afterwards is what the gate waits for.
 *
 * @param limit Seconds until the chart's objects are ready.
 * @param reconcileToken A new text makes Helm upgrade the release to its present state, which restores missing objects
 *   (helm, pkg/kube/client.go, Update: "creating" what it does not find). Helm keeps it as the revision's description.
 */
export function gpuRelease(
  name: string,
  recipe: ReleaseRecipe,
  limit: number,
  opts: pulumi.CustomResourceOptions,
  reconcileToken?: string,
): k8s.helm.v3.Release {
  const { chart, repository } = recipe;
  return new k8s.helm.v3.Release(
    `${name}-release`,
    {
      // Fixed, so that `helm` and a reader of the cluster find it under the chart's own name.
      name: recipe.name,
      namespace: recipe.namespace,
      // Helm takes a chart of a registry by its reference, and one of a repository by its name (helm,
      // pkg/action/install.go, LocateChart).
      ...(repository.startsWith("oci://")
        ? { chart: `${repository}/${chart}` }
        : { chart, repositoryOpts: { repo: repository } }),
      version: recipe.version,
      values: recipe.values,
      timeout: limit,
      cleanupOnFail: true,
      ...(keepsWhatTheChartDrops(chart) ? { forceUpdate: true } : {}),
      // A failed release stays, to be looked at; the next update goes on from it.
      atomic: false,
      ...(reconcileToken === undefined ? {} : { description: `reconcileToken: ${reconcileToken}` }),
    },
    // A chart's objects of the whole cluster, such as ClusterRoles, cannot belong to the old release and the new one
    // at once.
    pulumi.mergeOptions(opts, {
      customTimeouts: outlasting(limit),
      deleteBeforeReplace: true,
      replaceOnChanges: kindsComeWith[chart] ?? [],
    }),
  );
}

/**
 * Whether Helm must replace the existing objects of the chart (`--force`, pkg/kube/client.go,
 * updateResource), because a patch would keep something. The device plugin's chart has a service account only with a
 * config, as time slicing brings it. The patch of a DaemonSet that loses `serviceAccountName` leaves its alias
 * `serviceAccount`, which the API server reads back as the name (kubernetes, pkg/apis/core/v1/conversion.go,
 * Convert_v1_PodSpec_To_core_PodSpec). Helm then deletes the account, and the DaemonSet makes no pod any more.
 */
const keepsWhatTheChartDrops = (chart: string): boolean => chart === "nvidia-device-plugin";

/**
 * Values with which a chart brings CustomResourceDefinitions. Helm installs those (a chart's crds folder) with a
 * release, but not with an upgrade (helm, pkg/action/upgrade.go). So a release that gets or loses them is replaced. In
 * the device plugin's chart `nfd` and `gfd` both bring the definitions of Node Feature Discovery; its pods and those of
 * GPU feature discovery exit without them. A new release of LeaderWorkerSet may bring definitions that its program
 * needs, such as 0.9.0; sets and their pods stay meanwhile.
 */
const kindsComeWith: Record<string, string[]> = {
  "nvidia-device-plugin": ["values.nfd", "values.gfd"],
  [leaderWorkerSet.chart]: ["version"],
};
