import { healthy, judge, told } from "../faults/judge";
import { type Fault, faults } from "../faults/table";
import { type Case, held, wrong } from "../case";

const well: Case = {
  id: "doctor",
  title: "doctor: healthy",
  run: async (stand, say) => {
    await stand.become({}, say);
    const report = await healthy(stand);
    return (report.status === 0 ? held : wrong)(told(report));
  },
};

const faulty = (fault: Fault): Case => ({
  id: `fault-${fault.id}`,
  title: `doctor: ${fault.title}`,
  run: async (stand, say) => {
    await stand.become({}, say);
    return judge(stand, fault);
  },
});

/** Cases of the doctor's report about a cluster that is well, and about each fault. */
export const doctorCases: readonly Case[] = [well, ...faults.map(faulty)];
