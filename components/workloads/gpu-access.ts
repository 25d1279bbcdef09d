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
 * The inputs with which Pulumi registers a workload's component: all its fields except those that resolve late. The
 * workload's namespace, volume and Service wait for the component, so with these fields they would also wait for the
 * gate.
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

/** A workload's access to the GPUs, as a GpuCluster offers it. */
export interface GpuAccess {
  /**
   * RuntimeClass of the workload's pods; empty for none. Usually the output `runtimeClassName` of a GpuCluster: the
   * pods then wait for the cluster's smoke tests.
   */
  runtimeClassName: pulumi.Input<string>;
  /**
   * Resource that the pods request, or with `claim` the DeviceClass that they claim. Usually the output
   * `gpuResourceName` of a GpuCluster.
   */
  gpuResourceName: pulumi.Input<string>;
  /** Tolerations of the workload's pods, for GPU machines with taints. Default: none. */
  tolerations?: GpuToleration[];
  /**
   * Text that names how the cluster offers its GPUs, e.g. `operator on cdi`. The pods have it in an annotation, so a
   * change of it restarts a server with devices of the new kind. The update waits for that restart. Default: none.
   */
  exposure?: string;
  /** Seconds within which the workload must be ready, including the pull of its image. Default: 1200. */
  readyWithin?: number;
}

/** A server's access to the GPUs, and its name. */
export interface ServerAccess extends GpuAccess {
  /**
   * Name of the server's Deployment and Service, and by default of its namespace. Default: the name of its kind, e.g.
   * `ollama`.
   */
  serverName?: string;
}
