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
 * @throws Error when there is no such stack, or when its shape is wrong.
 */
export function stackConfiguration(nameOrFile: string, options: LabOptions): StackConfiguration {
  const config = {
    ...readStackFile(nameOrFile),
    timeouts: labTimeouts(options.timeScale),
  };
  return { config, spec: clusterOf(config) };
}
