import { checkContext } from "./check";
import { checks } from "./index";
import { InvalidStackError } from "../stack/findings";
import { readSpec } from "../stack/parse";
import { planBasis } from "../plan";
import type { ClusterSpec } from "../stack/spec/index";
import type { Finding } from "../types";

/** Everything that is wrong with a stack whose shape is right. Pure; contacts nothing. */
export function checkCluster(spec: ClusterSpec): Finding[] {
  const context = checkContext(planBasis(spec));
  return checks.flatMap((check) => check.find(context).map((complaint) => ({ check: check.id, ...complaint })));
}

/**
 * Everything that is wrong with a stack, shape and meaning together. Where the shape is wrong, the checks look at the rest,
 * and say nothing about fields that hang on what could not be read.
 */
export function findingsOf(raw: unknown): Finding[] {
  const read = readSpec(raw);
  if (!read.spec) return read.findings;
  const related = (field: string): boolean =>
    read.pruned.some((path) => isWithin(field, path) || isWithin(path, field));
  return [...read.findings, ...checkCluster(read.spec).filter((finding) => !related(finding.field))];
}

/** The stack, when nothing is wrong with it; else one InvalidStackError that lists every finding. */
export function assertValid(raw: unknown): ClusterSpec {
  const findings = findingsOf(raw);
  if (findings.length > 0) throw new InvalidStackError(findings);
  return raw as ClusterSpec;
}

function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);
}
