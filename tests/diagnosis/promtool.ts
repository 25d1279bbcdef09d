import type { AlertCase, Labels } from "./alert-cases";

/** A PromQL selector; its strings are quoted as in JSON. */
const selector = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",");

/** The cases as a file for `promtool test rules` (prometheus.io/docs, unit testing for rules), in JSON. */
export function promtoolFile(rules: string, cases: readonly AlertCase[]): string {
  const tests = cases.map(({ name, reports, at = [], whole = [] }) => ({
    name,
    interval: "1m",
    input_series: reports.map(({ metric, labels, values }) => ({
      series: `${metric}{${selector(labels)}}`,
      values,
    })),
    promql_expr_test: at.map(({ minute, where = "", alerts }) => {
      const compared = new Set(alerts.flatMap((alert) => Object.keys(alert)));
      return {
        expr: `count by (${[...compared].join(", ")}) (ALERTS{${where}})`,
        eval_time: `${minute}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{${selector(alert)}}`, value: 1 })),
      };
    }),
    alert_rule_test: whole.map(({ minute, alert, fires }) => ({
      alertname: alert,
      eval_time: `${minute}m`,
      exp_alerts: fires === undefined ? [] : [expectedAlert(fires)],
    })),
  }));
  return JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests });
}

const expectedAlert = ({
  labels,
  ...annotations
}: {
  labels: Labels;
  summary: string;
  description: string;
}): object => ({ exp_labels: labels, exp_annotations: annotations });
