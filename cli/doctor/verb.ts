import type { Verb } from "../verb";
import { planToCompare, stackHelp } from "../stack";
import { withoutSecrets } from "../../components/recipe/rules/redact";
import { readWithAccess, reachOptions } from "../reach/options";
import { examine } from "./examine";
import { type DoctorReport, renderReport } from "./report";

/** `talos-gpu doctor`: names the faults of a live cluster. */
export const doctor: Verb = {
  summary: "finds out what is wrong with the GPUs of a live cluster; changes nothing",
  options: {
    ...reachOptions("the report lacks the machines"),
    stack: {
      value: "NAME",
      help: `compare the cluster with the plan of this stack, ${stackHelp}; without a stack, only report known faults`,
    },
  },
  more: "The command uses the talosctl at the path in TALOS_GPU_TALOSCTL, or else the talosctl in PATH.\n",
  run: async (args, output) => {
    const plan = planToCompare(args, output);
    const rawReport = await readWithAccess(args, (access, timeLimit) =>
      examine(access, plan, timeLimit),
    );
    // The report quotes pods and events, and users copy it into issues and logs.
    const report = withoutSecrets(rawReport) as DoctorReport;
    if (args.switches.has("json")) output.result(`${JSON.stringify(report)}\n`);
    else output.result(`${renderReport(report, output.colour)}\n`, true);
    return report.status;
  },
};
