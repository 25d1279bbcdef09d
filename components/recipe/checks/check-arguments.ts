import type { z } from "zod";
import { knownMinors } from "../facts/talos-release";
import type { FindingText, Rule } from "../rules/finding";
import { readAs } from "../stack/parse";
import { type WorkloadKind, workloadDescriptors } from "../stack/workloads";
import type { Finding } from "../types";
import { checkCluster } from "./check-cluster";

/**
 * All findings about the arguments of a workload component that is used without a `GpuCluster`. The function checks a
 * stack that contains only this workload, and returns the findings about the workload's fields.
 */
export function workloadArgumentFindings(
  kind: WorkloadKind,
  args: Record<string, unknown>,
): Finding[] {
  const { argumentsSchema, asStack } = workloadDescriptors[kind];
  const { spec, findings, pruned } = readAs(argumentsSchema as z.ZodType, args);
  if (spec === undefined) return findings;
  const stated = spec as Record<string, unknown>;
  const {
    tolerations: _tolerations,
    exposure: _exposure,
    readyWithin: _readyWithin,
    ...workload
  } = stated;
  const { workloads, field } = asStack(workload);
  const stackOfWorkload = {
    talosVersion: `v${knownMinors().at(-1) ?? "1.13"}.0`,
    machines: {},
    workloads,
  };
  const findingsOfWorkload = checkCluster(stackOfWorkload)
    .filter((finding) => finding.field === field || finding.field.startsWith(`${field}.`))
    .map((finding) => ({ ...finding, field: finding.field.slice(field.length + 1) || "args" }))
    .filter((finding) => !pruned.includes(finding.field));
  return [...findings, ...findingsOfWorkload, ...tolerationFindings(stated["tolerations"])];
}

/** Source: kubernetes v1.34.0, pkg/apis/core/validation/validation.go (ValidateTolerations). */
function tolerationFindings(tolerations: unknown): Finding[] {
  const list = (tolerations ?? []) as { operator: string; value?: string }[];
  return list.flatMap(({ operator, value }, index) =>
    operator === "Exists" && value !== undefined && value !== ""
      ? [
          {
            check: "shape",
            field: `tolerations[${index}].value`,
            problem: "is set together with `operator: Exists`",
            why: "Kubernetes refuses the pod, because Exists does not compare the value",
            remedy: "leave it out, or write `operator: Equal`",
          },
        ]
      : [],
  );
}

/** Whether a value is unknown until the program runs: a Pulumi Output or a Promise. */
export function isToCome(value: unknown): boolean {
  if (typeof value !== "object" && typeof value !== "function") return false;
  const { then, __pulumiOutput } = (value ?? {}) as Record<string, unknown>;
  return __pulumiOutput === true || typeof then === "function";
}

/** Findings about a text; none if the text is an Output or a Promise, because its value is still unknown. */
export function inputFindings(
  field: string,
  value: unknown,
  rule: Rule,
  required: boolean,
): Finding[] {
  if (isToCome(value)) return [];
  const finding = inputFault(value, rule, required);
  return finding === undefined ? [] : [{ check: "shape", field, ...finding }];
}

function inputFault(value: unknown, rule: Rule, required: boolean): FindingText | undefined {
  if (value === undefined || value === null)
    return required
      ? {
          problem: "is missing",
          why: "the component needs this value to create its resources",
          remedy: "pass a value, usually an output of another resource",
        }
      : undefined;
  if (typeof value !== "string")
    return {
      problem: `is ${Array.isArray(value) ? "a list" : `of type ${typeof value}`} but must be text`,
      why: "the component passes this value on as a string",
      remedy: "pass a string, or an Output of a string",
    };
  if (value.trim() !== "") return rule(value);
  return required
    ? {
        problem: "is empty",
        why: "the component needs this value to create its resources",
        remedy: "pass a value",
      }
    : undefined;
}
