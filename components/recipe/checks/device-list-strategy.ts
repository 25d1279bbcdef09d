import type { Check, CheckContext, Complaint } from "./check";
import { didYouMean } from "../stack/suggest";
import { valueAt } from "../machine/user-patches";
import { envOf } from "../kubernetes/values";

const strategies = ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/** Where a stack says the strategy: the operator's environment, or the standalone chart's value. */
function said({ spec }: CheckContext): { field: string; text: string }[] {
  const env = envOf(valueAt(spec.gpuOperator?.values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY");
  const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
  const list: unknown[] = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  return [
    ...(env === undefined ? [] : [{ field: "gpuOperator.values.devicePlugin.env", text: env }]),
    ...(list.length === 0
      ? []
      : [
          {
            field: "devicePlugin.values.deviceListStrategy",
            text: list.filter((word) => typeof word === "string").join(","),
          },
        ]),
  ];
}

export const deviceListStrategy: Check = {
  id: "device-list-strategy",
  source: "k8s-device-plugin, api/config/v1/consts.go; siderolabs/extensions c5480f9 (no CDI before Talos 1.13)",
  find: (context) =>
    said(context).flatMap(({ field, text }): Complaint[] => {
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
};
