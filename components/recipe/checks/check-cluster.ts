import { defined, flat } from "../mapping";
import { type Ahead, checkContext, type CheckContext } from "./check";
import { type CheckId, checks } from "./index";
import { externalOf, ownValuesOf, type External } from "../external/external";
import { isFilledAt } from "../external/filled-in";
import { planBasis, type PlanBasis } from "../plan";
import { machineGroups, isWithin } from "../machine/apart";
import { nextInjectionAfter } from "../facts/talos-release";
import type { ClusterSpec } from "../spec/index";
import type { Finding } from "../types";

/**
 * All findings that refuse a stack, for a stack whose fields have the right names and types. The function is pure and
 * contacts no machine.
 *
 * @param basis the stack's plan with the facts behind it. Default: the function makes the plan.
 */
export const checkCluster = (spec: ClusterSpec, basis: PlanBasis = planBasis(spec)): Finding[] =>
  foundIn(spec, basis, false).filter(isRefusal);

/** Whether a finding refuses the stack. */
export const isRefusal = ({ severity = "refused" }: Pick<Finding, "severity">): boolean =>
  severity === "refused";

/**
 * All findings about a stack: mistakes, warnings and notes.
 *
 * @param looksAhead whether to check an external release also for the next Talos version that injects cards in another
 * way. A note then lists the values to change.
 */
export const foundIn = (spec: ClusterSpec, basis: PlanBasis, looksAhead: boolean): Finding[] =>
  foundWithFileTexts(spec, basis, looksAhead).map(({ ofFiles: _ofFiles, ...finding }) => finding);

/** The findings of `foundIn`. Each finding also has its texts for files that belong to no stack (`ofFiles`). */
export function foundWithFileTexts(
  spec: ClusterSpec,
  basis: PlanBasis,
  looksAhead: boolean,
): Finding[] {
  const groups = machineGroups(spec);
  const machinesOfGroups = groups.flatMap(({ machines }) => Object.keys(machines));
  const findings = [
    ...findingsAsOne(basis, () => (looksAhead ? aheadOf(spec, basis) : undefined)).filter(
      ({ check, field }) => ofAll.has(check) || !isOf(machinesOfGroups, field),
    ),
    ...groups.flatMap(findingsOfGroup),
  ];
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

/** Checks that compare a machine with the other machines, or with the cluster. */
const ofAll = new Set<string>([
  "machine-release",
  "machine-address",
  "omni-machine",
] satisfies CheckId[]);

/**
 * Findings about values of an external release that fit the stack's Talos version, but not the next version that
 * injects cards in another way. Undefined if the stack has no external release, or if the tables know no such version.
 */
function aheadOf(spec: ClusterSpec, basis: PlanBasis): Ahead | undefined {
  const minor = nextInjectionAfter(spec.talosVersion);
  if (spec.external === undefined || minor === undefined) return undefined;
  const { releaseFacts: _facts, otherReleaseFacts: _others, ...specWithoutFacts } = spec;
  const keyOf = ({ field, problem }: Finding): string => JSON.stringify([field, problem]);
  const presentFindings = new Set(checkCluster(spec, basis).map(keyOf));
  const nextFindings = checkCluster({ ...specWithoutFacts, talosVersion: `v1.${minor}.0` });
  const findings = nextFindings.filter(
    (finding) => isWithin(finding.field, "external") && !presentFindings.has(keyOf(finding)),
  );
  return { minor, findings };
}

function findingsAsOne(basis: PlanBasis, ahead: CheckContext["ahead"]): Finding[] {
  const context = checkContext(basis, ahead);
  const findings = Object.entries(checks).flatMap(([check, { find, severity }]) =>
    flat(find(context)).map((finding) => ({ check, ...defined({ severity }), ...finding })),
  );
  if (ownValuesOf(basis.plan.spec) === undefined) return findings;
  const externalProvider = externalOf(basis.plan.spec);
  const renamed = findings
    .map((finding) =>
      externalProvider === undefined ? finding : namedAsExternal(finding, externalProvider),
    )
    // A value with a placeholder is unknown, so only notes about it stay: a note may be about the placeholder itself.
    .filter(
      ({ field, severity }) =>
        severity === "note" ||
        externalProvider === undefined ||
        !isToBeFilled(field, externalProvider.release.values),
    );
  // If the check `external` and another check report the same field, only the finding of `external` stays: this check
  // knows that the chart's default applies to a missing value.
  const fieldsOfExternal = new Set(
    renamed.flatMap(({ check, field }) => (check === "external" ? [field] : [])),
  );
  return renamed.filter(({ check, field }) => check === "external" || !fieldsOfExternal.has(field));
}

/**
 * Rewrites a finding about `gpuOperator`, `devicePlugin` or `dra` for an external release: its paths then begin with
 * `external`, and it has the value's file and line.
 */
function namedAsExternal(finding: Finding, { kind, places }: External): Finding {
  const renamed = (text: string): string =>
    text.replaceAll(new RegExp(`\\b${kind}(?=\\.)`, "g"), "external");
  const field = finding.field === kind ? "external" : renamed(finding.field);
  const path = /^external\.values\.(.*)$/.exec(field)?.[1]?.split(".") ?? [];
  const parentPaths = path.map((_, index) => path.slice(0, path.length - index).join("."));
  const knownPath = parentPaths.find((parentPath) => Object.hasOwn(places, parentPath));
  const place = knownPath === undefined ? undefined : placeFrom(places[knownPath]!);
  return {
    ...finding,
    ...defined({ place }),
    field,
    problem: renamed(finding.problem),
    why: renamed(finding.why),
    remedy: renamed(finding.remedy),
  };
}

/** The place in a text of `external.read.places`, e.g. `helmrelease.yaml:23`; undefined if the text has another form. */
function placeFrom(text: string): Finding["place"] {
  const [, file, line] = /^(.+):(\d+)$/.exec(text) ?? [];
  return file === undefined ? undefined : { file, line: Number(line) };
}

/** Whether a finding is about a value with a placeholder, which another tool replaces later. */
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

/** Findings about machines with their own Talos release or driver. The cluster's checks report all other findings. */
function findingsOfGroup(group: ClusterSpec): Finding[] {
  const names = Object.keys(group.machines);
  return findingsAsOne(planBasis(group), () => undefined)
    .map((finding) =>
      /^(?:talosVersion|driver)\b/.test(finding.field)
        ? { ...finding, field: `machines.${names[0]!}.${finding.field}` }
        : finding,
    )
    .filter(({ field }) => field === "kubernetesVersion" || isOf(names, field));
}

const isOf = (machines: string[], field: string): boolean =>
  machines.some((name) => isWithin(field, `machines.${name}`));
