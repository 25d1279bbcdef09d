import type { Plan } from "../recipe/types";
import alertTable from "./alerts.json";
import { cardCauses, xids } from "./known/cards";

/** A rule of Prometheus (prometheus.io/docs, alerting rules). */
interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: { summary: string; description: string };
}

/** An alert rule without its query and the card's name, which `alertRules` adds. */
type WatchedMetric = {
  metric: string;
  for?: string;
  severity: string;
  summary: string;
  description: string;
};

/** Alerts about the driver's error codes, each with the cause that `doctor` names for these codes. */
const alerts: Record<
  keyof Omit<typeof xids, "application">,
  [alert: string, cause: keyof typeof cardCauses]
> = {
  reset: ["NvidiaXidReset", "cardReset"],
  reboot: ["NvidiaXidGone", "cardGone"],
  power: ["NvidiaXidPower", "cardPower"],
  nvlink: ["NvidiaXidNvlink", "nvlink"],
};

/**
 * The exporter shows only a card's last Xid, until the exporter restarts, e.g. at a reboot (dcgm-exporter#500). A
 * harmless Xid of a program may soon replace the Xid of a broken card. So each rule looks at the last 15 minutes.
 */
const xidRules = Object.entries(alerts).map(
  ([xidGroup, [alert, cause]]): [string, WatchedMetric] => {
    const metricOfGroup = `max_over_time({__name__=~"DCGM_FI_DEV_XID_ERRORS?",err_code=~"${xids[xidGroup as keyof typeof alerts].join("|")}"}[15m])`;
    const { symptom, cause: why, remedy } = cardCauses[cause];
    return [
      alert,
      {
        metric: metricOfGroup,
        severity: "critical",
        summary: symptom,
        description: `${why}. What to do: ${remedy}`,
      },
    ];
  },
);

/**
 * Alert rules of Prometheus about the cards: their Xids, memory and clocks, and the number of cards in each machine.
 * The alert about missing cards ignores a machine with `mayBeAway` that shows no card at all. The exporter names the
 * node in the label `Hostname`, and from 4.8.3 on in `hostname` (dcgm-exporter#655); each rule accepts both labels.
 */
export function alertRules({ machines, spec }: Pick<Plan, "machines" | "spec">): AlertRule[] {
  const cardRules = [...xidRules, ...Object.entries<WatchedMetric>(alertTable.rules)].map(
    ([alert, rule]): AlertRule => ({
      alert,
      expr: `max by (Hostname, hostname, gpu, UUID, modelName) (${rule.metric}) > 0`,
      ...(rule.for === undefined ? {} : { for: rule.for }),
      labels: { severity: rule.severity },
      annotations: {
        summary: `GPU {{ $labels.gpu }} ({{ $labels.modelName }}) of {{ $labels.Hostname }}{{ $labels.hostname }}: ${rule.summary}`,
        description: rule.description,
      },
    }),
  );
  const missing = machines
    .filter(({ gpuCount }) => gpuCount > 0)
    .map(({ name, gpuCount }): AlertRule => {
      const seriesWithLabel = (label: string): string =>
        `{__name__=~"DCGM_FI_DEV_GPU_TEMP(_CELSIUS)?",${label}="${name}"}`;
      const seenCards = `count(count by (UUID) (${seriesWithLabel("Hostname")} or ${seriesWithLabel("hostname")}))`;
      return {
        alert: "NvidiaCardMissing",
        expr: `${spec.machines[name]?.mayBeAway ? seenCards : `(${seenCards} or vector(0))`} < ${gpuCount}`,
        for: "15m",
        labels: { severity: "critical", node: name },
        annotations: {
          summary: `${name} shows {{ $value }} of its ${gpuCount} GPUs`,
          description:
            "`npx talos-gpu doctor` shows the reason: the machine is off, its driver or exporter does not run, or a card does not answer on the bus",
        },
      };
    });
  return [...cardRules, ...missing];
}
