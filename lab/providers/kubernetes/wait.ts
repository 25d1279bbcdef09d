import type { CallContext, Properties } from "../provider";
import type { KubernetesObject } from "./api";
import type { Cluster } from "./cluster";
import { conditionReasons, podReasons, podsOf, warnings } from "./explain";
import { type Followed, until } from "./observe";
import { claimsOf, customRule, readinessRule, type Related } from "./readiness";
import { annotation, title } from "./tokens";

/** Longest wait where `customTimeouts` says nothing: ten minutes, as the real provider's. */
export const defaultSeconds = 600;

/** How a wait ended: with the last state seen, and with what was missing if it did not come. */
export interface Waited {
  readonly object: KubernetesObject;
  /** Empty when ready; else the finding, then conditions, pods and events. */
  readonly reasons: readonly string[];
}

/** How long to wait, and for whom. */
export interface WaitOptions {
  readonly seconds: number;
  /** Whether the object was there before this update. */
  readonly existed: boolean;
  readonly context: Pick<CallContext, "signal" | "log">;
}

/**
 * Waits until an object is ready by the rule of its kind, or will not become so. Nothing to wait for: kinds without a
 * rule, and `pulumi.com/skipAwait: "true"`. The wait follows watches; progress is shown as the object's status.
 */
export async function waitUntilReady(
  cluster: Cluster,
  inputs: Properties,
  applied: KubernetesObject,
  { seconds, existed, context }: WaitOptions,
): Promise<Waited> {
  const waitFor = annotation(inputs, "pulumi.com/waitFor");
  const rule = waitFor === undefined ? readinessRule(applied) : customRule(waitFor);
  if (!rule || annotation(inputs, "pulumi.com/skipAwait") === "true") return { object: applied, reasons: [] };

  const besides = relatedOf(applied);
  let last = applied;
  let waitsFor = "its first state";
  const verdict = await until<"ready" | "failed" | "gone">(
    cluster,
    [await itself(cluster, applied), ...(besides ? [besides.collection] : [])],
    ([own, related]) => {
      if (own === undefined || (besides && related === undefined)) return undefined;
      const object = own.find(({ metadata }) => metadata?.uid === applied.metadata?.uid);
      if (!object) return "gone";
      last = { apiVersion: applied.apiVersion, kind: applied.kind, ...object } as KubernetesObject;
      const state = rule(last, { ...(besides && { [besides.as]: related }), existed, applied });
      if (state.ready) return "ready";
      if (state.waitsFor !== waitsFor) context.log("info", `waits for ${state.waitsFor}`, { ephemeral: true });
      waitsFor = state.waitsFor;
      return state.failed ? "failed" : undefined;
    },
    { seconds, signal: context.signal },
  );
  if (verdict === "ready") return { object: last, reasons: [] };
  const headline = {
    failed: `${title(last)} will not become ready; it waits for ${waitsFor}`,
    gone: `${title(last)} was deleted while it was waited for`,
    time: `${title(last)} is not ready after ${seconds} s; it waits for ${waitsFor}`,
  }[verdict ?? "time"];
  return { object: last, reasons: [headline, ...(await details(cluster, last, context.signal))] };
}

/** Waits until an object that is being deleted is gone. Error: after `seconds`, naming what holds it. */
export async function waitUntilGone(
  cluster: Cluster,
  object: KubernetesObject,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  let last: KubernetesObject | undefined;
  const gone = await until(
    cluster,
    [await itself(cluster, object)],
    ([own]) => {
      last = own?.find(({ metadata }) => !object.metadata?.uid || metadata?.uid === object.metadata.uid);
      return own && !last ? true : undefined;
    },
    { seconds, signal },
  );
  if (gone) return;
  const finalizers = last?.metadata?.finalizers ?? last?.["spec"]?.finalizers ?? [];
  const holds = finalizers.length > 0 ? `finalizers ${finalizers.join(", ")}` : "nothing that it names";
  const conditions = last ? namespaceReasons(last) : [];
  throw new Error([`${title(object)} is not gone after ${seconds} s; held by ${holds}`, ...conditions].join("\n  "));
}

/** Conditions of a namespace under deletion report what remains by being True. */
const namespaceReasons = (object: KubernetesObject): string[] =>
  ((object["status"]?.conditions ?? []) as { status: string; message?: string; type: string }[])
    .filter(({ status }) => status === "True")
    .map(({ type, message }) => `${type}: ${message ?? ""}`);

async function details(cluster: Cluster, object: KubernetesObject, signal: AbortSignal): Promise<string[]> {
  const attempt = async (lines: Promise<string[]>): Promise<string[]> =>
    lines.catch((error: Error) => [`no further details: ${error.message}`]);
  const pods = podsOf(cluster, object, signal).then((found) => found.flatMap(podReasons));
  return [
    ...conditionReasons(object),
    ...(await attempt(pods)),
    ...(await attempt(warnings(cluster, object.metadata?.namespace ?? "default", object.metadata?.name, signal))),
  ];
}

async function itself(cluster: Cluster, object: KubernetesObject): Promise<Followed> {
  const query = { fieldSelector: `metadata.name=${object.metadata?.name}` };
  return { path: await cluster.path(object, true), query };
}

/** What an object's readiness depends on besides itself: a collection, and what a rule knows it as. */
function relatedOf(object: KubernetesObject): { as: keyof Related; collection: Followed } | undefined {
  const { kind, metadata } = object;
  if (kind === "Service") {
    const query = { labelSelector: `kubernetes.io/service-name=${metadata?.name}` };
    const path = `/apis/discovery.k8s.io/v1/namespaces/${metadata?.namespace}/endpointslices`;
    return { as: "endpointSlices", collection: { path, query } };
  }
  if (kind === "PersistentVolumeClaim")
    return { as: "storageClasses", collection: { path: "/apis/storage.k8s.io/v1/storageclasses", query: {} } };
  if (kind !== "Deployment" || claimsOf(object).length === 0) return undefined;
  const path = `/api/v1/namespaces/${metadata?.namespace}/persistentvolumeclaims`;
  return { as: "claims", collection: { path, query: {} } };
}
