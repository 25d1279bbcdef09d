import * as semver from "semver";
import type { Check, Found } from "./check";
import type { Plan } from "../types";
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

/** The device plugin's strategy is one that its release and Talos' layout take. */
export const deviceListStrategy: Check = {
  id: "device-list-strategy",
  source:
    "k8s-device-plugin, api/config/v1/consts.go at v0.12.0 to v0.20.0; siderolabs/extensions c5480f9 (no CDI before Talos 1.13)",
  find: ({ spec, plan }) => {
    const env = envOf(valueAt(spec.gpuOperator?.values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY");
    const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
    const field = "devicePlugin.values.deviceListStrategy";
    return [
      // The chart puts it into a variable: a list fails in its template (k8s-device-plugin, templates/_helpers.tpl, `contains`).
      value !== undefined &&
        value !== null &&
        typeof value !== "string" && {
          field,
          problem: "must be text",
          why: "the chart's template fails on anything else, and nothing is installed",
          remedy: `write one of ${strategies.join(", ")}, or several with commas between them`,
        },
      strategyFault("gpuOperator.values.devicePlugin.env", env, plan),
      strategyFault(field, value, plan, spec.devicePlugin?.version),
    ];
  },
};

function strategyFault(field: string, value: unknown, { era }: Plan, pluginVersion?: string): Found {
  if (typeof value !== "string") return undefined;
  const words = value.split(",").map((word) => word.trim());
  const wrong = words.filter((word) => !strategies.includes(word));
  if (wrong.length > 0)
    return {
      field,
      problem: `"${wrong.join(",")}" is no strategy`,
      why: 'the device plugin stops with "invalid --device-list-strategy option", and the node offers no GPU',
      remedy: `${didYouMean(wrong[0] ?? "", strategies)}one of ${strategies.join(", ")}`,
    };
  const early = notYet(pluginVersion, words);
  if (early !== undefined)
    return {
      field,
      problem: `the device plugin ${pluginVersion} does not know ${early[0]}`,
      why: "it ends at each start, and the node offers no GPU",
      remedy: `take the plugin ${early[1]} or newer, or leave it out`,
    };
  const cdi = words.filter((word) => word.startsWith("cdi-"));
  return (
    cdi.length > 0 &&
    era === "legacy" && {
      field,
      problem: `${cdi.join(",")} on Talos ≤ 1.12`,
      why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc: containers get the card without its libraries",
      remedy: "leave it out (envvar follows), or take Talos ≥ 1.13",
    }
  );
}
