import { gunzipSync } from "node:zlib";
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import { type Clock, persistent, systemClock, waitFor } from "../../clients/clock";
import { KubernetesApi, titleOf, type ObjectKey } from "../../clients/kubernetes/api";
import { readKubeconfig } from "../../clients/kubernetes/kubeconfig";
import { defined } from "../../recipe/mapping";
import { type ClusterObjects, type LiveObject, OWNER, type ReleaseRecord } from "./live";
import { contentOf } from "./namespace-content";

/**
 * Milliseconds within which a deleted object must disappear: enough for a pod's grace period of 30 s and for
 * finalizers.
 */
const GONE = 180_000;
const POLL = 1_000;

/**
 * The guard's calls to the cluster of a kubeconfig, which may use any kind of authentication. The build puts this
 * module and the Kubernetes client into a bundle that is loaded only when needed.
 *
 * @param persists whether to repeat a call that got no answer. Default false: a preview does not wait for its cluster.
 */
export function clusterObjects(kubeconfig: string, persists = false): ClusterObjects {
  const api = new KubernetesApi(readKubeconfig(kubeconfig), [kubeconfig]);
  return clusterObjectsOf(persists ? persistent(systemClock, api) : api);
}

/** The guard's calls with an existing client; `clusterObjects` creates the client from a kubeconfig. */
export function clusterObjectsOf(api: KubernetesApi, clock: Clock = systemClock): ClusterObjects {
  const liveObject = async (key: ObjectKey, object: KubernetesObject): Promise<LiveObject> => ({
    ...key,
    uid: object.metadata?.uid ?? "",
    owner: object.metadata?.annotations?.[OWNER],
    holds: await contentOfObject(key, object),
    object,
  });

  async function contentOfObject(
    { kind, name }: ObjectKey,
    object: KubernetesObject,
  ): Promise<string[]> {
    if (kind === "PersistentVolumeClaim") {
      const volume = (object as { spec?: { volumeName?: string } }).spec?.volumeName;
      return volume === undefined || volume === "" ? [] : [`volume ${volume}`];
    }
    return kind === "Namespace" ? contentOf(name, api) : [];
  }

  const recordOf = ({ metadata, data }: V1Secret): ReleaseRecord => {
    const { status, ...release } = releaseIn(data?.["release"]);
    return {
      name: metadata?.name ?? "",
      uid: metadata?.uid ?? "",
      revision: Number(metadata?.labels?.["version"]),
      status: status ?? metadata?.labels?.["status"] ?? "",
      ...release,
    };
  };

  return {
    read: async (key) => {
      const object = await api.read<KubernetesObject>(key);
      return object === undefined ? undefined : liveObject(key, object);
    },
    ownerOf: async (key) => (await api.read<KubernetesObject>(key))?.metadata?.annotations?.[OWNER],
    ownedBy: async (owner, { apiVersion, kind }, namespace) => {
      const path = await api.pathOf({ apiVersion, kind, ...defined({ namespace }) });
      if (path === undefined) return [];
      const allObjects = await api.list<KubernetesObject>(`${kind}s`, path, {
        instead: { 403: undefined, 404: undefined },
      });
      const ownedObjects = allObjects.filter(
        ({ metadata }) => metadata?.annotations?.[OWNER] === owner,
      );
      return Promise.all(
        ownedObjects.map((object) => {
          const { name = "", namespace: namespaceOfObject } = object.metadata ?? {};
          return liveObject(
            { apiVersion, kind, name, ...defined({ namespace: namespaceOfObject }) },
            object,
          );
        }),
      );
    },
    records: async (namespace, release) => {
      const path = `/api/v1/namespaces/${namespace}/secrets?labelSelector=owner%3Dhelm%2Cname%3D${release}`;
      const secrets = await api.list<V1Secret>(`records of release ${release}`, path);
      return secrets.map(recordOf).sort((a, b) => a.revision - b.revision);
    },
    remove: async (object) => {
      await api.deleteExactly(
        titleOf(object),
        (await api.pathOf(object))!,
        object.uid,
        "Foreground",
      );
      await waitFor(clock, {
        subject: `${titleOf(object)} (left by a killed update) to be deleted`,
        limit: GONE,
        poll: POLL,
        look: async () => {
          const existing = await api.read<KubernetesObject>(object);
          return existing === undefined || existing.metadata?.uid !== object.uid
            ? { done: true }
            : { not: "it still exists" };
        },
      });
    },
    forget: (namespace, { name, uid }) =>
      api.deleteExactly(
        `Secret ${namespace}/${name}`,
        `/api/v1/namespaces/${namespace}/secrets/${name}`,
        uid,
      ),
  };
}

/**
 * Decodes Helm's record of a revision: compressed JSON in base64, which the Secret encodes once more (helm,
 * pkg/storage/driver/util.go).
 *
 * Helm reads the status from this text, and not from the Secret's label. The two can differ after an interrupted
 * upgrade. Helm encodes the text before it reads the status for the label (pkg/storage/driver/secrets.go,
 * newSecretsObject). Meanwhile another goroutine sets the status to `failed` (pkg/action/upgrade.go, handleContext).
 */
function releaseIn(
  release: string | undefined,
): Pick<ReleaseRecord, "chart" | "values"> & { status: string | undefined } {
  try {
    const encoded = Buffer.from(Buffer.from(release!, "base64").toString(), "base64");
    const { chart, config, info } = JSON.parse(gunzipSync(encoded).toString());
    return { chart: chart?.metadata?.name ?? "", values: config ?? {}, status: info?.status };
  } catch {
    return { chart: "", values: undefined, status: undefined };
  }
}
