import { strategies, strategiesIn } from "../kubernetes/plugin-release";
import { envOf } from "../kubernetes/values";
import { pluginConfigPlaces } from "../machine/own-sharing";
import { asText, isMapping, valueAt } from "../mapping";
import { didYouMean } from "../rules/suggest";
import type { Plan } from "../types";
import { type CheckContext, type Checks, complaint, type Found } from "./check";
import { objectFlaws } from "./object-shapes";
import * as semver from "semver";
import { parse } from "yaml";

/** The device plugin's own configuration, its paths and its strategy. */
export const pluginChecks: Checks = {
  "plugin-config": ({ spec }) =>
    pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
      const config = valueAt(spec[field]?.values, ...section);
      const path = `${field}.values.${section.join(".")}`;
      const all = valueAt(config, texts);
      if (!isMapping(all)) return misread(path, config);
      const chosen = asText(valueAt(config, "default"));
      const sharing = spec.sharing?.timeSlicing;
      const names = [...Object.keys(all), ...(sharing === undefined ? [] : ["default"])];
      return [
        Object.entries(all)
          .filter(([, text]) => text !== null) // to Helm, null takes one away
          .map(([name, text]) => {
            const at = `${path}.${texts}.${name}`;
            if (typeof text !== "string") return complaint(at, "plugin-config/no-text");
            return flawsOf(text).map(([problem, remedy]) => complaint(at, "plugin-config/flaw", { problem, remedy }));
          }),
        misread(path, config),
        chosen !== "" &&
          !names.includes(chosen) &&
          complaint(`${path}.default`, "plugin-config/default", { chosen, names, path, texts }),
        texts === "map" &&
          asText(valueAt(config, "name")) !== "" &&
          Object.keys(all).length > 0 &&
          complaint(`${path}.name`, "plugin-config/name"),
      ];
    }),
  "plugin-paths": (context) => {
    if (context.plan.era === "legacy") return [];
    const env = valueAt(context.spec.gpuOperator?.values, "devicePlugin", "env");
    const glibc = ["LD_LIBRARY_PATH", "CONTAINER_DRIVER_ROOT", "DRIVER_ROOT_CTR_PATH", "NVIDIA_DRIVER_ROOT"]
      .filter((name) => /glibc/.test(envOf(env, name) ?? ""))
      .map((name) => complaint("gpuOperator.values.devicePlugin.env", "plugin-paths/glibc", { name }));
    return [glibc, driverRoot(context)];
  },
  "plugin-toolkit": ({ spec, plan }) =>
    plan.era === "nri" &&
    spec.devicePlugin !== undefined &&
    asText(valueAt(spec.devicePlugin.values, "cdi", "nvidiaHookPath")) === "" &&
    complaint("devicePlugin", "plugin-toolkit", { spec }),
  "device-list-strategy": ({ spec, plan }) => {
    const env = envOf(valueAt(spec.gpuOperator?.values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY");
    const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
    const field = "devicePlugin.values.deviceListStrategy";
    return [
      // The chart puts it into a variable: a list fails in its template (k8s-device-plugin, templates/_helpers.tpl, `contains`).
      value !== undefined &&
        value !== null &&
        typeof value !== "string" &&
        complaint(field, "device-list-strategy/text", { strategies }),
      strategyFault("gpuOperator.values.devicePlugin.env", env, plan),
      strategyFault(field, value, plan, spec.devicePlugin?.version),
    ];
  },
};

/** Names that the templates print without quotes (`value: {{ .Values.config.default }}`), so that YAML reads something else than a text. */
const misread = (path: string, config: unknown): Found =>
  ["default", "name"].flatMap((key) => {
    const name = valueAt(config, key);
    if (name === undefined || name === null || name === "" || isText(asText(name))) return [];
    return complaint(`${path}.${key}`, "plugin-config/not-text", { name: JSON.stringify(name) });
  });

/** Whether these characters are a text: Helm's YAML is 1.1, with the numbers of 1.2. */
function isText(characters: string): boolean {
  try {
    return (["1.1", "1.2"] as const).every((version) => typeof parse(characters, { version }) === "string");
  } catch {
    return false;
  }
}

/** What the plugin does not take of a configuration. */
function flawsOf(text: string): [problem: string, remedy: string][] {
  try {
    const config: unknown = parse(text);
    return objectFlaws(config, "@PluginConfiguration").map(([path, problem, remedy]) => [
      `${path.slice(1)} ${problem}`.trimStart(),
      remedy,
    ]);
  } catch (error) {
    return [[`is not YAML: ${((error as Error).message.split("\n")[0] ?? "").replace(/:$/, "")}`, "correct it"]];
  }
}

/** With a CDI strategy the standalone plugin writes paths of devices below the driver root into its specification. */
function driverRoot({ spec }: CheckContext): Found {
  const values = spec.devicePlugin?.values;
  const root = valueAt(values, "nvidiaDriverRoot");
  const devices = valueAt(values, "nvidiaDevRoot");
  const cdi = strategiesIn(valueAt(values, "deviceListStrategy")).filter((word) => word.startsWith("cdi-"));
  if (cdi.length === 0 || root === undefined || root === "/" || devices === "/") return [];
  const field = "devicePlugin.values.nvidiaDriverRoot";
  if (typeof root !== "string") return complaint(field, "plugin-paths/root", { root: JSON.stringify(root), cdi });
  if (!/^\/usr\/local(\/|$)/.test(root)) return []; // Nobody has seen what another root does.
  return complaint(field, "plugin-paths/usr-local", { root, cdi, folder: root.replace(/\/$/, "") });
}

/** First plugin with a strategy, and with several at once; the operator's releases that run here bring newer ones. */
const firstWith: Record<string, string> = {
  "cdi-annotations": "0.14.0",
  "cdi-cri": "0.15.0",
  "several strategies at once": "0.14.0",
};

/** What the standalone plugin's release does not have yet; undefined when it has it all. */
function notYet(version: string | undefined, words: string[]): string | undefined {
  const release = semver.parse(version);
  const asked = [...words, ...(words.length > 1 ? ["several strategies at once"] : [])];
  return asked.find((word) => release !== null && semver.lt(release, firstWith[word] ?? "0.0.0"));
}

function strategyFault(field: string, value: unknown, { era }: Plan, pluginVersion?: string): Found {
  if (typeof value !== "string") return undefined;
  const words = value.split(",").map((word) => word.trim());
  const wrong = words.filter((word) => !strategies.includes(word));
  const meant = didYouMean(wrong[0] ?? "", strategies);
  if (wrong.length > 0) return complaint(field, "device-list-strategy/unknown", { wrong, meant, strategies });
  const early = notYet(pluginVersion, words);
  if (early !== undefined)
    return complaint(field, "device-list-strategy/early", { pluginVersion, early, needed: firstWith[early] });
  const cdi = words.filter((word) => word.startsWith("cdi-"));
  if (era === "nri" && cdi.length === 0) return complaint(field, "device-list-strategy/no-cdi", { value });
  return cdi.length > 0 && era === "legacy" && complaint(field, "device-list-strategy/legacy", { cdi });
}
