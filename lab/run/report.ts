import { painter } from "../../cli/terminal/paint";
import { type Cell, renderTable } from "../../cli/terminal/table";
import type { Terminal } from "../../cli/terminal/terminal";
import type { Changes } from "../engine";
import type { DiscoveredReport } from "./discovered";
import type { PredictedReboots } from "./predicted-reboots";

/** One run of the stack's program. */
export interface UpdateReport {
  result: "succeeded" | "failed";
  changes: Changes;
  seconds: number;
  /** Calls to the machines' APIs during the update. */
  machineRequests: number;
  /** Number of reboots during the update, by node name. */
  reboots: Record<string, number>;
}

/** Lines of a preview, and the number of calls that the machines' API received for it. */
export interface PreviewReport extends Omit<UpdateReport, "seconds" | "reboots"> {
  /** Its lines about machines with changes. */
  foretold: PredictedReboots;
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
  /** Fix that prevents it, e.g. `validationMarkers`; `unknown` if the diagnosis knows no cause. */
  fix: string;
  symptom: string;
  cause: string;
  remedy: string;
}

/** Machines and workloads of the cluster after an update. */
export interface ClusterOutcome {
  machines: Record<string, MachineReport>;
  workloads: WorkloadReport[];
}

/** Result of a lab run; what `--json` prints. */
export interface LabReport extends ClusterOutcome {
  stack: string;
  ok: boolean;
  /** Previews that the options request, in order. */
  previews: PreviewReport[];
  updates: UpdateReport[];
  /** Result of each stack before it was edited, in order. */
  beforeEdits: ClusterOutcome[];
  failures: FailureReport[];
  /** Failures before `--repair`; absent without that option. */
  mended?: FailureReport[];
  /** Report about the stack that `talos-gpu discover` writes for the cluster; absent without `--discover`. */
  discovered?: DiscoveredReport;
  /** Leftovers of the destroy; empty if it is clean, absent if the lab was kept or failed before. */
  left?: string[];
}

/** An empty report. */
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

/** One line with a run's total of updates, created resources and reboots. */
export function totalOf({ updates }: LabReport): string {
  const created = updates.reduce((sum, { changes }) => sum + changes.create, 0);
  const reboots = updates
    .flatMap((update) => Object.values(update.reboots))
    .reduce((sum, count) => sum + count, 0);
  return `${withUnit(updates.length, "update")}, ${created} created, ${withUnit(reboots, "reboot")}`;
}

/** Counts of an update's operations on resources; counts of zero are left out. */
const changesOf = ({ create, update, replace, delete: deleted, same }: Changes): string =>
  Object.entries({
    created: create,
    updated: update,
    replaced: replace,
    deleted,
    "the same": same,
  })
    .flatMap(([operation, count]) => (count > 0 ? [`${count} ${operation}`] : []))
    .join(", ") || "none";

const withUnit = (count: number, unit: string): string =>
  `${count} ${unit}${count === 1 ? "" : "s"}`;

/**
 * The report as tables for people.
 *
 * @param terminal limits their width; undefined if a program or a file receives them.
 */
export function renderReport(report: LabReport, terminal?: Terminal): string {
  const paint = painter(terminal?.colour ?? false);
  const table = (head: string[], rows: Cell[][]): string =>
    renderTable(head, rows, { columns: terminal?.columns ?? Infinity, paint });
  const resultCell = (text: string, isGood: boolean): Cell => ({
    text,
    style: isGood ? "green" : "red",
  });
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
      resultCell(result, result === "succeeded"),
      changesOf(changes),
      machineRequests,
      seconds.toFixed(1),
    ];
  });
  const workloads = report.workloads.map(({ namespace, name, kind, ready }) => {
    return [`${namespace}/${name}`, kind, resultCell(ready ? "yes" : "no", ready)];
  });
  const renderFailure = (mark: string, { symptom, cause, remedy, fix }: FailureReport): string =>
    `${paint(mark === "✖" ? "red" : "green", mark)} ${symptom}\n  cause:  ${cause}\n  remedy: ${remedy}\n  fix:    ${fix}`;
  return [
    table(["machine", "Talos", "schematic", "driver", "reboots", "GPUs"], machines),
    table(["update", "result", "resources", "machine calls", "seconds"], updates),
    ...(workloads.length > 0 ? [table(["workload", "kind", "ready"], workloads)] : []),
    ...(report.mended ?? []).map((failure) => renderFailure("✔ fixed:", failure)),
    ...report.failures.map((failure) => renderFailure("✖", failure)),
  ].join("\n");
}
