import { leaderWorkerSet } from "../../recipe/facts/gpu-provider";
import type { FieldFinding } from "../../recipe/rules/finding";
import type { ClusterObjects, LiveObject } from "./live";

/**
 * Annotations of objects that Helm created from a chart's templates (helm, pkg/action/validate.go), and the annotation
 * of objects that Helm does not delete (pkg/kube/resource_policy.go).
 */
const [ownerName, ownerNamespace, policy] = [
  "meta.helm.sh/release-name",
  "meta.helm.sh/release-namespace",
  "helm.sh/resource-policy",
];

/** The stack's field that installs LeaderWorkerSet. */
const field = "leaderWorkerSet";

const annotationsOf = (object: LiveObject | undefined): Record<string, string> =>
  object?.object?.metadata?.annotations ?? {};

/**
 * Finding if a stack must not install LeaderWorkerSet, because the cluster has another installation of it. A cluster
 * can have only one installation, because the names of the webhooks are fixed. Charts up to 0.7.0 contain the CRD as a
 * template. An upgrade from such a chart to a later one deletes the CRD, and with it every LeaderWorkerSet of the
 * cluster (lws#880).
 */
export async function foreignSets(
  objects: Pick<ClusterObjects, "read">,
  release: { name: string; namespace: string },
): Promise<FieldFinding | undefined> {
  const readObject = (apiVersion: string, kind: string, name: string) =>
    objects.read({ apiVersion, kind, name });
  const { definition } = leaderWorkerSet;
  const definitionAnnotations = annotationsOf(
    await readObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition),
  );
  if (definitionAnnotations[ownerName] !== undefined && definitionAnnotations[policy] !== "keep")
    return {
      field,
      problem: `Helm release ${definitionAnnotations[ownerNamespace] ?? "default"}/${definitionAnnotations[ownerName]} has LeaderWorkerSet 0.7.0 or older`,
      why: "an upgrade deletes the CRD, and with it every LeaderWorkerSet of the cluster",
      remedy: `run \`kubectl annotate crd ${definition} ${policy}=keep\`. Then upgrade that release yourself with the CRDs of the new chart (lws#880), and remove leaderWorkerSet from the stack`,
    };
  const webhookKind = "MutatingWebhookConfiguration";
  const webhook = await readObject(
    "admissionregistration.k8s.io/v1",
    webhookKind,
    "lws-mutating-webhook-configuration",
  );
  const { [ownerName]: name, [ownerNamespace]: namespace } = annotationsOf(webhook);
  if (webhook === undefined || (name === release.name && namespace === release.namespace))
    return undefined;
  return {
    field,
    problem: "the cluster already has a LeaderWorkerSet controller",
    why: "two controllers would answer the same webhooks, and Helm refuses to install a second controller",
    remedy: "remove this field: workloads then use the existing controller",
  };
}
