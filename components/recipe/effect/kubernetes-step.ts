import * as semver from "semver";
import { resources } from "../facts/data/kubernetes-removed.json";
import type { FindingText } from "../rules";

/**
 * Greatest number of minor releases by which a kubelet may be older than the API server
 * (kubernetes.io/releases/version-skew-policy, kubelet). A kubelet may never be newer than the API server.
 */
const KUBELET_LAG = 3;

/** Greatest number of nodes, objects or APIs that a message names. */
const NAMED = 5;

/** Change of a cluster's Kubernetes from the running releases to the stack's release. */
export interface KubernetesStep {
  /** Release of the stack, e.g. `v1.36.0`. */
  target: string;
  /** Whether the stack owns control planes. If not, the step changes only kubelets. */
  ofControlPlanes: boolean;
  /** Releases that the API servers run, one or more. */
  apiServers: readonly string[];
  /** Kubelets of the cluster. */
  kubelets: readonly { node: string; release: string }[];
}

/** An API for which kube-apiserver has received requests, and which a later release does not serve. */
export interface RequestedApi {
  /** E.g. `flowschemas`. */
  resource: string;
  /** E.g. `flowcontrol.apiserver.k8s.io/v1beta3`. */
  groupVersion: string;
  /** First minor release that does not serve the API. */
  removed: number;
}

const minorOf = (release: string): number | undefined => semver.coerce(release)?.minor;

const minorsOf = (releases: readonly string[]): number[] =>
  releases.flatMap((release) => minorOf(release) ?? []);

/**
 * Findings about a step that Kubernetes does not support; empty if the stack's release or the releases of all API
 * servers are unknown.
 */
export function stepFindings(step: KubernetesStep): FindingText[] {
  const { target, ofControlPlanes, apiServers } = step;
  const [targetMinor, runningMinors] = [minorOf(target), minorsOf(apiServers)];
  if (targetMinor === undefined || runningMinors.length === 0) return [];
  const [oldest, newest] = [Math.min(...runningMinors), Math.max(...runningMinors)];
  if (ofControlPlanes)
    return [
      ...apiServerFindings(target, targetMinor, oldest, newest),
      ...lateKubelets(targetMinor, step),
    ];
  if (targetMinor > oldest)
    return [
      {
        problem: `gives the stack's kubelets ${target}, but kube-apiserver runs 1.${oldest}`,
        why: "Kubernetes supports no kubelet that is newer than its API server",
        remedy: `upgrade the control planes first, or write a release of 1.${oldest}`,
      },
    ];
  if (targetMinor < newest - KUBELET_LAG)
    return [
      {
        problem: `gives the stack's kubelets ${target}, but kube-apiserver runs 1.${newest}`,
        why: `Kubernetes supports kubelets at most ${KUBELET_LAG} minor releases older than the API server`,
        remedy: `write a release from 1.${newest - KUBELET_LAG} to 1.${oldest}`,
      },
    ];
  return [];
}

function apiServerFindings(
  target: string,
  targetMinor: number,
  oldest: number,
  newest: number,
): FindingText[] {
  if (targetMinor < newest)
    return [
      {
        problem: `${target} is older than the 1.${newest} that kube-apiserver runs`,
        why: "Kubernetes supports no downgrade: etcd may hold objects that the older API server cannot read",
        remedy: `write the release of 1.${newest} that kube-apiserver runs, or a newer one`,
      },
    ];
  if (targetMinor <= oldest + 1) return [];
  return [
    {
      problem: `${target} is ${targetMinor - oldest} minor releases newer than the 1.${oldest} that kube-apiserver runs`,
      why: "the update changes one control plane after another, and Kubernetes supports API servers at most one minor apart",
      remedy: `write a release of 1.${oldest + 1} first`,
    },
  ];
}

/**
 * Finding about kubelets that are too old for the new API server. Kubelets of machines outside of the stack count too.
 */
function lateKubelets(targetMinor: number, { target, kubelets }: KubernetesStep): FindingText[] {
  const tooOldKubelets = kubelets.filter(({ release }) => {
    const minor = minorOf(release);
    return minor !== undefined && minor < targetMinor - KUBELET_LAG;
  });
  if (tooOldKubelets.length === 0) return [];
  return [
    {
      problem: `${target} is more than ${KUBELET_LAG} minor releases newer than the kubelet of ${namesOf(tooOldKubelets.map(({ node, release }) => `${node} (${release})`))}`,
      why: `Kubernetes supports kubelets at most ${KUBELET_LAG} minor releases older than the API server, and the update changes control planes before workers`,
      remedy: `upgrade these kubelets to 1.${targetMinor - KUBELET_LAG} or newer first, or remove the nodes`,
    },
  ];
}

/** Whether a minor release is newer than the oldest API server, and not newer than the step's target. */
const isReached = (minor: number, { target, apiServers }: KubernetesStep): boolean => {
  const [targetMinor, runningMinors] = [minorOf(target), minorsOf(apiServers)];
  return (
    targetMinor !== undefined &&
    runningMinors.length > 0 &&
    Math.min(...runningMinors) < minor &&
    minor <= targetMinor
  );
};

/** Whether the step brings an API server to a later minor release. Only such a step removes an API. */
export const isToLaterMinor = (step: KubernetesStep): boolean =>
  step.ofControlPlanes && isReached(minorOf(step.target) ?? 0, step);

/**
 * API paths of the resources that the step removes. Existing objects of these resources stay in etcd, where nothing can
 * read or delete them.
 */
export const removedBy = (step: KubernetesStep): string[] =>
  isToLaterMinor(step)
    ? resources.filter(({ removed }) => isReached(removed, step)).map(({ path }) => path)
    : [];

/** Finding about objects of a resource that the step removes. */
export function removedFinding(
  path: string,
  objects: readonly string[],
  { target }: KubernetesStep,
): FindingText {
  const [, , group, version, resource] = path.split("/");
  return {
    problem: `${target} does not serve ${resource!} of ${group!}/${version!}, but the cluster has ${namesOf(objects)}`,
    why: "these objects would stay in etcd, where nothing can read or delete them",
    remedy: `delete them first (\`kubectl delete ${resource!}.${version!}.${group!} --all --all-namespaces\`)`,
  };
}

/** A line about the APIs in use that the step removes; undefined if the step removes none of them. */
export function requestedLine(
  requested: readonly RequestedApi[],
  step: KubernetesStep,
): string | undefined {
  const removedApis = requested.filter(({ removed }) => isReached(removed, step));
  if (removedApis.length === 0) return undefined;
  const apis = removedApis.map(({ resource, groupVersion }) => `${resource} of ${groupVersion}`);
  return `warning: Kubernetes ${step.target} does not serve ${namesOf([...new Set(apis)].sort())}, but kube-apiserver has received requests for them: first update the programs or charts that send these requests`;
}

const namesOf = (names: readonly string[]): string =>
  `${names.slice(0, NAMED).join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;
