import { gunzipSync } from "node:zlib";
import type { KubernetesObject } from "@kubernetes/client-node";
import { systemClock, waitFor } from "../../clients/clock";
import { client } from "../../clients/kubernetes/client";
import { callKubernetes } from "../../clients/kubernetes/call";
import { type ClusterObjects, type LiveObject, type ObjectKey, OWNER, type ReleaseRecord, titleOf } from "./live";

/** Milliseconds within which an object must have gone: a pod's grace period of 30 s, and what runs finalizers. */
const GONE = 180_000;
const POLL = 1_000;

/** Objects of a cluster, with whatever a kubeconfig can authenticate by. A program of its own file: the client is bundled with it. */
export function clusterObjects(kubeconfig: string): ClusterObjects {
  const { CoreV1Api, KubeConfig, KubernetesObjectApi, keepConnections } = client();
  const config = keepConnections(new KubeConfig());
  config.loadFromString(kubeconfig);
  const objects = KubernetesObjectApi.makeApiClient(config);
  const core = config.makeApiClient(CoreV1Api);
  const call = <T>(what: string, request: () => Promise<T>, instead?: Record<number, any>): Promise<T | undefined> =>
    callKubernetes([kubeconfig], what, request, instead);

  const header = ({ apiVersion, kind, name, namespace }: ObjectKey) => ({
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  });
  const get = (key: ObjectKey): Promise<KubernetesObject | undefined> =>
    call(titleOf(key), () => objects.read(header(key)), { 404: undefined }).catch((error: Error) => {
      // The client's own words for a kind that the API server does not have, such as a CRD's before its chart.
      if (/Unrecognized API version and kind/.test(error.message)) return undefined;
      throw error;
    });
  const live = async (key: ObjectKey, found: KubernetesObject): Promise<LiveObject> => ({
    ...key,
    uid: found.metadata?.uid ?? "",
    owner: found.metadata?.annotations?.[OWNER],
    holds: await held(key, found),
    object: found,
  });

  /** Kinds that somebody put into a namespace; those that Kubernetes itself puts there are left out by name. */
  const kept = [
    ["v1", "Pod"],
    ["v1", "PersistentVolumeClaim"],
    ["v1", "Service"],
    ["v1", "Secret"],
    ["v1", "ConfigMap"],
    ["apps/v1", "Deployment"],
    ["apps/v1", "StatefulSet"],
    ["apps/v1", "DaemonSet"],
    ["batch/v1", "Job"],
  ] as const;

  async function held({ kind, name }: ObjectKey, found: KubernetesObject): Promise<string[]> {
    if (kind === "PersistentVolumeClaim") {
      const volume = (found as { spec?: { volumeName?: string } }).spec?.volumeName;
      return volume === undefined || volume === "" ? [] : [`volume ${volume}`];
    }
    if (kind !== "Namespace") return [];
    const lists = await Promise.all(
      kept.map(([apiVersion, contained]) =>
        call(`${contained}s of ${name}`, () => objects.list(apiVersion, contained, name)),
      ),
    );
    return lists.flatMap((list, index) =>
      list!.items
        .map(({ metadata }) => `${kept[index]![1]} ${metadata?.name}`)
        .filter((title) => title !== "ConfigMap kube-root-ca.crt"),
    );
  }

  const recordOf = ({ metadata, data }: { metadata?: any; data?: Record<string, string> }): ReleaseRecord => ({
    name: metadata?.name ?? "",
    uid: metadata?.uid ?? "",
    revision: Number(metadata?.labels?.version),
    status: metadata?.labels?.status ?? "",
    ...contentOf(data?.["release"]),
  });

  return {
    read: async (key) => {
      const found = await get(key);
      return found === undefined ? undefined : live(key, found);
    },
    ownedBy: async (owner, { apiVersion, kind }, namespace) => {
      const none = { 403: undefined, 404: undefined };
      const list = await call(`${kind}s`, () => objects.list(apiVersion, kind, namespace), none);
      const found = (list?.items ?? []).filter(({ metadata }) => metadata?.annotations?.[OWNER] === owner);
      return Promise.all(
        found.map((object) => {
          const { name = "", namespace: place } = object.metadata ?? {};
          return live({ apiVersion, kind, name, ...(place === undefined ? {} : { namespace: place }) }, object);
        }),
      );
    },
    records: async (namespace, release) => {
      const labelSelector = `owner=helm,name=${release}`;
      const list = await call(`records of release ${release}`, () =>
        core.listNamespacedSecret({ namespace, labelSelector }),
      );
      return list!.items.map(recordOf).sort((one, other) => one.revision - other.revision);
    },
    remove: async (object) => {
      // All of it in the body: the API server reads the query's options only where there is no body (apiserver,
      // pkg/endpoints/handlers/delete.go), and a Job's pods are orphaned by default (registry/batch/job/strategy.go).
      const body = { preconditions: { uid: object.uid }, propagationPolicy: "Foreground" };
      await call(
        titleOf(object),
        () => objects.delete(header(object), undefined, undefined, undefined, undefined, undefined, body),
        { 404: undefined, 409: undefined },
      );
      await waitFor(systemClock, {
        what: `${titleOf(object)}, left by a killed update, to go`,
        limit: GONE,
        poll: POLL,
        look: async () => {
          const found = await get(object);
          return found === undefined || found.metadata?.uid !== object.uid ? { done: true } : { not: "it is there" };
        },
      });
    },
    forget: async (namespace, { name, uid }) => {
      await call(
        `Secret ${namespace}/${name}`,
        () => core.deleteNamespacedSecret({ namespace, name, body: { preconditions: { uid } } }),
        { 404: undefined, 409: undefined },
      );
    },
  };
}

/** A record is JSON, compressed, and encoded once by Helm and once more as a Secret (helm, pkg/storage/driver/util.go). */
function contentOf(release: string | undefined): Pick<ReleaseRecord, "chart" | "values"> {
  try {
    const encoded = Buffer.from(Buffer.from(release!, "base64").toString(), "base64");
    const { chart, config } = JSON.parse(gunzipSync(encoded).toString());
    return { chart: chart?.metadata?.name ?? "", values: config ?? {} };
  } catch {
    return { chart: "", values: undefined };
  }
}
