import type { Problem } from "../../../clients/failure";
import { upgradePathFault } from "../../../recipe/effect/faults";

/** Whether Talos supports going from the release that a machine runs to the wanted one in one step. */
export function checkPath(machine: string, running: string, wanted: string): Problem[] {
  const fault = upgradePathFault(running, wanted);
  return fault === undefined ? [] : [{ field: `machines.${machine}.talosVersion`, ...fault }];
}
