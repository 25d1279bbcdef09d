import { flat } from "../mapping";
import { checkContext } from "./check";
import { checks } from "./index";
import { externalOf, ownValuesOf, type External } from "../external/external";
import { isFilledAt } from "../external/filled-in";
import { planBasis, type PlanBasis } from "../plan";
import { groupsApart, isWithin } from "../machine/apart";
import { releaseFields } from "../facts/gpu-provider";
import type { ClusterSpec } from "../spec/index";
import type { Finding } from "../types";

/**
 * Everything that is wrong with a stack whose shape is right. Pure; contacts nothing.
 *
 * @param basis of its plan. Default: it is planned here.
 */
export const checkCluster = (spec: ClusterSpec, basis: PlanBasis = planBasis(spec)): Finding[] =>
  foundIn(spec, basis).filter((finding) => !isHarmless(finding));

/**
 * Whether something only has no effect, and the stack may go on. A value of the stack's own that has no effect is a mistake all the same:
 * who wrote it here expects one. A value of a release outside runs as it is today.
 */
export const isHarmless = ({ dead, field }: Finding): boolean =>
  dead === true && !releaseFields.some((release) => isWithin(field, release));

/** What is wrong with a stack, and what of it only has no effect. */
export function foundIn(spec: ClusterSpec, basis: PlanBasis): Finding[] {
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
  const findings = Object.entries(checks).flatMap(([check, { find }]) =>
    flat(find(context)).map((complaint) => ({ check, ...complaint })),
  );
  if (ownValuesOf(basis.plan.spec) === undefined) return findings;
  const outside = externalOf(basis.plan.spec);
  const renamed = findings
    .map((finding) => (outside === undefined ? finding : asExternal(finding, outside)))
    .filter(({ field }) => outside === undefined || !isToBeFilled(field, outside.release.values));
  // Of a value that both ask about, the check of somebody's own values knows that the chart's value follows where one is left out.
  const told = new Set(
    renamed.flatMap(({ check, field }) => (check === "external" ? [field] : [])),
  );
  return renamed.filter(({ check, field }) => check === "external" || !told.has(field));
}

/** A finding about a release of the stack's as one about what is outside, with the line of the value. */
function asExternal(finding: Finding, { kind, places }: External): Finding {
  const renamed = (text: string): string =>
    text.replaceAll(new RegExp(`\\b${kind}(?=\\.)`, "g"), "external");
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

/** Whether what a finding is about is only known once a tool has filled it in. */
function isToBeFilled(field: string, values: Record<string, unknown>): boolean {
  const [, path] = /^external\.values\.(.*)$/.exec(field) ?? [];
  return (
    path !== undefined &&
    isFilledAt(
      values,
      path.split(/[.[\]]+/).filter((step) => step !== ""),
    )
  );
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
