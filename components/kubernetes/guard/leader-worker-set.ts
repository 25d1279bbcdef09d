import { leaderWorkerSet } from "../../recipe/facts/gpu-provider";
import type { FieldFinding } from "../../recipe/rules/finding";
import type { ClusterObjects, LiveObject } from "./live";

/**
 * Marks of what Helm made of a chart's templates (helm, pkg/action/validate.go), and of what it keeps
 * (pkg/kube/resource_policy.go).
 */
const [ownerName, ownerNamespace, policy] = [
  "meta.helm.sh/release-name",
  "meta.helm.sh/release-namespace",
  "helm.sh/resource-policy",
];

/** The field of the stack that asks for LeaderWorkerSet. */
const field = "leaderWorkerSet";

const annotationsOf = (found: LiveObject | undefined): Record<string, string> =>
  found?.object?.metadata?.annotations ?? {};

/**
 * Why a stack may not install LeaderWorkerSet; a cluster has only one: the webhooks have fixed names. Charts up to
 * 0.7.0 had the definition of the kind among their templates. In an upgrade to a later one Helm deletes it, and with
 * it every set of the cluster (lws#880).
 */
export async function foreignSets(
  objects: Pick<ClusterObjects, "read">,
  release: { name: string; namespace: string },
): Promise<FieldFinding | undefined> {
  const read = (apiVersion: string, kind: string, name: string) =>
    objects.read({ apiVersion, kind, name });
  const { definition } = leaderWorkerSet;
  const kind = annotationsOf(
    await read("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition),
  );
  if (kind[ownerName] !== undefined && kind[policy] !== "keep")
    return {
      field,
      problem: `Helm release ${kind[ownerNamespace] ?? "default"}/${kind[ownerName]} is 0.7.0 or older`,
      why: "an upgrade deletes the definition of LeaderWorkerSets, and each of them with it",
      remedy: `first run \`kubectl annotate crd ${definition} ${policy}=keep\`, upgrade that release yourself with the definitions of the new chart (lws#880), and leave leaderWorkerSet out`,
    };
  const webhooks = "MutatingWebhookConfiguration";
  const found = await read(
    "admissionregistration.k8s.io/v1",
    webhooks,
    "lws-mutating-webhook-configuration",
  );
  const { [ownerName]: name, [ownerNamespace]: namespace } = annotationsOf(found);
  if (found === undefined || (name === release.name && namespace === release.namespace))
    return undefined;
  return {
    field,
    problem: "the cluster has one already",
    why: "two would answer to the same webhooks, and Helm refuses the second",
    remedy: "leave the field out: workloads then use the one that is there",
  };
}
