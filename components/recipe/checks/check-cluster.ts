import { checkContext } from "./check";
import { checks } from "./index";
import { machineRelease } from "./machine-release";
import { InvalidStackError } from "../stack/findings";
import { parseSpec, readSpec } from "../stack/parse";
import { findingsOfPools } from "../stack/pools";
import { planBasis } from "../plan";
import { groupsApart, isWithin } from "../machine/apart";
import type { ClusterSpec } from "../stack/spec/index";
import type { Finding } from "../types";

/** Everything that is wrong with a stack whose shape is right. Pure; contacts nothing. */
export function checkCluster(spec: ClusterSpec): Finding[] {
  const groups = groupsApart(spec);
  const apart = groups.flatMap(({ machines }) => Object.keys(machines));
  return [
    ...findingsAsOne(spec).filter(({ check, field }) => check === machineRelease.id || !isOf(apart, field)),
    ...groups.flatMap(findingsOfGroup),
  ];
}

function findingsAsOne(spec: ClusterSpec): Finding[] {
  const context = checkContext(planBasis(spec));
  return checks.flatMap((check) => check.find(context).map((complaint) => ({ check: check.id, ...complaint })));
}

/** What is wrong with machines that have a release or a driver of their own. Of what is the cluster's, the cluster's checks tell. */
function findingsOfGroup(group: ClusterSpec): Finding[] {
  const names = Object.keys(group.machines);
  return findingsAsOne(group)
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

/**
 * Everything that is wrong with a stack, shape and meaning together. Where the shape is wrong, the checks look at the rest,
 * and say nothing about fields that hang on what could not be read. What is wrong with machines of a pool names the pool.
 */
export function findingsOf(raw: unknown): Finding[] {
  const read = readSpec(raw);
  if (!read.spec) return read.findings;
  const related = (field: string): boolean =>
    read.pruned.some((path) => isWithin(field, path) || isWithin(path, field));
  const found = checkCluster(read.spec).filter((finding) => !related(finding.field));
  return [...read.findings, ...findingsOfPools(found, read.poolOf)];
}

/** The stack with the machines of its pools, when nothing is wrong with it; else one InvalidStackError that lists every finding. */
export function assertValid(raw: unknown): ClusterSpec {
  const findings = findingsOf(raw);
  const { spec } = parseSpec(raw);
  if (findings.length > 0 || spec === undefined) throw new InvalidStackError(findings);
  return spec;
}
