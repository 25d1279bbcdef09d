import type { FieldFinding } from "../../clients/failure";
import {
  isToLaterMinor,
  type KubernetesStep,
  removedBy,
  removedFinding,
  requestedLine,
  stepFindings,
} from "../../recipe/effect/kubernetes-step";
import type { AskedNode, Cluster } from "../cluster/cluster";
import type { Report } from "../progress";
import { answerOrReport } from "./or-report";
import type { PreflightTask } from "./task";

/**
 * Checks the upgrade from the running Kubernetes release to the stack's: whether Kubernetes supports this upgrade, and
 * whether the cluster uses APIs that the new release lacks.
 *
 * @param step.apiServers releases that the API servers run. Default: the cluster is asked.
 * @param step.withAddons whether the update also updates kube-proxy, CoreDNS and flannel. Default false.
 */
export async function askForRelease(
  {
    version,
    ofControlPlanes,
    apiServers: knownReleases,
    withAddons = false,
  }: Pick<NonNullable<PreflightTask["release"]>, "version" | "ofControlPlanes"> & {
    apiServers?: readonly string[];
    withAddons?: boolean;
  },
  nodes: readonly AskedNode[],
  cluster: Pick<Cluster, "apiServers" | "requestedApis" | "objectsAt">,
  report: Report,
): Promise<FieldFinding[]> {
  const apiServers = knownReleases ?? (await cluster.apiServers());
  if (apiServers.length === 0) {
    report(
      `not known what Kubernetes ${version} changes in the cluster (kube-system shows no pod of kube-apiserver)`,
    );
    return [];
  }
  const kubelets = nodes.map(({ name, kubelet }) => ({ node: name, release: kubelet }));
  const step: KubernetesStep = { target: version, ofControlPlanes, apiServers, kubelets };
  const findings = stepFindings(step);
  if (findings.length === 0 && isToLaterMinor(step)) {
    const unknownText = (why: string): string =>
      `not known whether something uses an API that Kubernetes ${version} does not serve (${why})`;
    await answerOrReport(undefined, warnOfRequests(step, cluster, report), report, unknownText);
    findings.push(...(await removals(step, cluster, report)));
    if (!withAddons)
      report(
        `note: kube-proxy, CoreDNS and flannel keep their release in this update; afterwards run \`talosctl -n <address of a control plane> upgrade-k8s --to ${version.replace(/^v/, "")}\``,
      );
  }
  return findings.map((finding) => ({ field: "kubernetesVersion", ...finding }));
}

async function removals(
  step: KubernetesStep,
  cluster: Pick<Cluster, "objectsAt">,
  report: Report,
): Promise<ReturnType<typeof removedFinding>[]> {
  const findings: ReturnType<typeof removedFinding>[] = [];
  for (const path of removedBy(step)) {
    const objects = await cluster.objectsAt(path);
    if (objects === undefined)
      report(
        `not known whether the cluster has objects of ${path}, which Kubernetes ${step.target} removes (the credentials lack the right to list them)`,
      );
    else if (objects.length > 0) findings.push(removedFinding(path, objects, step));
  }
  return findings;
}

async function warnOfRequests(
  step: KubernetesStep,
  cluster: Pick<Cluster, "requestedApis">,
  report: Report,
): Promise<void> {
  const requested = await cluster.requestedApis();
  const line =
    requested === undefined
      ? `not known whether something uses an API that Kubernetes ${step.target} does not serve (the credentials lack the right to read the metrics of kube-apiserver)`
      : requestedLine(requested, step);
  if (line !== undefined) report(line);
}
