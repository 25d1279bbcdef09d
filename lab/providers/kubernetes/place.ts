import type { CallContext } from "../provider";
import { type KubernetesObject, isNotFound } from "./api";
import type { Cluster } from "./cluster";
import { until } from "./observe";

// pulumi-kubernetes provider/pkg/await/await.go tries a creation again five times with doubled pauses: 31 s in all.
const seconds = 31;

/**
 * Waits a while for what an object needs to exist: the definition of its kind, and its namespace. Another resource may
 * bring them without the program saying so. Returns when both are there or the time is over; the API server then says
 * what is missing.
 */
export async function waitForPlace(cluster: Cluster, object: KubernetesObject, context: CallContext): Promise<void> {
  const missing = await cluster.namespaced(object).then(
    () => false,
    (error: unknown) => {
      if (isNotFound(error)) return true;
      throw error;
    },
  );
  const limits = { seconds, signal: context.signal };
  if (missing) {
    context.log("info", `waits for the definition of ${object.kind}`, { ephemeral: true });
    await until(cluster, [definitions], ([list]) => list?.some((entry) => defines(entry, object)) || undefined, limits);
  }
  const namespace = object.metadata?.namespace;
  if (!namespace || !(await cluster.namespaced(object))) return;
  const query = { fieldSelector: `metadata.name=${namespace}` };
  const namespaces = { path: "/api/v1/namespaces", query };
  await until(cluster, [namespaces], ([list]) => (list?.length ? true : undefined), limits);
}

const definitions = { path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", query: {} };

function defines(definition: KubernetesObject, { apiVersion, kind }: KubernetesObject): boolean {
  const { group, names } = definition["spec"] as { group: string; names: { kind: string } };
  const conditions = (definition["status"]?.conditions ?? []) as { type: string; status: string }[];
  const established = conditions.some(({ type, status }) => type === "Established" && status === "True");
  return established && names.kind === kind && apiVersion?.split("/")[0] === group;
}
