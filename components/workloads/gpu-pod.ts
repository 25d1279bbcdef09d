import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../pulumi/checked-arguments";
import { gpuRequest, type GpuRequest } from "../kubernetes/gpu-request";
import {
  classNamed,
  envList,
  kubernetesName,
  labels,
  podTolerations,
  restricted,
  unprivileged,
} from "../kubernetes/pods";
import { outlasting } from "../kubernetes/timeouts";
import { defined } from "../recipe/mapping";
import { type GpuPodSpec } from "../recipe/spec/index";
import { accessRules, type GpuAccess, registeredWith } from "./gpu-access";

/** Arguments of a pod with GPUs. */
export interface GpuPodArgs extends GpuPodSpec, GpuAccess {
  /** Name of the pod. Default: the name of the component. */
  podName?: string;
}

/**
 * A pod with GPUs that the user defines, like a pod of `kubectl run`. The package adds the RuntimeClass, the request
 * for GPUs and the tolerations. It may run to completion or run forever. Kubernetes restarts its container if the
 * container fails. Nothing recreates the pod after an eviction. For a server, write a Deployment that uses the
 * cluster's outputs `runtimeClassName` and `gpuResourceName`. The namespace must exist. For the pods of a stack,
 * GpuCluster creates the default namespace.
 *
 * Outside of a GpuCluster, the package does not check whether a pod of the same name already exists. If a killed update
 * left such a pod, the next update fails until you import or delete the pod.
 */
export class GpuPod extends pulumi.ComponentResource {
  /** Name of the pod. Resolves once the pod is ready or has completed. */
  public readonly podName: pulumi.Output<string>;
  /** Namespace of the pod. */
  public readonly namespace: pulumi.Output<string>;

  constructor(name: string, args: GpuPodArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("GpuPod", name, "pods", args, accessRules);
    super("talos-gpu:index:GpuPod", name, registeredWith(args), opts);
    const podName = args.podName ?? (kubernetesName(name) || "gpu-pod");
    const namespace = args.namespace ?? "gpu-pods";
    const { gpuResourceName: resourceOrClass, gpus, claim } = args;
    const request = gpuRequest(
      name,
      podName,
      { resourceOrClass, gpus, claim, namespace },
      { parent: this },
    );
    const pod = new k8s.core.v1.Pod(
      `${name}-pod`,
      {
        metadata: { name: podName, namespace, labels: labels("gpu-pod") },
        spec: podSpec(args, request),
      },
      {
        parent: this,
        customTimeouts: outlasting(args.readyWithin ?? 1200),
        // Kubernetes only accepts additional tolerations for an existing pod (kubernetes, pkg/apis/core/validation,
        // ValidatePodUpdate), but the provider tries other changes as well (pulumi-kubernetes,
        // provider/pkg/provider/diff.go: not among a Pod's fields).
        replaceOnChanges: ["spec.tolerations"],
        deleteBeforeReplace: true,
      },
    );
    this.podName = pod.metadata.name;
    this.namespace = pod.metadata.namespace;
    this.registerOutputs({ podName: this.podName, namespace: this.namespace });
  }
}

function podSpec(
  args: GpuPodArgs,
  { pod, resources }: GpuRequest,
): pulumi.Input<k8s.types.input.core.v1.PodSpec> {
  const { limits = {}, ...otherResources } = resources;
  return {
    ...pod,
    runtimeClassName: classNamed(args.runtimeClassName),
    restartPolicy: "OnFailure",
    tolerations: podTolerations(args.tolerations),
    ...defined({ nodeSelector: args.nodeSelector }),
    automountServiceAccountToken: false,
    containers: [
      {
        name: "main",
        image: args.image,
        ...defined({ command: args.command, args: args.args }),
        env: envList(args.env),
        securityContext: args.restricted === true ? restricted : unprivileged,
        resources: {
          ...otherResources,
          limits: pulumi
            .all([limits, args.limits ?? {}])
            .apply(([gpuLimits, statedLimits]) => ({ ...statedLimits, ...gpuLimits })),
        },
      },
    ],
  };
}
