import type { V1Deployment } from "@kubernetes/client-node";
import { gpuProviders } from "../../components/recipe/facts/gpu-provider";
import type { SeenRelease } from "./seen";

/**
 * Marks of the tool that manages an object. Flux' helm-controller sets labels with the HelmRelease's name
 * (internal/postrender/build.go). Argo CD sets an annotation; before 3.0 it set a label (argo-cd,
 * docs/user-guide/resource_tracking.md).
 */
function managingToolOf(metadata: Workload["metadata"]): Pick<SeenRelease, "by"> {
  const { labels = {}, annotations = {} } = metadata ?? {};
  if ("helm.toolkit.fluxcd.io/name" in labels) return { by: "Flux" };
  const keys = [...Object.keys(annotations), ...Object.keys(labels)];
  return keys.some((key) => key.startsWith("argocd.argoproj.io/")) || hasArgosLabel(metadata)
    ? { by: "Argo CD" }
    : {};
}

/**
 * Whether Argo CD before 3.0 manages an object: the object has the label that Argo CD sets, and lacks Helm's
 * annotation. Charts set the same label, but an object that Helm installed also has the annotation.
 */
const hasArgosLabel = (metadata: Workload["metadata"]): boolean =>
  metadata?.labels?.["app.kubernetes.io/managed-by"] === "Helm" &&
  metadata.labels["app.kubernetes.io/instance"] !== undefined &&
  metadata.annotations?.["meta.helm.sh/release-name"] === undefined;

type Workload = Pick<V1Deployment, "metadata" | "spec">;

/**
 * Releases of NVIDIA's charts, found by the labels of their objects (`helm.sh/chart`, `app.kubernetes.io/instance`).
 * The device plugin is also found by its image, since NVIDIA's manifest without Helm sets no such label
 * (k8s-device-plugin, deployments/static). An object with an owner reference, such as the GPU Operator's DaemonSet for
 * the same image, is not a release.
 */
export function releasesOf(workloads: readonly Workload[]): SeenRelease[] {
  const releasesByChart = new Map<string, SeenRelease>();
  for (const workload of workloads) {
    const release = byLabels(workload) ?? byImage(workload);
    if (release !== undefined && releasesByChart.get(release.chart)?.version === undefined)
      releasesByChart.set(release.chart, release);
  }
  return [...releasesByChart.values()];
}

/**
 * NVIDIA's charts by the names that they give their objects: the DRA driver's chart had a different name in older
 * releases.
 */
const charts: Record<string, SeenRelease["chart"]> = {
  ...Object.fromEntries(Object.values(gpuProviders).map(({ chart }) => [chart, chart])),
  "nvidia-dra-driver-gpu": gpuProviders.dra.chart,
};
const ofChart = new RegExp(`^(${Object.keys(charts).join("|")})-(v?\\d.*)$`);

function byLabels({ metadata }: Workload): SeenRelease | undefined {
  const { labels = {}, namespace = "" } = metadata ?? {};
  const [, chart, version] = ofChart.exec(labels["helm.sh/chart"] ?? "") ?? [];
  const chartOrAppName = chart ?? labels["app.kubernetes.io/name"] ?? "";
  const chartName = Object.hasOwn(charts, chartOrAppName) ? charts[chartOrAppName] : undefined;
  if (chartName === undefined) return undefined;
  const name =
    labels["app.kubernetes.io/managed-by"] === "Helm"
      ? labels["app.kubernetes.io/instance"]
      : undefined;
  return {
    chart: chartName,
    namespace,
    ...(version ? { version } : {}),
    ...(name ? { name } : {}),
    ...managingToolOf(metadata),
  };
}

function byImage({ metadata, spec }: Workload): SeenRelease | undefined {
  if ((metadata?.ownerReferences ?? []).length > 0) return undefined;
  const images = (spec?.template.spec?.containers ?? []).flatMap(({ image }) => image ?? []);
  // AMD's device plugin has the same name (ROCm/k8s-device-plugin).
  const image = images.find(
    (imageName) =>
      /\/k8s-device-plugin[:@]/.test(imageName) && !/(?:^|\/)(?:rocm|amd)\//i.test(imageName),
  );
  if (image === undefined) return undefined;
  // The chart's versions are the image's, without the `v`.
  const version = /:v?(\d+\.\d+\.\d+)/.exec(image)?.[1];
  return {
    chart: "nvidia-device-plugin",
    namespace: metadata?.namespace ?? "",
    ...(version === undefined ? {} : { version }),
    ...managingToolOf(metadata),
  };
}
