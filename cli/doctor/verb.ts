import { type Verb, valueOf } from "../verb";
import { planOfStack } from "../stack";
import { accessOf } from "./reach/access";
import { examine } from "./examine";
import { renderReport } from "./report";

/** Seconds in which everything that does not answer is given up, where nobody says otherwise. */
const WITHIN = 55;

/** `talos-gpu doctor`. */
export const doctor: Verb = {
  summary: "looks at a live cluster and names what is wrong with its GPUs; changes nothing",
  options: {
    kubeconfig: {
      value: { name: "FILE", completes: "file" },
      help: "how to reach Kubernetes (default: KUBECONFIG, or ~/.kube/config)",
    },
    talosconfig: {
      value: { name: "FILE", completes: "file" },
      help: "how to reach the machines, through talosctl (default: TALOSCONFIG; without either, machines stay out)",
    },
    stack: {
      value: { name: "NAME", completes: "file" },
      help: "hold the cluster against this stack's plan, by its name or its file (default: go by what is seen)",
    },
    within: {
      value: { name: "SECONDS", completes: "nothing" },
      help: `give up what does not answer, so that all ends within this time (default: ${WITHIN})`,
    },
  },
  more: "talosctl is taken from PATH, or from TALOS_GPU_TALOSCTL.\n",
  run: async (given, output) => {
    const within = secondsOf(valueOf(given, "within")) * 1000;
    const stack = valueOf(given, "stack");
    const plan = stack === undefined ? undefined : planOfStack(stack);
    const access = accessOf(valueOf(given, "kubeconfig"), valueOf(given, "talosconfig"), given.environment, new Date());
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const message = `the look at the cluster did not end within ${within / 1000} s`;
      timer = setTimeout(() => reject(new Error(message)), within);
    });
    const report = await Promise.race([examine(access, plan, within), late]).finally(() => clearTimeout(timer));
    output.result(
      given.switches.has("json") ? `${JSON.stringify(report)}\n` : `${renderReport(report, output.colour)}\n`,
    );
    return report.status;
  },
};

function secondsOf(text: string | undefined): number {
  const seconds = text === undefined ? WITHIN : Number(text);
  if (seconds >= 1 && seconds <= 3600) return seconds;
  throw new Error(
    `--within: ${text} is no number of seconds from 1 to 3600, so nobody knows when to give up; write e.g. 30`,
  );
}
