import type { V1Deployment } from "@kubernetes/client-node";
import type { GpuProviderField } from "../../recipe/facts/gpu-provider";
import { defined } from "../../recipe/mapping";
import { type ManagingTool, managingToolOf } from "./managing-tool";

/** The parts of a DaemonSet or Deployment that show which program it runs. */
export type Workload = Pick<V1Deployment, "kind" | "metadata" | "spec">;

/** A GPU provider in a cluster: a controller that gives NVIDIA's cards to pods. */
export interface GpuOffer {
  field: GpuProviderField;
  /** Kind and name, e.g. `DaemonSet kube-system/nvidia-device-plugin`. */
  title: string;
  namespace: string;
  /** Name of the Helm release, if the object's labels or annotations contain it. */
  release?: string;
  managedBy?: ManagingTool;
  /** Whether a Pulumi stack has installed the provider. It may be this stack. */
  byPulumi: boolean;
}

/** The stack's field for each of NVIDIA's charts, by the chart's name in the label `helm.sh/chart`. */
const charts: Record<string, GpuProviderField> = {
  "gpu-operator": "gpuOperator",
  "nvidia-device-plugin": "devicePlugin",
  "dra-driver-nvidia-gpu": "dra",
  "nvidia-dra-driver-gpu": "dra",
};

/**
 * Images of NVIDIA's programs, also in a mirror, with the stack's field for each. AMD's plugin has an image of the same
 * name in another folder (ROCm/k8s-device-plugin).
 */
const images: [RegExp, GpuProviderField][] = [
  [/(?:^|\/)gpu-operator[:@]/, "gpuOperator"],
  [/(?:^|\/)k8s-device-plugin[:@]/, "devicePlugin"],
  [/(?:^|\/)(?:k8s-dra-driver-gpu|dra-driver-nvidia-gpu)[:@]/, "dra"],
];
const ofOthers = /(?:^|\/)(?:rocm|amd)\//i;

/**
 * GPU providers in a cluster, found by their images and by the labels of NVIDIA's charts. Leaves out objects with an
 * owner reference, such as the GPU Operator's DaemonSets.
 */
export function gpuOffers(workloads: readonly Workload[]): GpuOffer[] {
  const offersByKey = new Map<string, GpuOffer>();
  for (const workload of workloads) {
    const offer = offerOf(workload);
    if (offer === undefined) continue;
    const key = [offer.field, offer.namespace, offer.release].join(" ");
    if (!offersByKey.has(key)) offersByKey.set(key, offer);
  }
  return [...offersByKey.values()];
}

function offerOf(workload: Workload): GpuOffer | undefined {
  const { kind = "object", metadata = {} } = workload;
  const { namespace = "", name = "", labels = {}, annotations = {}, managedFields = [] } = metadata;
  const field = fieldOf(workload);
  if (field === undefined || (metadata.ownerReferences ?? []).length > 0) return undefined;
  const helm =
    labels["app.kubernetes.io/managed-by"] === "Helm"
      ? labels["app.kubernetes.io/instance"]
      : undefined;
  return {
    field,
    title: `${kind} ${namespace}/${name}`,
    namespace,
    byPulumi: managedFields.some(({ manager = "" }) => manager.startsWith("pulumi")),
    ...defined({
      release: annotations["meta.helm.sh/release-name"] ?? helm,
      managedBy: managingToolOf(metadata),
    }),
  };
}

/** Programs that belong to the same charts or images, but give no cards to pods: feature discovery, exporter, MPS. */
const givesOutNothing = /feature-discovery|dcgm|mps-control/;

function fieldOf({ metadata, spec }: Workload): GpuProviderField | undefined {
  const { name = "", labels = {} } = metadata ?? {};
  if (givesOutNothing.test(name)) return undefined;
  const running = (spec?.template.spec?.containers ?? []).flatMap(({ image }) => image ?? []);
  const byImage = images.find(([pattern]) =>
    running.some((image) => pattern.test(image) && !ofOthers.test(image)),
  );
  if (byImage !== undefined) return byImage[1];
  const [, chart = ""] = /^(.+?)-v?\d+\.\d/.exec(labels["helm.sh/chart"] ?? "") ?? [];
  return Object.hasOwn(charts, chart) && !isDiscovery(labels) ? charts[chart] : undefined;
}

/**
 * Whether an object belongs to Node Feature Discovery. NVIDIA's charts install this program with the program's own name
 * in the label.
 */
const isDiscovery = (labels: Record<string, string>): boolean =>
  labels["app.kubernetes.io/name"] === "node-feature-discovery";
