import type * as pulumi from "@pulumi/pulumi";
import type { InputRules } from "../pulumi/checked-arguments";
import type { GpuToleration } from "../kubernetes/pods";
import { objectName, qualifiedName, ruleOf } from "../recipe/rules";

/** Rules for the texts in `GpuAccess`. */
export const accessRules: InputRules = {
  runtimeClassName: objectName,
  // Kubernetes: pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName); any other name is a native resource of
  // Kubernetes, or no resource.
  gpuResourceName: ruleOf(
    (text) =>
      text.includes("/")
        ? qualifiedName(text) === undefined
        : text.includes(".") && !objectName(text),
    {
      problem: "is neither an extended resource nor a DeviceClass",
      why: "Kubernetes refuses the pod, or never schedules it",
      remedy: "pass `gpuResourceName` of the cluster, e.g. `nvidia.com/gpu`",
    },
  ),
};

/**
 * The inputs with which Pulumi registers a workload's component: all arguments except those that resolve only after the
 * cluster's smoke tests. The workload's namespace, volume and Service depend on the component. If the component's
 * inputs contained these arguments, the namespace, volume and Service would wait for the smoke tests too.
 */
export function registeredWith<Args extends object>(args: Args): pulumi.Inputs {
  const {
    runtimeClassName: _class,
    gpuResourceName: _resource,
    servers: _servers,
    ...registeredArgs
  } = args as pulumi.Inputs;
  return registeredArgs;
}

/** A workload's access to the GPUs, usually from the outputs of a GpuCluster. */
export interface GpuAccess {
  /**
   * RuntimeClass of the workload's pods; empty for none. Usually the output `runtimeClassName` of a GpuCluster: the
   * pods then wait for the cluster's smoke tests.
   */
  runtimeClassName: pulumi.Input<string>;
  /**
   * Resource that the pods request. With `claim`: DeviceClass of the devices that the pods claim. Usually the output
   * `gpuResourceName` of a GpuCluster.
   */
  gpuResourceName: pulumi.Input<string>;
  /** Tolerations of the workload's pods, for GPU machines with taints. Default: none. */
  tolerations?: GpuToleration[];
  /**
   * Text that names the GPU provider and how Talos injects devices, e.g. `operator on cdi`. It is an annotation of the
   * pods, so the server restarts if the text changes. The update waits for the restart. Default: none.
   */
  exposure?: string;
  /** Seconds within which the workload must be ready, including the pull of its image. Default: 1200. */
  readyWithin?: number;
}

/** A server's access to the GPUs, and its name. */
export interface ServerAccess extends GpuAccess {
  /**
   * Name of the server's Deployment and Service, and by default of its namespace. Default: the kind of the server, e.g.
   * `ollama`.
   */
  serverName?: string;
}
