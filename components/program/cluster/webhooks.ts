import type {
  V1EndpointSlice,
  V1MutatingWebhookConfiguration,
  V1Pod,
  V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";

/** A service that answers admission webhooks, and the endpoints behind it. */
export interface WebhookService {
  namespace: string;
  name: string;
  endpoints: WebhookEndpoint[];
}

/** An endpoint of a service. */
export interface WebhookEndpoint {
  ready: boolean;
  addresses: string[];
  /** Name of the endpoint's node; undefined if the endpoint names none. */
  node: string | undefined;
  /** UID of the endpoint's pod; undefined if the endpoint is no pod. */
  pod: string | undefined;
}

/** What a pod's kubelet last reported. */
export interface ReportedPod {
  /** IDs of the pod's containers. They change with every start of a container. */
  containers: string[];
  ready: boolean;
  addresses: string[];
}

/** Pods of a node, by UID. */
export type ReportedPods = Record<string, ReportedPod>;

/** What Kubernetes said about admission webhooks before a reboot. */
export interface WebhooksBefore {
  /** Services that a pod answered for. */
  served: string[];
  /** Pods of the machine's node. */
  pods: ReportedPods;
}

/**
 * Services that must answer, because Kubernetes refuses the objects of their webhooks otherwise: `failurePolicy: Fail`
 * is the default (kubernetes, pkg/apis/admissionregistration/v1/defaults.go). A webhook with an address outside the
 * cluster has no service.
 */
export function requiredServices(
  configurations: readonly (V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration)[],
): Omit<WebhookService, "endpoints">[] {
  const services = new Map<string, Omit<WebhookService, "endpoints">>();
  for (const { webhooks } of configurations)
    for (const { failurePolicy = "Fail", clientConfig } of webhooks ?? []) {
      if (failurePolicy !== "Fail" || clientConfig.service === undefined) continue;
      const { namespace, name } = clientConfig.service;
      services.set(`${namespace}/${name}`, { namespace, name });
    }
  return [...services.values()];
}

/**
 * The endpoints of a service. An endpoint without the condition `ready` counts as ready (kubernetes,
 * staging/src/k8s.io/api/discovery/v1/types.go, EndpointConditions).
 */
export const endpointsIn = (slices: readonly V1EndpointSlice[]): WebhookEndpoint[] =>
  slices.flatMap(({ endpoints }) =>
    // Go writes an empty list as null.
    (endpoints ?? []).map(({ conditions, addresses, nodeName, targetRef }) => ({
      ready: conditions?.ready ?? true,
      addresses,
      node: nodeName,
      pod: targetRef?.kind === "Pod" ? targetRef.uid : undefined,
    })),
  );

/** What the kubelet last reported of each of these pods. */
export const reportedPods = (pods: readonly V1Pod[]): ReportedPods =>
  Object.fromEntries(
    pods.map(({ metadata, status }) => [
      metadata?.uid ?? "",
      {
        containers: (status?.containerStatuses ?? []).map(({ containerID = "" }) => containerID),
        ready: (status?.conditions ?? []).some(
          ({ type, status: value }) => type === "Ready" && value === "True",
        ),
        addresses: (status?.podIPs ?? []).map(({ ip }) => ip),
      },
    ]),
  );

/**
 * Whether a pod answers for the service after the reboot of a node. The API server serves the endpoints from before the
 * reboot until a controller manager changes them. On an only node this takes many seconds, because the controller
 * manager first waits for its lease. So an endpoint on that node counts only if its pod has started again, is ready,
 * and has the endpoint's address.
 *
 * @param podsBefore Pods of the node before its reboot; empty if there was no reboot.
 * @param podsNow Pods of the node now.
 */
export const isServed = (
  { endpoints }: WebhookService,
  node: string,
  podsBefore: ReportedPods,
  podsNow: ReportedPods,
): boolean =>
  endpoints.some((endpoint) => {
    if (!endpoint.ready) return false;
    if (endpoint.node !== node || endpoint.pod === undefined) return true;
    const former = podsBefore[endpoint.pod];
    if (former === undefined) return true;
    const pod = podsNow[endpoint.pod];
    return (
      pod !== undefined &&
      pod.ready &&
      endpoint.addresses.some((address) => pod.addresses.includes(address)) &&
      pod.containers.every((container) => !former.containers.includes(container))
    );
  });
