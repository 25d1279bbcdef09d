import type { Verb } from "../verb";
import { planToCompare, stackHelp } from "../stack";
import { withoutSecrets } from "../../components/recipe/rules/redact";
import { lookAtCluster, reachOptions } from "../reach/options";
import { examine } from "./examine";
import { type DoctorReport, renderReport } from "./report";

/** `talos-gpu doctor`: says what is wrong with a live cluster. */
export const doctor: Verb = {
  summary: "looks at a live cluster and names what is wrong with its GPUs; changes nothing",
  options: {
    ...reachOptions("the report lacks the machines"),
    stack: {
      value: "NAME",
      help: `compare the cluster with the plan of this stack, ${stackHelp}; without any, judge by what is seen`,
    },
  },
  more: "talosctl is taken from PATH, or from TALOS_GPU_TALOSCTL.\n",
  run: async (given, output) => {
    const plan = planToCompare(given, output);
    const seen = await lookAtCluster(given, (access, within) => examine(access, plan, within));
    // Last words of pods and events stand in it, and a report goes into issues and logs.
    const report = withoutSecrets(seen) as DoctorReport;
    if (given.switches.has("json")) output.result(`${JSON.stringify(report)}\n`);
    else output.result(`${renderReport(report, output.colour)}\n`, true);
    return report.status;
  },
};
