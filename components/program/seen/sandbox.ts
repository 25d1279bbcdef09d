import { isolatesWorkload } from "../../clients/talos/configuration-text";
import type { Machine } from "../../clients/talos/talos-machine";

/**
 * Why containerd, as pods use it, is not up; undefined where it is. Talos calls a machine running and ready all the same (seen on
 * Talos v1.14.1).
 */
export async function criProblem(machine: Machine): Promise<string | undefined> {
  const cri = await machine.service("cri");
  if (cri === undefined || (cri.state === "Running" && !cri.failing)) return undefined;
  const event = cri.event === "" ? "" : ` (${cri.event})`;
  return `service cri is ${cri.state}${cri.failing ? " and not healthy" : ""}${event}, so that no pod starts`;
}

/**
 * Whether workload isolation is in the configuration in force, and waits for a boot: Talos starts the service sandboxd at a boot alone, and
 * containerd waits for it from its own next start on (talos v1.14.1, internal/app/machined/pkg/sandboxd/enabled.go, and
 * pkg/system/services/cri.go; seen on Talos v1.14.1).
 *
 * @param active the configuration in force.
 */
export const isolationWaits = async (machine: Machine, active: string): Promise<boolean> =>
  isolatesWorkload(active) && (await machine.service("sandboxd")) === undefined;
