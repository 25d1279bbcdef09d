import type { V1Deployment } from "@kubernetes/client-node";
import type { GpuProviderField } from "../../recipe/facts/gpu-provider";
import { defined } from "../../recipe/mapping";
import { type Keeper, keeperOf } from "./keeper";

/** The parts of a DaemonSet or Deployment that show which program it runs. */
export type Workload = Pick<V1Deployment, "kind" | "metadata" | "spec">;

/** A GPU provider in a cluster: a controller that gives NVIDIA's cards to pods. */
export interface GpuOffer {
  field: GpuProviderField;
  /** Kind and name, e.g. `DaemonSet kube-system/nvidia-device-plugin`. */
  title: string;
  namespace: string;
  /** Name of the Helm release, if its labels contain it. */
  release?: string;
  keeper?: Keeper;
  /** Whether a Pulumi stack has installed it, which may be this stack. */
  byPulumi: boolean;
}

/** NVIDIA's charts by the label of their objects (`helm.sh/chart`), with the stack's field that installs the chart. */
const charts: Record<string, GpuProviderField> = {
  "gpu-operator": "gpuOperator",
  "nvidia-device-plugin": "devicePlugin",
  "dra-driver-nvidia-gpu": "dra",
  "nvidia-dra-driver-gpu": "dra",
};

/**
 * NVIDIA's programs by their images, also in a mirror. AMD's plugin has the same name in another folder
 * (ROCm/k8s-device-plugin).
 */
const images: [RegExp, GpuProviderField][] = [
  [/(?:^|\/)gpu-operator[:@]/, "gpuOperator"],
  [/(?:^|\/)k8s-device-plugin[:@]/, "devicePlugin"],
  [/(?:^|\/)(?:k8s-dra-driver-gpu|dra-driver-nvidia-gpu)[:@]/, "dra"],
];
const ofOthers = /(?:^|\/)(?:rocm|amd)\//i;

/**
 * GPU providers in a cluster, found by their images and by the labels of NVIDIA's charts. Leaves out objects with an
 * owner in the cluster, such as the operator's DaemonSets.
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
      keeper: keeperOf(metadata),
    }),
  };
}

/** Programs in the same charts or images that allocate no cards: feature discovery, exporter, MPS. */
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

/** Whether an object belongs to Node Feature Discovery, which NVIDIA's charts install under its own name. */
const isDiscovery = (labels: Record<string, string>): boolean =>
  labels["app.kubernetes.io/name"] === "node-feature-discovery";
