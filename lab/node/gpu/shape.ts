import type { GpuSpec } from "../../../components/recipe";

/** Fields of the stack that a case needs, in addition to the common ones. */
export interface Shape {
  /** Time slices of each card. Default: whole cards. */
  slices?: number;
  /**
   * Whether the device plugin passes devices by an environment variable, which the RuntimeClass's runtime reads.
   * Default: the recipe's choice.
   */
  envvar?: boolean;
  watts?: number;
  /** Whether cards are claimed: NVIDIA's DRA driver replaces the device plugin. */
  claims?: boolean;
  /** Whether the marker files of the GPU Operator's legacy recipe are installed. */
  markers?: boolean;
  /**
   * Talos 1.15, whose image has no toolkit, with the device plugin alone, or with the GPU Operator, whose toolkit is
   * an NRI plugin.
   */
  withoutToolkit?: "devicePlugin" | "gpuOperator";
}

/** Name of the stack. */
export const stackName = "card";
/** Name of the stack's only machine, and of its node. */
export const nodeName = "gpu";

/** Talos 1.14, whose toolkit the node has (`lab/tools/catalogue.yaml`), and the release after it. */
const [talosVersion, withoutToolkitVersion] = ["v1.14.6", "v1.15.0-beta.0"];
const pluginVersion = "0.19.3";
const draVersion = "0.5.0";
const operatorVersion = "v26.7.0";
/** Path at which a device plugin without toolkit expects NVIDIA's hook; a user must put it there. */
export const ownHook = "/var/lib/nvidia/nvidia-cdi-hook";

/**
 * Configuration of a stack with that shape: one owned machine with the cards, and NVIDIA's device plugin or DRA driver.
 */
export function stackOf(gpus: readonly GpuSpec[], shape: Shape): Record<string, unknown> {
  const { slices, watts, withoutToolkit } = shape;
  return {
    talosVersion: withoutToolkit === undefined ? talosVersion : withoutToolkitVersion,
    machines: {
      [nodeName]: {
        address: "192.0.2.80",
        role: "worker",
        configuration: "adopted",
        gpus,
        ...(watts === undefined ? {} : { powerLimit: watts }),
        // The lab builds no Node Feature Discovery for the operator.
        ...(withoutToolkit === "gpuOperator"
          ? { labels: { "feature.node.kubernetes.io/pci-10de.present": "true" } }
          : {}),
      },
    },
    ...gpuProviderOf(shape),
    ...(slices === undefined ? {} : { sharing: { timeSlicing: { replicas: slices } } }),
  };
}

/** The GPU provider. */
function gpuProviderOf({ envvar, claims, withoutToolkit }: Shape): Record<string, unknown> {
  if (claims) return { dra: { version: draVersion } };
  if (withoutToolkit === "gpuOperator")
    return { gpuOperator: { version: operatorVersion, values: { nfd: { enabled: false } } } };
  const values = {
    // Feature discovery is on from the beginning: Helm installs CRDs of a subchart only with a new release, never with
    // an upgrade.
    gfd: { enabled: withoutToolkit === undefined },
    ...(envvar ? { deviceListStrategy: "envvar" } : {}),
    ...(withoutToolkit ? { cdi: { nvidiaHookPath: ownHook } } : {}),
  };
  return { devicePlugin: { version: pluginVersion, values } };
}
