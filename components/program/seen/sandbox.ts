import { isolatesWorkload } from "../../clients/talos/configuration-text";
import type { Machine } from "../../clients/talos/talos-machine";

/**
 * Why the containerd that runs pods is not up; undefined if it is up. Talos reports the machine as running and ready
 * even without this containerd (seen on Talos v1.14.1).
 */
export async function criProblem(machine: Machine): Promise<string | undefined> {
  const cri = await machine.service("cri");
  if (cri === undefined || (cri.state === "Running" && !cri.failing)) return undefined;
  const event = cri.event === "" ? "" : ` (${cri.event})`;
  return `service cri is ${cri.state}${cri.failing ? " and not healthy" : ""}${event}, so no pod starts`;
}

/**
 * Whether the active configuration has workload isolation that only takes effect at the next boot. Talos starts the
 * service sandboxd only at a boot, and a restarted containerd waits for that service (talos v1.14.1,
 * internal/app/machined/pkg/sandboxd/enabled.go, and pkg/system/services/cri.go; seen on Talos v1.14.1).
 *
 * @param active the active configuration.
 */
export const waitsForSandboxd = async (machine: Machine, active: string): Promise<boolean> =>
  isolatesWorkload(active) && (await machine.service("sandboxd")) === undefined;
