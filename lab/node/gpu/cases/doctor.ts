import { waitUntilHealthy, tryFault, summaryOf } from "../faults/judge";
import { type Fault, faults } from "../faults/table";
import { type Case, outcomeOf } from "../case";

const healthyCase: Case = {
  id: "doctor",
  title: "doctor: healthy",
  run: async (gpuLab, say) => {
    await gpuLab.updateTo({}, say);
    const report = await waitUntilHealthy(gpuLab);
    return outcomeOf(report.status === 0, summaryOf(report));
  },
};

const faultCase = (fault: Fault): Case => ({
  id: `fault-${fault.id}`,
  title: `doctor: ${fault.title}`,
  run: async (gpuLab, say) => {
    await gpuLab.updateTo({}, say);
    return tryFault(gpuLab, fault);
  },
});

/** Cases of the doctor's report about a cluster that is well, and about each fault. */
export const doctorCases: readonly Case[] = [healthyCase, ...faults.map(faultCase)];
