import type { RequestedApi } from "../../recipe/effect/kubernetes-step";

/** A sample of the gauge that marks a deprecated API as requested (apiserver, pkg/endpoints/metrics/metrics.go). */
const SAMPLE = /^apiserver_requested_deprecated_apis\{([^}]*)\} 1$/;

/**
 * Requested deprecated APIs, from the metrics of kube-apiserver. Leaves out an API for which Kubernetes has not decided
 * the release that removes it.
 */
export function requestedApis(metrics: string): RequestedApi[] {
  return metrics.split("\n").flatMap((line) => {
    const labels = SAMPLE.exec(line)?.[1];
    if (labels === undefined) return [];
    const label = (name: string): string =>
      new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const [, minor] = /^1\.(\d+)$/.exec(label("removed_release")) ?? [];
    if (minor === undefined) return [];
    const groupVersion = [label("group"), label("version")].filter(Boolean).join("/");
    return [{ resource: label("resource"), groupVersion, removed: Number(minor) }];
  });
}
