import type { AlertCase, Labels } from "./alert-cases";

/** A PromQL selector; its strings are quoted as in JSON. */
const selectorOf = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",");

/** The cases as a file for `promtool test rules` (prometheus.io/docs, unit testing for rules), in JSON. */
export function promtoolFile(rules: string, cases: readonly AlertCase[]): string {
  const tests = cases.map(({ name, series, alertsAt = [], detailedAlerts = [] }) => ({
    name,
    interval: "1m",
    input_series: series.map(({ metric, labels, values }) => ({
      series: `${metric}{${selectorOf(labels)}}`,
      values,
    })),
    promql_expr_test: alertsAt.map(({ minute, selector = "", alerts }) => {
      const comparedLabels = new Set(alerts.flatMap((alert) => Object.keys(alert)));
      return {
        expr: `count by (${[...comparedLabels].join(", ")}) (ALERTS{${selector}})`,
        eval_time: `${minute}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{${selectorOf(alert)}}`, value: 1 })),
      };
    }),
    alert_rule_test: detailedAlerts.map(({ minute, alert, expected }) => ({
      alertname: alert,
      eval_time: `${minute}m`,
      exp_alerts: expected === undefined ? [] : [expectedAlert(expected)],
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
