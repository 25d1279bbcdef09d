import type { FixId } from "../../components/diagnosis";
import type { ClusterSpec } from "../../components/recipe";
import { stringify } from "yaml";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import { slowControlPlane } from "../cluster/own-control-plane";
import { labTimeouts } from "../clock";
import type { LabOptions } from "../options";
import { nearestRelease } from "../talos";
import { ownPatch, siteOf } from "../talos/site";

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
  const read = readStackFile(nameOrFile);
  const config = {
    ...(options.machines === "real" ? onReal(read) : read),
    timeouts: labTimeouts({ ...options, leftOut: without.length > 0 }),
  };
  return { config, spec: clusterOf(config) };
}

/** The stack on machines that run real Talos: of the release nearest to the stack's, and with what an owner of such a machine writes. */
function onReal(config: Record<string, unknown>): Record<string, unknown> {
  const { talosVersion, machines } = clusterOf(config);
  const own = stringify(ownPatch(siteOf(clusterOf(config))));
  const ofEach = Object.entries(machines).map(([name, { talosVersion: _one, patches = [], ...machine }]) => {
    const more = machine.role === "controlplane" ? [own, stringify(slowControlPlane)] : [own];
    return [name, { ...machine, ...(machine.configuration === "owned" ? { patches: [...patches, ...more] } : {}) }];
  });
  return { ...config, talosVersion: nearestRelease(talosVersion), machines: Object.fromEntries(ofEach) as unknown };
}
