import { flat } from "../mapping";
import { checkContext } from "./check";
import { checks } from "./index";
import { externalOf, ownValuesOf, type External } from "../outside/external";
import { planBasis, type PlanBasis } from "../plan";
import { groupsApart, isWithin } from "../machine/apart";
import type { ClusterSpec } from "../spec/index";
import type { Finding } from "../types";

/**
 * Everything that is wrong with a stack whose shape is right. Pure; contacts nothing.
 *
 * @param basis of its plan. Default: it is planned here.
 */
export function checkCluster(spec: ClusterSpec, basis: PlanBasis = planBasis(spec)): Finding[] {
  const groups = groupsApart(spec);
  const apart = groups.flatMap(({ machines }) => Object.keys(machines));
  const findings = [
    ...findingsAsOne(basis).filter(({ check, field }) => ofAll.has(check) || !isOf(apart, field)),
    ...groups.flatMap(findingsOfGroup),
  ];
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

/** Checks that compare a machine with the others, or with the cluster. */
const ofAll = new Set(["machine-release", "machine-address", "omni-machine"]);

function findingsAsOne(basis: PlanBasis): Finding[] {
  const context = checkContext(basis);
  const findings = Object.entries(checks).flatMap(([check, find]) =>
    flat(find(context)).map((complaint) => ({ check, ...complaint })),
  );
  if (ownValuesOf(basis.plan.spec) === undefined) return findings;
  const outside = externalOf(basis.plan.spec);
  const renamed = findings.map((finding) => (outside === undefined ? finding : asExternal(finding, outside)));
  // Of a value that both ask about, the check of somebody's own values knows that the chart's value follows where one is left out.
  const told = new Set(renamed.flatMap(({ check, field }) => (check === "external" ? [field] : [])));
  return renamed.filter(({ check, field }) => check === "external" || !told.has(field));
}

/** A finding about a release of the stack's as one about what is outside, with the line of the value. */
function asExternal(finding: Finding, { kind, places }: External): Finding {
  const renamed = (text: string): string => text.replaceAll(new RegExp(`\\b${kind}(?=\\.)`, "g"), "external");
  const field = finding.field === kind ? "external" : renamed(finding.field);
  const path = /^external\.values\.(.*)$/.exec(field)?.[1]?.split(".") ?? [];
  const above = path.map((_, index) => path.slice(0, path.length - index).join("."));
  const at = above.find((one) => Object.hasOwn(places, one));
  const place = at && places[at];
  return {
    ...finding,
    field,
    problem: `${renamed(finding.problem)}${place === undefined ? "" : ` (${place})`}`,
    why: renamed(finding.why),
    remedy: renamed(finding.remedy),
  };
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

const isOf = (machines: string[], field: string): boolean =>
  machines.some((name) => isWithin(field, `machines.${name}`));
