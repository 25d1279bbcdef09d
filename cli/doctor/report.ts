import Table from "cli-table3";
import type { Diagnosis } from "../../components/recipe/index";
import type { System } from "../../components/diagnosis/rules/system";

/** What the doctor says; what `--json` prints. */
export interface DoctorReport {
  /** The system as it was understood. */
  system: { era: string | null; mode: string | null; namespace: string | null; gpuMachines: string[] };
  findings: Diagnosis[];
  /** What could not be looked at, one sentence each. */
  notes: string[];
}

/** A report on a system. */
export function reportOf(system: System, findings: Diagnosis[], notes: string[]): DoctorReport {
  const { era, mode, namespace, gpuMachines } = system;
  return {
    system: {
      era: era ?? null,
      mode: mode ?? null,
      namespace: namespace ?? null,
      gpuMachines: gpuMachines.map(({ name }) => name),
    },
    findings,
    notes,
  };
}

/** The report for people. */
export function renderReport({ system, findings, notes }: DoctorReport): string {
  const { era, mode, namespace, gpuMachines } = system;
  const exposed = mode === null ? "nothing exposes GPUs" : `${mode} in ${namespace ?? "an unknown namespace"}`;
  const lines = [
    `GPU machines: ${gpuMachines.join(", ") || "none seen"}; ${exposed}; ${era === null ? "no Talos node seen" : `era ${era}`}`,
    ...notes.map((note) => `note: ${note}`),
  ];
  if (findings.length === 0) return [...lines, "nothing found"].join("\n");
  const table = new Table({
    head: ["symptom", "cause", "remedy", "seen", "fix"],
    colWidths: [34, 34, 34, 44, 18],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { symptom, cause, remedy, evidence, fix } of findings)
    table.push([symptom, cause, remedy, evidence.join("\n"), fix]);
  return [...lines, table.toString()].join("\n");
}
