import type * as pulumi from "@pulumi/pulumi";
import type { InputRules } from "../pulumi/checked-arguments";
import type { GpuToleration } from "../kubernetes/pods";
import { objectName, qualifiedName, ruleOf } from "../recipe/rules";

/** Rules for the inputs among them. */
export const accessRules: InputRules = {
  runtimeClassName: objectName,
  // Kubernetes: pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName); any other name is one of its own, or none.
  gpuResourceName: ruleOf(
    (text) =>
      text.includes("/")
        ? qualifiedName(text) === undefined
        : text.includes(".") && !objectName(text),
    {
      problem: "is neither a resource of a device plugin nor a class of devices",
      why: "Kubernetes refuses the pod, or places it nowhere",
      remedy: "pass `gpuResourceName` of the cluster, e.g. `nvidia.com/gpu`",
    },
  ),
};

/**
 * What a workload's component is registered with: all its fields except those that resolve late. Its namespace, its volume and its
 * Service wait for the component, and would wait for the gate with it.
 */
export function registeredWith<Args extends object>(args: Args): pulumi.Inputs {
  const {
    runtimeClassName: _class,
    gpuResourceName: _resource,
    servers: _servers,
    ...said
  } = args as pulumi.Inputs;
  return said;
}

/** How a workload gets at the GPUs: what a GpuCluster hands out. */
export interface GpuAccess {
  /** RuntimeClass of its pods, empty for none: usually `runtimeClassName` of a GpuCluster: this is what makes its pods wait for the gate. */
  runtimeClassName: pulumi.Input<string>;
  /** Resource that it requests, or with `claim` the class of the devices that it claims: usually `gpuResourceName` of a GpuCluster. */
  gpuResourceName: pulumi.Input<string>;
  /** Tolerations of its pods, for GPU machines with taints. Default none. */
  tolerations?: GpuToleration[];
  /**
   * Word for the way in which the cluster offers its GPUs, e.g. `operator on cdi`. It is an annotation of the pods, so a server restarts
   * with devices of the new kind when it changes. The update waits for that. Default none.
   */
  exposure?: string;
  /** Seconds until it must be ready, with the pull of its image. Default 1200. */
  readyWithin?: number;
}

/** The same for a server. */
export interface ServerAccess extends GpuAccess {
  /** Name of its Deployment and its Service, and of its namespace by default. Default the kind's, e.g. `ollama`. */
  serverName?: string;
}
