import { painter } from "../../cli/terminal/paint";
import { type Cell, renderTable } from "../../cli/terminal/table";
import type { Terminal } from "../../cli/terminal/terminal";
import type { Changes } from "../engine";
import type { DiscoveredReport } from "./discovered";
import type { Foretold } from "./foretold";

/** One run of the stack's program. */
export interface UpdateReport {
  result: "succeeded" | "failed";
  changes: Changes;
  seconds: number;
  /** Calls that the machines' API received meanwhile. */
  machineRequests: number;
  /** Reboots that came of it, by node name. */
  reboots: Record<string, number>;
}

/** Lines of a preview, and the number of calls that the machines' API received for it. */
export interface PreviewReport extends Omit<UpdateReport, "seconds" | "reboots"> {
  /** Its lines about machines with changes. */
  foretold: Foretold;
}

/** A machine at the end of the run. */
export interface MachineReport {
  talosVersion: string;
  schematicId: string;
  /** Null when no driver is loaded. */
  driverVersion: string | null;
  reboots: number;
  /** Allocatable GPU resources of the node, e.g. `{"nvidia.com/gpu": "1"}`. */
  allocatable: Record<string, string>;
  /** Taints of the node as kubectl writes them, e.g. `gpu=true:NoSchedule`. */
  taints: string[];
}

/** A workload at the end of the run. */
export interface WorkloadReport {
  namespace: string;
  name: string;
  kind: string;
  ready: boolean;
}

/** A failure with its cause. */
export interface FailureReport {
  /** Fix that prevents it, e.g. `validationMarkers`; `unknown` when nothing known explains it. */
  fix: string;
  symptom: string;
  cause: string;
  remedy: string;
}

/** Result of a stack. */
export interface Came {
  machines: Record<string, MachineReport>;
  workloads: WorkloadReport[];
}

/** Result of a lab run; what `--json` prints. */
export interface LabReport extends Came {
  stack: string;
  ok: boolean;
  /** Those that were asked for, in order. */
  previews: PreviewReport[];
  updates: UpdateReport[];
  /** Result of each stack before it was edited, in order. */
  beforeEdits: Came[];
  failures: FailureReport[];
  /** Faults before the stack was repaired; absent if no repair was asked for. */
  mended?: FailureReport[];
  /** Report about the stack that `talos-gpu discover` writes for the cluster, if that was asked for. */
  discovered?: DiscoveredReport;
  /** Leftovers of the destroy; empty if it is clean, absent if the lab was kept or failed before. */
  left?: string[];
}

/** A report in which nothing has happened yet. */
export const emptyReport = (stack: string, ok: boolean): LabReport => ({
  stack,
  ok,
  previews: [],
  updates: [],
  beforeEdits: [],
  machines: {},
  workloads: [],
  failures: [],
});

/** Result of a run in a line: resources that were made, and reboots. */
export function totalOf({ updates }: LabReport): string {
  const made = updates.reduce((sum, { changes }) => sum + changes.create, 0);
  const reboots = updates
    .flatMap((update) => Object.values(update.reboots))
    .reduce((sum, count) => sum + count, 0);
  return `${counted(updates.length, "update")}, ${made} created, ${counted(reboots, "reboot")}`;
}

/** Numbers of an update's operations on resources, without those of zero. */
const changesOf = ({ create, update, replace, delete: gone, same }: Changes): string =>
  Object.entries({
    created: create,
    updated: update,
    replaced: replace,
    deleted: gone,
    "the same": same,
  })
    .flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []))
    .join(", ") || "none";

const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? "" : "s"}`;

/**
 * The report as tables for people.
 *
 * @param terminal that they must fit; undefined where a program reads them, or a file keeps them.
 */
export function renderReport(report: LabReport, terminal?: Terminal): string {
  const paint = painter(terminal?.colour ?? false);
  const table = (head: string[], rows: Cell[][]): string =>
    renderTable(head, rows, { columns: terminal?.columns ?? Infinity, paint });
  const good = (text: string, is: boolean): Cell => ({ text, style: is ? "green" : "red" });
  const machines = Object.entries(report.machines).map(([name, machine]) => {
    const gpus = Object.entries(machine.allocatable).map(
      ([resource, count]) => `${count} × ${resource}`,
    );
    const { talosVersion, schematicId, driverVersion, reboots } = machine;
    return [
      name,
      talosVersion,
      schematicId.slice(0, 12),
      driverVersion ?? "none",
      reboots,
      gpus.join("\n") || "none",
    ];
  });
  const updates = report.updates.map(({ result, changes, machineRequests, seconds }, index) => {
    return [
      index + 1,
      good(result, result === "succeeded"),
      changesOf(changes),
      machineRequests,
      seconds.toFixed(1),
    ];
  });
  const workloads = report.workloads.map(({ namespace, name, kind, ready }) => {
    return [`${namespace}/${name}`, kind, good(ready ? "yes" : "no", ready)];
  });
  const tell = (mark: string, { symptom, cause, remedy, fix }: FailureReport): string =>
    `${paint(mark === "✖" ? "red" : "green", mark)} ${symptom}\n  cause:  ${cause}\n  remedy: ${remedy}\n  fix:    ${fix}`;
  return [
    table(["machine", "Talos", "schematic", "driver", "reboots", "GPUs"], machines),
    table(["update", "result", "resources", "machine calls", "seconds"], updates),
    ...(workloads.length > 0 ? [table(["workload", "kind", "ready"], workloads)] : []),
    ...(report.mended ?? []).map((failure) => tell("✔ fixed:", failure)),
    ...report.failures.map((failure) => tell("✖", failure)),
  ].join("\n");
}
