import { styleText } from "node:util";
import { type Diagnosis, type Difference, inOneLine } from "../../components/diagnosis";
import type { System } from "../../components/diagnosis/system";
import { inLine } from "../../components/recipe/rules/printable";

/** The doctor's report, which `--json` prints. */
export interface DoctorReport {
  /** 0: all is well. 1: something was found. 2: nothing was found, but some reads failed. */
  status: number;
  /** The GPU system that was found in the cluster. */
  system: {
    injection: string | null;
    mode: string | null;
    namespace: string | null;
    gpuMachines: string[];
  };
  /** Whether the cluster was compared with a stack's plan. */
  planned: boolean;
  /** Differences from the plan; without a plan, from the state of any working GPU cluster. */
  differences: Difference[];
  findings: Diagnosis[];
  /** One sentence for each failed read, with the reason. */
  unseen: string[];
  /** Parts that were skipped intentionally, and remarks that are no failures. */
  notes: string[];
  /** Cards of the cluster, a line for each machine. */
  inventory: string[];
}

/** A report on a system. */
export function reportOf(
  content: Omit<DoctorReport, "status" | "system"> & { system: System },
): DoctorReport {
  const { injection = null, mode = null, namespace = null, gpuMachines } = content.system;
  const problemCount = content.differences.length + content.findings.length;
  return {
    ...content,
    status: problemCount > 0 ? 1 : content.unseen.length > 0 ? 2 : 0,
    system: { injection, mode, namespace, gpuMachines: gpuMachines.map(({ name }) => name) },
  };
}

/**
 * The words for the source of the CDI specification. The key is the way in which the cluster's Talos release injects
 * devices.
 */
const bySpecification: Record<string, string> = {
  legacy: "no CDI specification on this Talos release",
  cdi: "CDI specification from Talos' extension",
  nri: "CDI specification from GPU Operator",
};

type Style = Parameters<typeof styleText>[0];

/** The report for people. */
export function renderReport(doctorReport: DoctorReport, colour: boolean): string {
  const report = inLines(doctorReport);
  const { system, planned, differences, findings, unseen, notes, inventory } = report;
  const paint = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const { injection, mode, namespace, gpuMachines } = system;
  const providerText =
    mode === null
      ? "no GPU provider"
      : `GPU provider ${mode} in ${namespace ?? "an unknown namespace"}`;
  const label = planned ? "differs from the plan" : "is wrong";
  const machines = gpuMachines.join(", ") || "none seen";
  const nothingWasRead =
    unseen.length > 0 && gpuMachines.length === 0 && mode === null && injection === null;
  return [
    ...unseen.map((line) => `${paint("yellow", "? could not read:")} ${line}`),
    ...(nothingWasRead
      ? []
      : [
          `GPU machines: ${machines}; ${providerText}; ${injection === null ? "no Talos node seen" : (bySpecification[injection] ?? injection)}`,
        ]),
    ...inventory.map((line) => `    ${line}`),
    ...notes.map((note) => paint("dim", `note: ${note}`)),
    ...differences.flatMap((difference) => [
      `${paint("red", `✖ ${label}:`)} ${inOneLine(difference)}`,
      ...(difference.lastWords ?? []).map((line) => `    ${line}`),
      ...(difference.remedy === undefined ? [] : [`    remedy: ${difference.remedy}`]),
    ]),
    ...findings.flatMap(({ fix, symptom, cause, remedy, evidence }) => [
      `${paint("red", "✖ known:")} ${symptom}`,
      `    cause:  ${cause}`,
      `    remedy: ${remedy}`,
      ...evidence.map((line) => `    seen:   ${line}`),
      `    fix:    ${fix}`,
    ]),
    ...(planned && differences.some((difference) => difference.remedy === undefined)
      ? [paint("dim", remedy)]
      : []),
    verdict(report, (text) => paint("green", text)),
  ].join("\n");
}

/**
 * The report for a terminal: each text is on one line and escaped, since its parts may come from pods, logs and events.
 */
const inLines = (report: DoctorReport): DoctorReport =>
  JSON.parse(JSON.stringify(report), (_, value: unknown) =>
    typeof value === "string" ? inLine(value) : value,
  ) as DoctorReport;

/** The remedy for every manual change of the stack's objects. */
const remedy =
  'to repair a difference that has no remedy above: change the text of reconcileToken in the stack\'s file (e.g. "2026-11-22"), then run pulumi preview and pulumi up';

function verdict(
  { status, differences, findings, unseen }: DoctorReport,
  paintGood: (text: string) => string,
): string {
  if (status === 0) return paintGood("✔ nothing found: no fault and no difference");
  const parts: [number, string][] = [
    [differences.length, "wrong"],
    [findings.length, "with a known cause"],
    [unseen.length, "not read"],
  ];
  return parts.flatMap(([count, label]) => (count > 0 ? `${count} ${label}` : [])).join(", ");
}
