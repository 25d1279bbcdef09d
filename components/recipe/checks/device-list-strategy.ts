import * as semver from "semver";
import type { Check, CheckContext, Complaint } from "./check";
import { didYouMean } from "../rules/suggest";
import { envOf } from "../kubernetes/values";
import { valueAt } from "../mapping";

const strategies = ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/** First plugin with a strategy, and with several at once; the operator's releases that run here bring newer ones. */
const firstWith: Record<string, string> = { "cdi-annotations": "0.14.0", "cdi-cri": "0.15.0" };
const firstWithSeveral = "0.14.0";

/** What the standalone plugin's release does not have yet; undefined when it has it all. */
function notYet(version: string | undefined, words: string[]): [what: string, since: string] | undefined {
  const release = semver.parse(version);
  if (release === null) return undefined;
  const early = words.find((word) => firstWith[word] !== undefined && semver.lt(release, firstWith[word]));
  if (early !== undefined) return [early, firstWith[early] ?? ""];
  return words.length > 1 && semver.lt(release, firstWithSeveral)
    ? ["several strategies at once", firstWithSeveral]
    : undefined;
}

/** Where a stack says the strategy: the operator's environment, or the standalone chart's value. */
function said({ spec }: CheckContext): { field: string; text: string }[] {
  const env = envOf(valueAt(spec.gpuOperator?.values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY");
  const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
  return [
    ...(env === undefined ? [] : [{ field: "gpuOperator.values.devicePlugin.env", text: env }]),
    ...(typeof value === "string" ? [{ field: "devicePlugin.values.deviceListStrategy", text: value }] : []),
  ];
}

/** The device plugin's strategy is one that its release and Talos' layout take. */
export const deviceListStrategy: Check = {
  id: "device-list-strategy",
  source:
    "k8s-device-plugin, api/config/v1/consts.go at v0.12.0 to v0.20.0; siderolabs/extensions c5480f9 (no CDI before Talos 1.13)",
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
      const early = field.startsWith("devicePlugin") ? notYet(context.spec.devicePlugin?.version, words) : undefined;
      if (early !== undefined) {
        return [
          {
            field,
            problem: `the device plugin ${context.spec.devicePlugin?.version} does not know ${early[0]}`,
            why: "it ends at each start, and the node offers no GPU",
            remedy: `take the plugin ${early[1]} or newer, or leave it out`,
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
