import type { DoctorReport } from "../../../../cli/doctor/report";
import { inOneLine } from "../../../../components/diagnosis";
import { passedWith, type Outcome, untried, failedWith } from "../case";
import { until } from "../../../until";
import type { GpuLab } from "../gpu-lab";
import type { Fault } from "./table";

/** Seconds within which the doctor must report a fault. The kubelet reports a change at its next sync. */
const reportSeconds = 60;
/** Seconds within which the cluster must recover. */
const recoverySeconds = 120;

/** Milliseconds between two reads of Kubernetes. */
const kubernetesInterval = 1_000;
/** Milliseconds until the first read of the machines. */
const firstMachineRead = 1_000;
/** Milliseconds between two reads of the machines. */
const machineInterval = 5_000;

/** Repeats the doctor until it finds nothing, and gives the last report. */
export const waitUntilHealthy = (gpuLab: GpuLab): Promise<DoctorReport> =>
  repeatDoctor(gpuLab, recoverySeconds, ({ status }) => status === 0);

/**
 * Makes a fault in a healthy cluster and waits until the doctor names it. Then undoes the fault and waits until the
 * doctor finds nothing.
 */
export async function tryFault(gpuLab: GpuLab, fault: Fault): Promise<Outcome> {
  const reportBefore = await waitUntilHealthy(gpuLab);
  if (reportBefore.status !== 0)
    return failedWith(`the cluster is not healthy before; ${summaryOf(reportBefore)}`);
  const undo = await fault.make(gpuLab);
  let report: DoctorReport;
  let wasRepaired: boolean;
  try {
    report = await repeatDoctor(
      gpuLab,
      reportSeconds,
      (currentReport) => problemsOfReport(fault, currentReport).length === 0,
    );
    wasRepaired =
      report.status === 0 &&
      fault.repairedIf !== undefined &&
      (await gpuLab.onNode(fault.repairedIf.command)) !== "";
  } finally {
    await undo();
  }
  const reportAfter = await waitUntilHealthy(gpuLab);
  if (wasRepaired && reportAfter.status === 0) return untried(fault.repairedIf!.reason);
  const problems = [
    ...(report.status === 1 ? [] : [`exit ${report.status}`]),
    ...problemsOfReport(fault, report),
    ...(reportAfter.status === 0 ? [] : [`not healthy again: ${summaryOf(reportAfter)}`]),
  ];
  return problems.length === 0
    ? passedWith(summaryOf(report))
    : failedWith([...problems, summaryOf(report)].join("; "));
}

/** What the doctor's report about a fault lacks, and the wrong causes that it names. */
export function problemsOfReport(
  { differences: expectedDifferences, causes = [], allowedCauses = [] }: Fault,
  { differences, findings }: Pick<DoctorReport, "differences" | "findings">,
): string[] {
  const lines = differences.map((difference) =>
    [inOneLine(difference), ...(difference.lastWords ?? [])].join(" | "),
  );
  const reportedCauses = findings.map(({ fix }) => fix as string);
  return [
    ...expectedDifferences
      .filter((pattern) => !lines.some((line) => pattern.test(line)))
      .map((pattern) => `nothing says ${String(pattern)}`),
    ...causes
      .filter((cause) => !reportedCauses.includes(cause))
      .map((cause) => `does not name ${cause}`),
    ...reportedCauses
      .filter((cause) => !causes.includes(cause) && !allowedCauses.includes(cause))
      .map((cause) => `reports ${cause}, which is not the cause`),
  ];
}

/** The doctor's report, the known cause first. */
export function summaryOf({ status, differences, findings, unseen }: DoctorReport): string {
  const lines = [
    ...findings.map(({ fix, symptom }) => `known (${fix}): ${symptom}`),
    ...differences.map((difference) =>
      [inOneLine(difference), ...(difference.lastWords ?? []).slice(0, 2)].join(" | "),
    ),
    ...unseen,
  ];
  if (lines.length === 0) return `nothing found, exit ${status}`;
  const maxLines = 3;
  const remainder = lines.length > maxLines ? ` (and ${lines.length - maxLines} more)` : "";
  return `exit ${status}: ${lines.slice(0, maxLines).join("; ").replace(/\s+/g, " ").slice(0, 700)}${remainder}`;
}

/**
 * Repeats the doctor until its report is as expected. Reading the machines is slow, so it reads them only in three
 * cases: soon after the start, at intervals, and once Kubernetes alone gives the expected report. Only machines report
 * some faults.
 */
async function repeatDoctor(
  gpuLab: GpuLab,
  seconds: number,
  isExpected: (report: DoctorReport) => boolean,
): Promise<DoctorReport> {
  let report: DoctorReport | undefined;
  let machinesDueAt = performance.now() + firstMachineRead;
  const runDoctor = async (): Promise<boolean> => {
    if (
      !isExpected(await gpuLab.doctor({ readMachines: false })) &&
      performance.now() < machinesDueAt
    )
      return false;
    report = await gpuLab.doctor({ readMachines: true });
    machinesDueAt = performance.now() + machineInterval;
    return isExpected(report);
  };
  await until({ seconds, every: kubernetesInterval, signal: gpuLab.signal }, runDoctor, Boolean);
  return report ?? gpuLab.doctor({ readMachines: true });
}
