import * as pulumi from "@pulumi/pulumi";
import { renderFindings } from "../recipe";
import { inputFindings, workloadArgumentFindings } from "../recipe/checks/check-arguments";
import type { WorkloadKind } from "../recipe/stack/workloads";
import type { Rule } from "../recipe/rules/finding";
import type { Finding } from "../recipe/types";
import { isMapping } from "../recipe/mapping";

/** Inputs of a workload: a rule for each, as far as its value is known. */
export type InputRules = Record<string, Rule>;

/**
 * Refuses wrong arguments of a workload before anything is registered, with all mistakes at once.
 *
 * @param inputs Arguments that may be yet to come; all are required.
 * @throws RunError with one `field: what is wrong; why it matters; how to fix it` per line. A RunError is printed as
 * its message, without a stack trace.
 */
export function checkWorkloadArguments(
  component: string,
  name: string,
  kind: WorkloadKind,
  args: unknown,
  inputs: InputRules,
): void {
  if (!isMapping(args)) return refuse(component, name, [noArguments]);
  const plain = Object.fromEntries(
    Object.entries(args).filter(([key]) => !Object.hasOwn(inputs, key)),
  );
  refuse(component, name, [
    ...Object.entries(inputs).flatMap(([field, rule]) =>
      inputFindings(field, args[field], rule, true),
    ),
    ...workloadArgumentFindings(kind, plain),
  ]);
}

/** Finding for a component that gets no arguments at all. */
export const noArguments: Finding = {
  check: "shape",
  field: "args",
  problem: "are missing",
  why: "nothing can be made without them",
  remedy: "pass a mapping of arguments",
};

/** Throws all findings as one error; nothing without any. */
export function refuse(component: string, name: string, findings: Finding[]): void {
  if (findings.length === 0) return;
  const count = findings.length === 1 ? "a mistake" : `${findings.length} mistakes`;
  throw refusal(
    `${component} "${String(name).slice(0, 100)}": its arguments have ${count}; nothing was registered:\n${renderFindings(findings)}`,
  );
}

/**
 * A mistake of the user's, to be printed as its message alone. It has no stack: Pulumi's Node host shows a RunError's
 * message. If there is a stack, it then renders the whole error for its trace (sdk/nodejs/cmd/run/run.ts,
 * uncaughtHandler; error.ts, defaultErrorMessage). For that `util.inspect` walks every promise that the error went
 * through: 4 to 18 s.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = "";
  return error;
}
