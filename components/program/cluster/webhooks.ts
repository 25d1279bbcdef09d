import type {
  V1EndpointSlice,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";

/** A service that answers admission webhooks. */
export interface WebhookService {
  namespace: string;
  name: string;
}

/**
 * Services that must answer, because Kubernetes refuses the objects of their webhooks otherwise (`failurePolicy: Fail`,
 * the default of admissionregistration.k8s.io/v1). Webhooks with an address outside the cluster have no service.
 */
export function requiredServices(
  configurations: readonly (V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration)[],
): WebhookService[] {
  const services = new Map<string, WebhookService>();
  for (const { webhooks = [] } of configurations)
    for (const { failurePolicy = "Fail", clientConfig } of webhooks) {
      if (failurePolicy !== "Fail" || clientConfig.service === undefined) continue;
      const { namespace, name } = clientConfig.service;
      services.set(`${namespace}/${name}`, { namespace, name });
    }
  return [...services.values()];
}

/**
 * Whether a pod answers for the service of these slices. An endpoint without the condition `ready` counts as ready
 * (kubernetes, staging/src/k8s.io/api/discovery/v1/types.go, EndpointConditions).
 */
export const isServed = (slices: readonly V1EndpointSlice[]): boolean =>
  slices.some(({ endpoints }) =>
    (endpoints ?? []).some(({ conditions }) => conditions?.ready ?? true),
  );
