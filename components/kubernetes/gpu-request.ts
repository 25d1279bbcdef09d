import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { ownClaim, selectorsOf } from "../recipe/cluster/claim";
import { shortHash } from "../recipe/short-hash";
import type { ClaimSpec } from "../recipe/spec/index";
import { labels } from "./pods";

/** Cards that a pod requests. */
export interface GpuNeed {
  /** Extended resource, or DeviceClass of a claim. */
  resourceOrClass: pulumi.Input<string>;
  /** Default 1. */
  gpus?: number | undefined;
  /** Claim with which the pod requests them. Default: the pod requests an extended resource. */
  claim?: ClaimSpec | undefined;
  /** Namespace of the pod. */
  namespace: pulumi.Input<string>;
}

/** Fields of a pod that requests cards, and of its container. */
export interface GpuRequest {
  pod: Pick<k8s.types.input.core.v1.PodSpec, "resourceClaims">;
  resources: { limits?: pulumi.Output<Record<string, string>>; claims?: { name: string }[] };
}

/**
 * Requests cards for a pod, by an extended resource or by a claim. An extended resource is set as a limit only. The
 * user's own claim is used by its name; for any other claim, Kubernetes creates one per pod from a template. Templates
 * are immutable, so the template's name has a hash of its content, and a changed template restarts the pod. In each
 * case the scheduler places the pod on a node that has the cards.
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
