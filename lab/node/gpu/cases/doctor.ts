import { inOneLine } from "../../../../components/diagnosis/unlike/index";
import type { DoctorReport } from "../../../../cli/doctor/report";
import { held, untried, wrong, type Case } from "../case";
import { faults, type Fault } from "../faults";

/** Seconds until a fault shows, and until a cluster is as before: the kubelet tells a change at its next sync. */
const shows = 45;
const heals = 120;

const healthy: Case = {
  id: "doctor",
  title: "doctor: healthy",
  run: async (stand, say) => {
    await stand.become({}, say);
    const report = await stand.doctorUntil(({ status }) => status === 0, heals);
    return report.status === 0 ? held("nothing found, exit 0") : wrong(told(report));
  },
};

/** What the doctor says, the known cause first. */
function told({ status, differences, findings, unseen }: DoctorReport): string {
  const lines = [
    ...findings.map(({ fix, symptom }) => `known (${fix}): ${symptom}`),
    ...differences.map((one) => [inOneLine(one), ...(one.lastWords ?? []).slice(0, 2)].join(" | ")),
    ...unseen,
  ];
  const most = 3;
  const rest = lines.length > most ? ` (and ${lines.length - most} more)` : "";
  return `exit ${status}: ${lines.slice(0, most).join("; ").replace(/\s+/g, " ").slice(0, 700)}${rest}`;
}

const faulty = (fault: Fault): Case => ({
  id: `fault-${fault.id}`,
  title: `doctor: ${fault.title}`,
  run: async (stand, say) => {
    if (fault.needsCard !== undefined && stand.cards === undefined) return untried(fault.needsCard);
    await stand.become({}, say);
    const before = await stand.doctorUntil(({ status }) => status === 0, heals);
    if (before.status !== 0) return wrong(`the cluster is not healthy before: ${told(before)}`);
    const undo = await fault.make(stand);
    let report: DoctorReport;
    try {
      report = await stand.doctorUntil(({ differences, findings }) => fault.shown(differences, findings), shows);
    } finally {
      await undo(say);
    }
    const after = await stand.doctorUntil(({ status }) => status === 0, heals);
    const found = report.status === 1 && fault.shown(report.differences, report.findings);
    const well = after.status === 0 ? "" : `; NOT healthy again: ${told(after)}`;
    return (found && well === "" ? held : wrong)(`${told(report)}${well}`);
  },
});

export const doctorCases: readonly Case[] = [healthy, ...faults.map(faulty)];
