import type { Fault } from "../rules";

/**
 * Why an update does not hand a machine's configuration over to another owner; undefined where it does. What the stack merged into
 * an adopted configuration, or gave to Omni, has to be out of it before somebody else holds the configuration.
 *
 * @param was `owned`, `adopted` or `omni` as the last update planned it, also one that failed.
 */
export function handOverFault(was: string, is: string): Fault | undefined {
  if (was === is || was === "owned") return undefined;
  return {
    problem: `changes from ${was} to ${is}`,
    why: "Pulumi removes the stack's part of the old configuration at the end of the update, when the machine already has the new one",
    remedy:
      `write ${was}, or remove the machine in one update and add it in the next; ` +
      `if the update that changed it to ${was} failed, finish that one with ${was} first; ` +
      "if it is the stack's only machine, removing it takes `pulumi destroy`, which also deletes the workloads' volumes, and then `pulumi up`",
  };
}
