import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";

/** Where a workload keeps its data. */
export interface VolumeArgs {
  name: string;
  namespace: pulumi.Input<string>;
  /** Kubernetes quantity, e.g. `100Gi`. */
  storage: string;
  /** Default: the cluster's. */
  storageClass: string | undefined;
}

/**
 * A volume for one pod at a time. Pulumi does not wait until it is bound: a class with `WaitForFirstConsumer` binds it
 * with the pod that is made next (pulumi-kubernetes#895, #4179), and that pod's readiness tells.
 *
 * It is not deleted for another one of its name, as with another class: that one is made first, and Kubernetes refuses it. In a
 * `GpuCluster` the guard refuses it already at preview (`components/kubernetes/guard`).
 */
export function volume(
  name: string,
  args: VolumeArgs,
  opts: pulumi.CustomResourceOptions,
): k8s.core.v1.PersistentVolumeClaim {
  return new k8s.core.v1.PersistentVolumeClaim(
    name,
    {
      metadata: { name: args.name, namespace: args.namespace, annotations: { "pulumi.com/skipAwait": "true" } },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: args.storage } },
        ...(args.storageClass === undefined ? {} : { storageClassName: args.storageClass }),
      },
    },
    { ...opts, deleteBeforeReplace: false },
  );
}
