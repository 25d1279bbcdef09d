import type { Check, CheckContext, Complaint } from "./check";
import { didYouMean } from "../stack/suggest";
import { valueAt } from "../machine/user-patches";
import { envOf } from "../kubernetes/values";

const strategies = ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/** Where a stack says the strategy: the operator's environment, or the standalone chart's value. */
function said({ spec }: CheckContext): { field: string; text: string }[] {
  const env = envOf(valueAt(spec.gpuOperator?.values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY");
  const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
  return [
    ...(env === undefined ? [] : [{ field: "gpuOperator.values.devicePlugin.env", text: env }]),
    ...(typeof value === "string" ? [{ field: "devicePlugin.values.deviceListStrategy", text: value }] : []),
  ];
}

export const deviceListStrategy: Check = {
  id: "device-list-strategy",
  source: "k8s-device-plugin, api/config/v1/consts.go; siderolabs/extensions c5480f9 (no CDI before Talos 1.13)",
  find: (context) => [
    ...asList(context),
    ...said(context).flatMap(({ field, text }): Complaint[] => {
      const words = text.split(",").map((word) => word.trim());
      const wrong = words.filter((word) => !strategies.includes(word));
      if (wrong.length > 0) {
        return [
          {
            field,
            problem: `"${wrong.join(",")}" is no strategy`,
            why: 'the device plugin stops with "invalid --device-list-strategy option", and the node offers no GPU',
            remedy: `${didYouMean(wrong[0] ?? "", strategies)}one of ${strategies.join(", ")}`,
          },
        ];
      }
      const cdi = words.filter((word) => word.startsWith("cdi-"));
      if (cdi.length === 0 || context.plan.era === "cdi") return [];
      return [
        {
          field,
          problem: `${cdi.join(",")} on Talos ≤ 1.12`,
          why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc: containers get the card without its libraries",
          remedy: "leave it out (envvar follows), or take Talos ≥ 1.13",
        },
      ];
    }),
  ],
};

/** The chart puts it into a variable: a list fails in its template (k8s-device-plugin, templates/_helpers.tpl, `contains`). */
function asList({ spec }: CheckContext): Complaint[] {
  const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
  if (value === undefined || value === null || typeof value === "string") return [];
  return [
    {
      field: "devicePlugin.values.deviceListStrategy",
      problem: "must be text",
      why: "the chart's template fails on anything else, and nothing is installed",
      remedy: `write one of ${strategies.join(", ")}, or several with commas between them`,
    },
  ];
}
