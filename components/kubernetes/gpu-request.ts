import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { ownClaim, selectorsOf } from "../recipe/cluster/claim";
import { shortHash } from "../recipe/short-hash";
import type { ClaimSpec } from "../recipe/spec/index";
import { labels } from "./pods";

/** Cards that a pod requests. */
export interface GpuNeed {
  /** Name of the extended resource, or of the DeviceClass if the pod uses a claim. */
  resourceOrClass: pulumi.Input<string>;
  /** Default 1. */
  gpus?: number | undefined;
  /** Claim by which the pod requests the cards. Default: the pod requests an extended resource. */
  claim?: ClaimSpec | undefined;
  /** Namespace of the pod. */
  namespace: pulumi.Input<string>;
}

/** The fields of a pod and of its container that request cards. */
export interface GpuRequest {
  pod: Pick<k8s.types.input.core.v1.PodSpec, "resourceClaims">;
  resources: { limits?: pulumi.Output<Record<string, string>>; claims?: { name: string }[] };
}

/**
 * Returns the fields by which a pod requests cards: a limit for an extended resource, or a ResourceClaim. If the user
 * named a ResourceClaim or a ResourceClaimTemplate, the pod refers to it. For any other claim this function creates a
 * ResourceClaimTemplate, from which Kubernetes creates a claim for each pod. A template is immutable, so its name has a
 * hash of its content, and a changed template restarts the pod.
 *
 * @param owner Beginning of the template's name.
 */
export function gpuRequest(
  name: string,
  owner: string,
  { resourceOrClass, gpus = 1, claim, namespace }: GpuNeed,
  opts: pulumi.CustomResourceOptions,
): GpuRequest {
  if (claim === undefined)
    return {
      pod: {},
      resources: {
        limits: pulumi.output(resourceOrClass).apply((resource) => ({ [resource]: String(gpus) })),
      },
    };
  const requestOf = (podClaim: k8s.types.input.core.v1.PodResourceClaim): GpuRequest => ({
    pod: { resourceClaims: [podClaim] },
    resources: { claims: [{ name: "gpus" }] },
  });
  const namedClaim = ownClaim(claim);
  if (namedClaim !== undefined) return requestOf({ name: "gpus", ...namedClaim });
  const selectors = selectorsOf(claim).map((expression) => ({ cel: { expression } }));
  const exactly = {
    deviceClassName: resourceOrClass,
    count: gpus,
    ...(selectors.length > 0 ? { selectors } : {}),
  };
  const template = new k8s.resource.v1.ResourceClaimTemplate(
    `${name}-gpus`,
    {
      metadata: {
        name: `${owner.slice(0, 47)}-gpus-${shortHash(JSON.stringify([gpus, selectors]), 6)}`,
        namespace,
        labels: labels(owner),
      },
      spec: { spec: { devices: { requests: [{ name: "gpu", exactly }] } } },
    },
    opts,
  );
  return requestOf({ name: "gpus", resourceClaimTemplateName: template.metadata.name });
}
