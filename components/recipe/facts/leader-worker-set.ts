import type { ChartName } from "./chart";
import { type WayField, wayFields, wayOfField } from "./way";

/**
 * LeaderWorkerSet's chart, and the definition of its kind. Its webhooks and their Service bear fixed names, and its program takes the
 * namespace for its own. Source: kubernetes-sigs/lws v0.9.0, charts/lws; README (oci://registry.k8s.io/lws/charts/lws).
 */
export const leaderWorkerSet = {
  chart: "lws",
  repository: "oci://registry.k8s.io/lws/charts",
  namespace: "lws-system",
  definition: "leaderworkersets.leaderworkerset.x-k8s.io",
  api: "leaderworkerset.x-k8s.io/v1",
  /** Label of its pods: `0` on the one that leads its group. */
  index: "leaderworkerset.sigs.k8s.io/worker-index",
  /** Label of its pods: the name of the set. */
  set: "leaderworkerset.sigs.k8s.io/name",
} as const;

/** A field of a stack that says a Helm release. */
export type ReleaseField = WayField | "leaderWorkerSet";

/** All of them. */
export const releaseFields: readonly ReleaseField[] = [...wayFields, "leaderWorkerSet"];

/** The chart of such a field. */
export const chartOfField = (field: ReleaseField): ChartName =>
  field === "leaderWorkerSet" ? leaderWorkerSet.chart : wayOfField(field).chart;
