import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import { injectionOf } from "../recipe/facts/talos-release";
import type { Observations, ObservedNode } from "./observations";
import type { Injection, GpuProviderName, Plan } from "../recipe/types";

/** Facts for interpreting the signs of a failure: from the stack's plan, or from the cluster if there is no plan. */
export interface System {
  /** The stack's plan, if it is known. */
  plan?: Plan;
  /** How the cluster's Talos release injects devices; undefined if neither a plan nor a node shows it. */
  injection?: Injection;
  /** GPU provider; undefined if there is no plan, and the cluster shows no GPU provider. */
  mode?: GpuProviderName;
  /** Namespace of the release; undefined if it is unknown. */
  namespace?: string;
  /**
   * Machines that have, or should have, a GPU driver. `schematicId` is the wanted schematic. It is absent without a
   * plan, for a user's own image, and with Omni, which creates its own schematics.
   */
  gpuMachines: { name: string; schematicId?: string }[];
  runtimeClass: { name: string; owner: Plan["kubernetes"]["runtimeClass"]["owner"] };
  /** Node selector with which the pods of the release select GPU nodes. */
  nodeSelector: Record<string, string>;
}

/** The system that a plan describes; without a plan, the system that the observations show. */
export const systemOf = (observations: Observations, plan?: Plan): System =>
  plan === undefined ? observedSystem(observations) : plannedSystem(plan);

function plannedSystem(plan: Plan): System {
  const { mode, release, runtimeClass, nodeSelector } = plan.kubernetes;
  return {
    plan,
    injection: plan.injection,
    mode,
    namespace: release.namespace,
    gpuMachines: plan.machines
      .filter(({ gpuCount }) => gpuCount > 0)
      .map(({ name, configuration, schematicId, ownImage }) => ({
        name,
        ...(configuration === "omni" || ownImage ? {} : { schematicId }),
      })),
    runtimeClass: { name: runtimeClass.name, owner: runtimeClass.owner },
    nodeSelector,
  };
}

/**
 * The observed system. Talos labels its nodes with the extensions of their image,
 * `extensions.talos.dev/<name>=<version>`, and reports its release in the node's OS image, `Talos (v1.12.6)`. Source:
 * talos, internal/app/machined/pkg/controllers/k8s/node_label_spec.go.
 */
function observedSystem(observations: Observations): System {
  const gpuNodes = (observations.nodes ?? []).filter(hasDriverExtension);
  const version = (gpuNodes.length > 0 ? gpuNodes : (observations.nodes ?? []))
    .map(talosVersionOf)
    .find(Boolean);
  const release = observedRelease(observations);
  return {
    ...(version === undefined ? {} : { injection: injectionOf(version) }),
    ...release,
    gpuMachines: gpuNodes.map(({ name }) => ({ name })),
    runtimeClass: { name: "nvidia", owner: release.mode === "operator" ? "operator" : "component" },
    nodeSelector: { "nvidia.com/gpu.present": "true" },
  };
}

const EXTENSION = "extensions.talos.dev/";

/**
 * Versions of the extensions in a node's image, by the names in the extensions' manifests; undefined if the node's
 * labels name none.
 */
export function labelledExtensions(
  labels: Record<string, string>,
): Record<string, string> | undefined {
  const named = Object.entries(labels).filter(([key]) => key.startsWith(EXTENSION));
  return named.length === 0
    ? undefined
    : Object.fromEntries(named.map(([key, version]) => [key.slice(EXTENSION.length), version]));
}

/** Whether a node's image has NVIDIA's kernel modules. */
const hasDriverExtension = ({ labels }: ObservedNode): boolean =>
  Object.keys(labelledExtensions(labels) ?? {}).some((name) =>
    /^(nvidia-open-gpu|nonfree-kmod-nvidia)/.test(name),
  );

/**
 * Whether a node has signs of a card: its image has NVIDIA's kernel modules, a label reports a card on the PCI bus, or
 * the kubelet lists a resource `nvidia.com/…`.
 */
export const showsGpu = (node: ObservedNode): boolean =>
  hasDriverExtension(node) ||
  Object.keys(node.allocatable ?? {}).some((resource) => resource.startsWith("nvidia.com/")) ||
  Object.entries(node.labels).some(
    ([key, value]) =>
      value === "true" &&
      (key === "nvidia.com/gpu.present" ||
        /^feature\.node\.kubernetes\.io\/pci-(\d{4}_)?10de\.present$/.test(key)),
  );

/** A node's Talos release, e.g. `v1.12.6`; undefined if the node does not run Talos. */
export const talosVersionOf = ({ osImage }: Pick<ObservedNode, "osImage">): string | undefined =>
  /^Talos \((v[^)]+)\)/.exec(osImage ?? "")?.[1];

/**
 * The observed GPU provider. The operator is recognized by its own objects, and not by the device plugin's DaemonSet:
 * NVIDIA's static manifest of the standalone plugin gives its DaemonSet the name that the operator also uses
 * (k8s-device-plugin, deployments/static).
 */
function observedRelease(observations: Observations): {
  mode?: GpuProviderName;
  namespace?: string;
} {
  const objects = [
    ...(observations.daemonSets ?? []),
    ...(observations.deployments ?? []),
    ...(observations.pods ?? []),
  ];
  const operator = objects.find(({ name }) => /gpu-operator|nvidia-operator-validator/.test(name));
  if (operator) return { mode: "operator", namespace: operator.namespace };
  const plugin = objects.find(({ name }) => /device-plugin/.test(name) && /nvidia|nvdp/.test(name));
  if (plugin) return { mode: "devicePlugin", namespace: plugin.namespace };
  const driver = objects.find(({ name }) => gpuProviderOf("dra").offers.pods.test(name));
  return driver ? { mode: "dra", namespace: driver.namespace } : {};
}
