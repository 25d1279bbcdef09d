import type { DoctorReport } from "../../../../cli/doctor/report";
import { inOneLine } from "../../../../components/diagnosis";
import { held, type Outcome, untried, wrong } from "../case";
import { until } from "../../../until";
import type { Stand } from "../stand";
import type { Fault } from "./table";

/**
 * Seconds within which a fault must show, and within which the cluster must recover: the kubelet reports a change at
 * its next sync.
 */
const shows = 60;
const heals = 120;

/**
 * Milliseconds between two reads of Kubernetes; until the first read of the machines; between two reads of the
 * machines.
 */
const betweenLooks = 1_000;
const [soon, wholeEvery] = [1_000, 5_000];

/** Repeats the doctor until it finds nothing, and gives the last report. */
export const healthy = (scene: Stand): Promise<DoctorReport> =>
  look(scene, heals, ({ status }) => status === 0);

/**
 * Makes a fault in a healthy cluster and waits until the doctor names it. Then undoes the fault and waits until the
 * doctor finds nothing.
 */
export async function judge(scene: Stand, fault: Fault): Promise<Outcome> {
  const before = await healthy(scene);
  if (before.status !== 0) return wrong(`the cluster is not healthy before; ${told(before)}`);
  const undo = await fault.make(scene);
  let report: DoctorReport;
  let putRight: boolean;
  try {
    report = await look(scene, shows, (each) => lacks(fault, each).length === 0);
    putRight =
      report.status === 0 &&
      fault.backIf !== undefined &&
      (await scene.onNode(fault.backIf.prints)) !== "";
  } finally {
    await undo();
  }
  const after = await healthy(scene);
  if (putRight && after.status === 0) return untried(fault.backIf!.why);
  const problems = [
    ...(report.status === 1 ? [] : [`exit ${report.status}`]),
    ...lacks(fault, report),
    ...(after.status === 0 ? [] : [`not healthy again: ${told(after)}`]),
  ];
  return problems.length === 0 ? held(told(report)) : wrong([...problems, told(report)].join("; "));
}

/** Missing and superfluous parts of the doctor's report about a fault. */
export function lacks(
  { unlike, known = [], also = [] }: Fault,
  { differences, findings }: Pick<DoctorReport, "differences" | "findings">,
): string[] {
  const lines = differences.map((each) => [inOneLine(each), ...(each.lastWords ?? [])].join(" | "));
  const causes = findings.map(({ fix }) => fix as string);
  return [
    ...unlike
      .filter((line) => !lines.some((each) => line.test(each)))
      .map((line) => `nothing says ${String(line)}`),
    ...known.filter((cause) => !causes.includes(cause)).map((cause) => `does not name ${cause}`),
    ...causes
      .filter((cause) => !known.includes(cause) && !also.includes(cause))
      .map((cause) => `reports ${cause}, which is not the cause`),
  ];
}

/** The doctor's report, the known cause first. */
export function told({ status, differences, findings, unseen }: DoctorReport): string {
  const lines = [
    ...findings.map(({ fix, symptom }) => `known (${fix}): ${symptom}`),
    ...differences.map((one) => [inOneLine(one), ...(one.lastWords ?? []).slice(0, 2)].join(" | ")),
    ...unseen,
  ];
  if (lines.length === 0) return `nothing found, exit ${status}`;
  const most = 3;
  const rest = lines.length > most ? ` (and ${lines.length - most} more)` : "";
  return `exit ${status}: ${lines.slice(0, most).join("; ").replace(/\s+/g, " ").slice(0, 700)}${rest}`;
}

/**
 * Repeats the doctor until its report is as wanted. Reading the machines is slow, so it reads them only in three
 * cases: soon after the start, at intervals, and once Kubernetes alone gives the wanted report. Only machines report
 * some faults.
 */
async function look(
  scene: Stand,
  seconds: number,
  wanted: (report: DoctorReport) => boolean,
): Promise<DoctorReport> {
  let report: DoctorReport | undefined;
  let due = performance.now() + soon;
  const again = async (): Promise<boolean> => {
    if (!wanted(await scene.doctor({ ofMachines: false })) && performance.now() < due) return false;
    report = await scene.doctor({ ofMachines: true });
    due = performance.now() + wholeEvery;
    return wanted(report);
  };
  await until({ seconds, every: betweenLooks, signal: scene.signal }, again, Boolean);
  return report ?? scene.doctor({ ofMachines: true });
}
