import { parseDriverVersion } from "../../components/clients/talos/driver";
import type { TalosMachine } from "../../components/clients/talos/talos-machine";
import type { MachineState } from "../machines";
import { plainSchematic } from "./initial-image";

/** A machine's report about itself. */
export type ReportedState = Pick<
  MachineState,
  "talosVersion" | "schematicId" | "bootId" | "driverVersion" | "stage" | "ready"
>;

/** Known facts about a machine without credentials for its API. */
export const maintenanceState = (talosVersion: string): ReportedState => ({
  talosVersion,
  schematicId: plainSchematic,
  bootId: "",
  driverVersion: null,
  stage: "maintenance",
  ready: false,
});

/** Reads a machine's report about itself; unknown while it does not answer. */
export async function readState(talos: TalosMachine): Promise<ReportedState> {
  const orUndefined = <T>(work: Promise<T>): Promise<T | undefined> => work.catch(() => undefined);
  const [talosVersion = "unknown", schematicId = "unknown", status, bootId = "", driver] =
    await Promise.all([
      orUndefined(talos.version()),
      orUndefined(talos.schematic()),
      orUndefined(talos.status()),
      orUndefined(talos.bootId()),
      orUndefined(talos.read("/proc/driver/nvidia/version")),
    ]);
  return {
    talosVersion,
    schematicId,
    bootId,
    driverVersion: parseDriverVersion(driver ?? "") ?? null,
    stage: status?.stage ?? "unknown",
    ready: status?.ready ?? false,
  };
}
