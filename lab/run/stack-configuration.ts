import type { FixId } from "../../components/diagnosis";
import type { ClusterSpec } from "../../components/recipe";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import { labTimeouts } from "../clock";
import type { LabOptions } from "../options";

/** A stack's configuration as the lab runs it. */
export interface StackConfiguration {
  /** By key, without the project's name. */
  config: Record<string, unknown>;
  /** The cluster that it describes. */
  spec: ClusterSpec;
}

/**
 * A stack file with the lab's limits.
 *
 * @param nameOrFile of the stack.
 * @param without fixes that are left out. Default: none.
 * @throws Error when there is no such stack, or when its shape is wrong.
 */
export function stackConfiguration(
  nameOrFile: string,
  options: Pick<LabOptions, "timeScale" | "machines">,
  without: readonly FixId[] = [],
): StackConfiguration {
  const config = {
    ...readStackFile(nameOrFile),
    timeouts: labTimeouts({ ...options, leftOut: without.length > 0 }),
  };
  return { config, spec: clusterOf(config) };
}
