import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject } from "./api";

/** What an object still waits for. `failed`: it will not get there by itself. */
export type Readiness = { ready: true } | { ready: false; waitsFor: string; failed?: boolean };

/** Objects that readiness depends on besides the object itself. */
export interface Related {
  /** Endpoint slices of a Service. */
  readonly endpointSlices?: readonly KubernetesObject[];
  /** Claims of the namespace, for a Deployment that mounts some. */
  readonly claims?: readonly KubernetesObject[];
  /** Storage classes, for a PersistentVolumeClaim. */
  readonly storageClasses?: readonly KubernetesObject[];
  /** Whether the object was there before this update. */
  readonly existed: boolean;
  /** The object as the API server returned it when it was applied: what its status says there is of before. */
  readonly applied?: KubernetesObject;
}

type Rule = (object: KubernetesObject, related: Related) => Readiness;

const ready: Readiness = { ready: true };
const waiting = (waitsFor: string): Readiness => ({ ready: false, waitsFor });
const failed = (waitsFor: string): Readiness => ({ ready: false, waitsFor, failed: true });

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

/** Conditions of an object's status. */
export const conditionsOf = (object: KubernetesObject): Condition[] =>
  (object["status"]?.conditions ?? []) as Condition[];

const condition = (object: KubernetesObject, type: string): Condition | undefined =>
  conditionsOf(object).find((entry) => entry.type === type);

const observed = (object: KubernetesObject): boolean =>
  (object["status"]?.observedGeneration ?? 0) >= (object.metadata?.generation ?? 0);

const words = ({ reason, message }: Condition): string => [reason, message].filter(Boolean).join(": ");

/** Names of the claims that an object's pods mount. */
export const claimsOf = (object: KubernetesObject): string[] =>
  ((object["spec"]?.template?.spec?.volumes ?? []) as { persistentVolumeClaim?: { claimName: string } }[]).flatMap(
    ({ persistentVolumeClaim }) => (persistentVolumeClaim ? [persistentVolumeClaim.claimName] : []),
  );

// await/deployment.go: available, the new ReplicaSet complete, every claim bound (isEveryPVCReady), also of one without replicas: the
// real provider misses a claim that it hears of later than of all else. An exceeded progress deadline is final, and said at once,
// where the real provider waits until the end of its own time; one that was there before the change is not about it.
const deployment: Rule = (object, { applied, claims = [] }) => {
  if (!observed(object)) return waiting("the controller to see the change");
  const progressing = condition(object, "Progressing");
  const stale = applied !== undefined && isDeepStrictEqual(progressing, condition(applied, "Progressing"));
  if (progressing?.status === "False" && !stale) return failed(`progress (${words(progressing)})`);
  const wanted = object["spec"]?.replicas ?? 1;
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0 } = object["status"] ?? {};
  if (updatedReplicas < wanted) return waiting(`pods of the new revision (${updatedReplicas} of ${wanted})`);
  if (replicas > updatedReplicas) return waiting(`${replicas - updatedReplicas} pods of the old revision to end`);
  if (availableReplicas < wanted) return waiting(`available pods (${availableReplicas} of ${wanted})`);
  if (condition(object, "Available")?.status !== "True") return waiting("condition Available");
  const mounted = claimsOf(object);
  const unbound = claims
    .filter(({ metadata, status }) => mounted.includes(metadata?.name ?? "") && status?.phase !== "Bound")
    .map(({ metadata, status }) => `${metadata?.name} is ${status?.phase}`);
  return unbound.length === 0 ? ready : waiting(`its claims to be bound (${unbound.join(", ")})`);
};

// await/daemonset.go leaves it to kstatus: every node that wants a pod has one of the new revision, available and ready.
const daemonSet: Rule = (object) => {
  const status = object["status"];
  if (!observed(object) || status?.desiredNumberScheduled === undefined)
    return waiting("the controller to see the change");
  const wanted = status.desiredNumberScheduled;
  const counts = {
    scheduled: status.currentNumberScheduled ?? 0,
    updated: status.updatedNumberScheduled ?? 0,
    available: status.numberAvailable ?? 0,
    ready: status.numberReady ?? 0,
  };
  const short = Object.entries(counts).find(([, count]) => count < wanted);
  return short ? waiting(`${short[0]} pods (${short[1]} of ${wanted})`) : ready;
};

// await/statefulset.go: all replicas ready and the update's revision current.
const statefulSet: Rule = (object) => {
  if (!observed(object)) return waiting("the controller to see the change");
  const wanted = object["spec"]?.replicas ?? 1;
  const { replicas = 0, readyReplicas = 0, currentRevision, updateRevision } = object["status"] ?? {};
  if (replicas < wanted || readyReplicas < wanted) return waiting(`ready pods (${readyReplicas} of ${wanted})`);
  return currentRevision === updateRevision ? ready : waiting(`revision ${updateRevision} to become current`);
};

