import type * as k8s from "@kubernetes/client-node";
import { slicesPath } from "../../../components/clients/kubernetes/devices";
import type { Observations } from "../../../components/diagnosis";
import { talosVersionOf } from "../../../components/diagnosis/system";
import { defined } from "../../../components/recipe/mapping";
import type { KubernetesApi } from "../../../components/clients/kubernetes/api";
import type { KubernetesError } from "../../../components/clients/kubernetes/error";
import { readLastLogs } from "./last-words";
import { livingEvents, livingPods } from "./living";
import * as observed from "../../../components/diagnosis/observations";

/** Observed facts, failed reads and forbidden reads. */
export interface ClusterObservation {
  observations: Observations;
  /** One sentence for each failed read, with the reason. */
  unseen: string[];
  /** One sentence for each kind of object that the credentials' role may not read. */
  leftOut: string[];
}

interface Listed {
  pods: k8s.V1Pod;
  daemonSets: k8s.V1DaemonSet;
  deployments: k8s.V1Deployment;
  jobs: k8s.V1Job;
  nodes: k8s.V1Node;
  namespaces: k8s.V1Namespace;
  runtimeClasses: k8s.V1RuntimeClass;
  events: k8s.CoreV1Event;
  releases: k8s.V1Secret;
}

type Kind = keyof Listed;

const paths: Record<Kind, string> = {
  pods: "/api/v1/pods",
  daemonSets: "/apis/apps/v1/daemonsets",
  deployments: "/apis/apps/v1/deployments",
  jobs: "/apis/batch/v1/jobs",
  nodes: "/api/v1/nodes",
  namespaces: "/api/v1/namespaces",
  runtimeClasses: "/apis/node.k8s.io/v1/runtimeclasses",
  events: "/api/v1/events",
  // Helm keeps a Secret per revision of a release (helm, pkg/storage/driver/secrets.go).
  releases: "/api/v1/secrets?labelSelector=owner%3Dhelm",
};

const metadataAlone = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

type Failed = { kind: Kind; error: KubernetesError };

/**
 * Lists the objects that a diagnosis uses. If a kind cannot be listed, the result names the kind and the reason
 * instead.
 */
export async function observeCluster(
  api: KubernetesApi,
  now: Date,
): Promise<ClusterObservation & { addresses: ReturnType<typeof addressesOf> }> {
  const failed: Failed[] = [];
  const [failedReads, forbiddenReads]: [string[], string[]] = [[], []];
  // A cluster whose Kubernetes lacks the kind has no claims.
  const slices = api
    .list<k8s.V1ResourceSlice>("ResourceSlices", slicesPath, { instead: { 404: undefined } })
    .catch((error: KubernetesError) => {
      (error.code === 403 ? forbiddenReads : failedReads).push(
        `resourceSlices could not be listed: ${error.words}`,
      );
      return undefined;
    });
  const listed = await Promise.all(
    Object.entries(paths).map(async ([kind, path]) => [
      kind,
      // The doctor only needs the names of Secrets, and keeps no content.
      await api
        .list(kind, path, kind === "releases" ? { accept: metadataAlone } : {})
        .catch((error: KubernetesError) => {
          failed.push({ kind: kind as Kind, error });
          return undefined;
        }),
    ]),
  );
  const objects = Object.fromEntries(listed) as { [K in Kind]: Listed[K][] | undefined };
  const { pods, jobs, nodes, events, releases } = objects;
  const living = livingPods(pods ?? [], jobs ?? []);
  const published = await slices;
  const { logs, unread } = await readLastLogs(living, nodes ?? [], api);
  const observations = defined({
    pods: pods && living.map((pod) => observed.observedPod(pod, logs)),
    daemonSets: objects.daemonSets?.map(observed.observedDaemonSet),
    deployments: objects.deployments?.map(observed.observedDeployment),
    jobs: jobs?.map(observed.observedJob),
    nodes: nodes?.map((node) => observed.observedNode(node, published)),
    namespaces: objects.namespaces?.map(observed.observedNamespace),
    runtimeClasses: objects.runtimeClasses?.map(observed.observedRuntimeClass),
    releases: releases && observed.observedReleases(releases),
    events: events && livingEvents(events, objects, now).map(observed.observedEvent),
  });
  const { unseen, leftOut } = blindSpots(failed);
  const addresses = addressesOf(nodes ?? []);
  if (isNothingRead(failed)) return { observations, unseen, leftOut, addresses };
  return {
    observations,
    unseen: [...unseen, ...failedReads, ...unread],
    leftOut: [...leftOut, ...forbiddenReads],
    addresses,
  };
}

/** Kinds that a read-only role usually cannot read. The doctor then skips the checks that use these kinds. */
const oftenHidden: Kind[] = ["releases"];

const reasonsOf = (failed: Failed[]): string[] => [
  ...new Set(failed.map(({ error }) => error.words)),
];

/** Whether every read failed, and all for the same reason. */
const isNothingRead = (failed: Failed[]): boolean =>
  failed.length === Object.keys(paths).length && reasonsOf(failed).length === 1;

function blindSpots(failed: Failed[]): Pick<ClusterObservation, "unseen" | "leftOut"> {
  const reasons = reasonsOf(failed);
  if (isNothingRead(failed))
    return { unseen: [`Kubernetes could not be read: ${reasons.join(", ")}`], leftOut: [] };
  const toleratedFailures = failed.filter(
    ({ kind, error }) => error.code === 403 && oftenHidden.includes(kind),
  );
  const describe = ({ kind, error }: Failed): string =>
    `${kind} could not be listed: ${error.words}`;
  return {
    unseen: failed.filter((failure) => !toleratedFailures.includes(failure)).map(describe),
    leftOut: toleratedFailures.map(describe),
  };
}

/** Internal addresses of the nodes that run Talos, by name. */
export function addressesOf(nodes: k8s.V1Node[]): Record<string, string> {
  const entries = nodes
    .filter(
      ({ status }) => talosVersionOf({ osImage: status?.nodeInfo?.osImage ?? "" }) !== undefined,
    )
    .flatMap((node): [string, string][] => {
      const address = node.status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
      return address === undefined ? [] : [[node.metadata?.name ?? "", address]];
    });
  return Object.fromEntries(entries);
}
