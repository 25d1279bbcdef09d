import Table from "cli-table3";
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

/** What a preview says, and how many calls the machines' API received for it. */
export interface PreviewReport extends Omit<UpdateReport, "seconds" | "reboots"> {
  /** What it says of the machines that something changes for. */
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

/** What a stack has come to. */
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
  /** What each stack had come to before it was edited, in order. */
  beforeEdits: Came[];
  failures: FailureReport[];
  /** What was wrong before the stack was repaired; absent when it was not to be. */
  mended?: FailureReport[];
  /** What `talos-gpu discover` makes of the cluster, where that was asked for. */
  discovered?: DiscoveredReport;
  /** What the destroy left behind; empty when it is clean, absent when the lab was kept or failed before. */
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

/** The report as tables for people. */
export function renderReport(report: LabReport): string {
  const machines = Object.entries(report.machines).map(([name, machine]) => {
    const gpus = Object.entries(machine.allocatable).map(
      ([resource, count]) => `${resource}: ${count}`,
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
  const kinds = ["create", "update", "replace", "delete", "same"] as const;
  const updates = report.updates.map(({ result, changes, machineRequests, seconds }, index) => {
    return [
      index + 1,
      result,
      ...kinds.map((kind) => changes[kind]),
      machineRequests,
      seconds.toFixed(1),
    ];
  });
  const workloads = report.workloads.map(({ namespace, name, kind, ready }) => {
    return [`${namespace}/${name}`, kind, ready ? "yes" : "no"];
  });
  const tell = (mark: string, { symptom, cause, remedy, fix }: FailureReport): string =>
    `${mark} ${symptom}\n  cause:  ${cause}\n  remedy: ${remedy}\n  fix:    ${fix}`;
  return [
    table(["machine", "Talos", "schematic", "driver", "reboots", "GPUs"], machines),
    table(["update", "result", ...kinds, "machine calls", "seconds"], updates),
    ...(workloads.length > 0 ? [table(["workload", "kind", "ready"], workloads)] : []),
    ...(report.mended ?? []).map((failure) => tell("✔ mended:", failure)),
    ...report.failures.map((failure) => tell("✖", failure)),
  ].join("\n");
}

function table(head: string[], rows: (string | number)[][]): string {
  const made = new Table({ head, style: { head: [], border: [], compact: true } });
  made.push(...rows);
  return made.toString();
}
