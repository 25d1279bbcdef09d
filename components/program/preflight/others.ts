import type { GpuOffer } from "../../clients/kubernetes/gpu-offers";
import { managingToolText, removeWords } from "../../clients/kubernetes/managing-tool";
import type { FieldFinding } from "../../clients/failure";
import { gpuProviderOfField } from "../../recipe/facts/gpu-provider";
import type { Report } from "../progress";
import type { Cluster } from "../cluster/cluster";
import type { PreflightTask } from "./task";

/**
 * Findings about GPU providers in the cluster that do not belong to the stack: such a provider and the stack's release
 * would allocate the same cards. Name and namespace identify the stack's release, so a release that the stack takes
 * over counts as the stack's. A release that Pulumi installed, or that is in a namespace of the stack, is no finding:
 * it may come from this stack's previous update, and this update replaces it.
 */
export async function foreignOffers(
  { installs, mark }: PreflightTask,
  cluster: Pick<Cluster, "gpuOffers" | "annotationOf">,
  report: Report,
): Promise<FieldFinding[]> {
  if (installs === undefined) return [];
  const { offers, withoutPlugin } = await cluster.gpuOffers();
  if (offers === undefined) {
    report(
      "not known whether another GPU provider runs in the cluster: the credentials lack the right to list DaemonSets or Deployments",
    );
    return [];
  }
  const findings: FieldFinding[] = [];
  for (const offer of offers.filter((candidate) => isForeign(candidate, installs, withoutPlugin))) {
    const owner = await cluster.annotationOf(offer.namespace, mark.annotation);
    if (owner?.startsWith(mark.valuePrefix) !== true) findings.push(problemOf(offer, installs));
  }
  return findings;
}

type Installs = NonNullable<PreflightTask["installs"]>;

function isForeign(offer: GpuOffer, installs: Installs, withoutPlugin: boolean): boolean {
  if (offer.byPulumi) return false;
  const isOwn =
    offer.field === installs.field &&
    offer.namespace === installs.namespace &&
    (offer.release === undefined || offer.release === installs.release);
  if (isOwn) return false;
  // An operator without its plugin allocates no cards. It conflicts only with a second operator, and not only over the
  // cards.
  return offer.field !== "gpuOperator" || installs.field === "gpuOperator" || !withoutPlugin;
}

function problemOf(
  { field, title, namespace, managedBy }: GpuOffer,
  installs: Installs,
): FieldFinding {
  const whose =
    managedBy === undefined ? "of an unknown owner" : `managed by ${managingToolText(managedBy)}`;
  const remove =
    managedBy === undefined
      ? `run \`kubectl delete ${kubectlName(title)} -n ${namespace}\``
      : removeWords(managedBy);
  return {
    field: installs.field,
    problem: `the cluster already has a ${gpuProviderOfField(field).words} (${title}, ${whose}), and this stack would install its own`,
    why: "both GPU providers would allocate the same cards, and pods would fail after the reboots",
    remedy: `to keep the existing one, write \`external: { kind: ${field}, namespace: ${namespace} }\` instead of ${installs.field}. To replace the existing one, ${remove}, then run again`,
  };
}

/**
 * Kind and name of an object for kubectl, e.g. `daemonset nvidia-device-plugin` from its title `DaemonSet
 * kube-system/nvidia-device-plugin`.
 */
function kubectlName(title: string): string {
  const [kind = "", place = ""] = title.split(" ");
  return `${kind.toLowerCase()} ${place.split("/")[1] ?? place}`;
}
