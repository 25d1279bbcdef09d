import { checkContext } from "./check";
import { checks } from "./index";
import { machineRelease } from "./machine-release";
import { planBasis, type PlanBasis } from "../plan";
import { groupsApart, isWithin } from "../machine/apart";
import type { ClusterSpec } from "../stack/spec/index";
import type { Finding } from "../types";

/**
 * Everything that is wrong with a stack whose shape is right. Pure; contacts nothing.
 *
 * @param basis of its plan. Default: it is planned here.
 */
export function checkCluster(spec: ClusterSpec, basis: PlanBasis = planBasis(spec)): Finding[] {
  const groups = groupsApart(spec);
  const apart = groups.flatMap(({ machines }) => Object.keys(machines));
  return [
    ...findingsAsOne(basis).filter(({ check, field }) => check === machineRelease.id || !isOf(apart, field)),
    ...groups.flatMap(findingsOfGroup),
  ];
}

function findingsAsOne(basis: PlanBasis): Finding[] {
  const context = checkContext(basis);
  return checks.flatMap((check) => check.find(context).map((complaint) => ({ check: check.id, ...complaint })));
}

/** What is wrong with machines that have a release or a driver of their own. Of what is the cluster's, the cluster's checks tell. */
function findingsOfGroup(group: ClusterSpec): Finding[] {
  const names = Object.keys(group.machines);
  return findingsAsOne(planBasis(group))
    .map((finding) =>
      /^(?:talosVersion|driver)\b/.test(finding.field)
        ? { ...finding, field: `machines.${names[0]!}.${finding.field}` }
        : finding,
    )
    .filter(({ field }) => field === "kubernetesVersion" || isOf(names, field));
}

function isOf(machines: string[], field: string): boolean {
  return machines.some((name) => isWithin(field, `machines.${name}`));
}