// await/checker/job/check.go
const job: Rule = (object) => {
  const { active = 0, succeeded = 0, failed: lost = 0 } = object["status"] ?? {};
  const progress = `(active ${active}, succeeded ${succeeded}, failed ${lost})`;
  const failure = condition(object, "Failed");
  if (failure?.status === "True") return failed(`success: ${words(failure)} ${progress}`);
  return condition(object, "Complete")?.status === "True" ? ready : waiting(`success ${progress}`);
};

// await/service.go: endpoints unless headless, external or without selector; an address for a load balancer.
const service: Rule = (object, { endpointSlices }) => {
  const { type, clusterIP, selector } = object["spec"] ?? {};
  if (type === "LoadBalancer" && !object["status"]?.loadBalancer?.ingress?.length)
    return waiting("an address of the load balancer");
  const selects = Object.keys((selector ?? {}) as object).length > 0;
  if (type === "ExternalName" || clusterIP === "None" || !selects) return ready;
  const addresses = (endpointSlices ?? []).flatMap((slice) => (slice["endpoints"] ?? []) as { conditions?: unknown }[]);
  const live = addresses.filter((entry) => (entry.conditions as { ready?: boolean } | undefined)?.ready !== false);
  return live.length > 0 ? ready : waiting("an endpoint: no ready pod matches its selector");
};

// await/awaiters.go, untilCoreV1PersistentVolumeClaimReady
const claim: Rule = (object, { storageClasses, existed }) => {
  const phase = object["status"]?.phase;
  if (phase === "Bound") return ready;
  if (phase === "Lost") return failed("its volume, which is lost");
  const name = object["spec"]?.storageClassName;
  const late = storageClasses?.find((entry) => entry.metadata?.name === name);
  if (!existed && phase === "Pending" && late?.["volumeBindingMode"] === "WaitForFirstConsumer") return ready;
  return waiting(`a volume (storage class ${name ? `"${name}"` : "of the cluster's default, if it has one"})`);
};

const volume: Rule = (object) =>
  ["Available", "Bound"].includes(object["status"]?.phase) ? ready : waiting("phase Available or Bound");

// await/pod.go with checker/pod: ready, or done.
const pod: Rule = (object) => {
  const phase = object["status"]?.phase;
  if (phase === "Succeeded" || condition(object, "Ready")?.status === "True") return ready;
  if (phase === "Failed") return failed(`readiness, but it failed: ${object["status"]?.reason ?? "container ended"}`);
  return waiting(`readiness (phase ${phase ?? "unknown"})`);
};

const rules: Readonly<Record<string, Rule>> = {
  "apps/v1/DaemonSet": daemonSet,
  "apps/v1/Deployment": deployment,
  "apps/v1/StatefulSet": statefulSet,
  "batch/v1/Job": job,
  "v1/PersistentVolume": volume,
  "v1/PersistentVolumeClaim": claim,
  "v1/Pod": pod,
  "v1/Service": service,
};

/** The rule by which an object of this kind is ready; undefined when it is as soon as it exists. */
export const readinessRule = (object: KubernetesObject): Rule | undefined =>
  rules[`${object.apiVersion}/${object.kind}`];

/**
 * A rule from the annotation `pulumi.com/waitFor`: `condition=Type`, `condition=Type=Status`, `jsonpath={.a.b}` or
 * `jsonpath={.a.b}=value` (pulumi-kubernetes provider/pkg/await/condition). Paths are names alone here, no filters.
 * Error: anything else.
 */
export function customRule(expression: string): Rule {
  const [, type, status = "True"] = /^condition=([^=]+)(?:=(.*))?$/.exec(expression) ?? [];
  if (type !== undefined)
    return (object) => (condition(object, type)?.status === status ? ready : waiting(`condition ${type}=${status}`));
  const [, path, value] = /^jsonpath=\{((?:\.[\w-]+)+)\}(?:=(.*))?$/.exec(expression) ?? [];
  if (path === undefined)
    throw new Error(
      `pulumi.com/waitFor: "${expression}" is neither condition=Type[=Status] nor jsonpath={.a.b}[=value]`,
    );
  return (object) => {
    const found: unknown = path
      .slice(1)
      .split(".")
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
    const matches = value === undefined ? found !== undefined : String(found) === value;
    return matches ? ready : waiting(`${path} to be ${value ?? "there"} (now ${JSON.stringify(found)})`);
  };
}
