import * as pulumi from "@pulumi/pulumi";
import { renderFindings } from "../recipe";
import { inputFindings, workloadArgumentFindings } from "../recipe/checks/check-arguments";
import type { WorkloadKind } from "../recipe/stack/workloads";
import type { Rule } from "../recipe/rules/finding";
import type { Finding } from "../recipe/types";
import { isMapping } from "../recipe/mapping";

/** A rule for each input of a workload. A rule applies only if the input's value is known. */
export type InputRules = Record<string, Rule>;

/**
 * Refuses wrong arguments of a workload before anything is registered, and lists all mistakes.
 *
 * @param inputs Rules for required arguments, whose values may not be known yet.
 * @throws RunError with one `field: what is wrong; why it matters; how to fix it` per line. Pulumi prints a RunError
 * without a stack trace.
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

/** Finding for a component without any arguments. */
export const noArguments: Finding = {
  check: "shape",
  field: "args",
  problem: "are missing",
  why: "the component cannot be created without them",
  remedy: "pass a mapping of arguments",
};

/** Throws all findings as one error. Does nothing if there are no findings. */
export function refuse(component: string, name: string, findings: Finding[]): void {
  if (findings.length === 0) return;
  const count = findings.length === 1 ? "a mistake" : `${findings.length} mistakes`;
  throw refusal(
    `${component} "${String(name).slice(0, 100)}": its arguments have ${count}; nothing was registered:\n${renderFindings(findings)}`,
  );
}

/**
 * Error about a user's mistake: Pulumi prints only its message. The error has no stack trace, because Pulumi's Node
 * host would render an error with a stack trace in full (sdk/nodejs/cmd/run/run.ts, uncaughtHandler; error.ts,
 * defaultErrorMessage). `util.inspect` would then visit every promise that the error refers to, which takes 4 to 18 s.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = "";
  return error;
}
