import { strategies, strategiesIn } from "../cluster/plugin-release";
import { envOf } from "../cluster/values";
import { pluginConfigPlaces } from "../machine/own-sharing";
import { asText, isMapping, valueAt } from "../mapping";
import { didYouMean } from "../rules/suggest";
import { boundedYaml } from "../rules/yaml";
import { boundedDocuments, ofFiles } from "../rules/yaml-bounds";
import type { Plan } from "../types";
import type { CheckContext, Checks, Found } from "./check";
import { objectFlaws } from "./object-shapes";
import * as semver from "semver";
import { isScalar } from "yaml";

/** Checks of the device plugin: its own configuration, its paths and its strategy. */
export const pluginChecks = {
  "plugin-config": {
    rule: "The device plugin can read its configuration",
    source:
      "k8s-device-plugin v0.19.3, api/config/v1/config.go (parseConfigFrom), replicas.go (UnmarshalJSON), cmd/config-manager; deployments/helm/nvidia-device-plugin/templates/validation.yml",
    ofFiles: true,
    find: ({ spec }) =>
      pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
        const config = valueAt(spec[field]?.values, ...section);
        const path = `${field}.values.${section.join(".")}`;
        const configurations = valueAt(config, texts);
        if (!isMapping(configurations)) return misreadFinding(path, config);
        const defaultName = asText(valueAt(config, "default"));
        const sharing = spec.sharing?.timeSlicing;
        const names = [
          ...Object.keys(configurations),
          ...(sharing === undefined ? [] : ["default"]),
        ];
        return [
          Object.entries(configurations)
            .filter(([, text]) => text !== null) // Helm removes a configuration that is null.
            .map(([name, text]) => {
              const textPath = `${path}.${texts}.${name}`;
              if (typeof text !== "string")
                return {
                  field: textPath,
                  problem: "is not a string",
                  why: "the chart writes it into a ConfigMap, which accepts only strings",
                  remedy: "write it as a block (`|-`)",
                };
              return flawsOf(text).map(([problem, remedy]) => ({
                field: textPath,
                problem,
                why: "the device plugin exits at its start, or silently ignores this value",
                remedy,
              }));
            }),
          misreadFinding(path, config),
          defaultName !== "" && !names.includes(defaultName)
            ? {
                field: `${path}.default`,
                problem: `names "${defaultName}", which is not a configuration (known: ${names.join(", ")})`,
                why: "the plugin waits for this configuration, and the node offers no GPU",
                remedy: `name one of the configurations under ${path}.${texts}`,
              }
            : undefined,
          texts === "map" &&
          asText(valueAt(config, "name")) !== "" &&
          Object.keys(configurations).length > 0
            ? {
                field: `${path}.name`,
                problem: "is set together with map",
                why: "the chart accepts `name` or `map`, and fails if both are set",
                remedy: "leave one of the two out",
              }
            : undefined,
        ];
      }),
  },
  "plugin-paths": {
    rule: "On Talos ≥ 1.13 no variable of the device plugin has a glibc path, and the driver root fits the device list strategy",
    source:
      "talos#13346: LD_LIBRARY_PATH and glibc roots of Talos ≤ 1.12 break the plugin on 1.13; k8s-device-plugin v0.19.3, cmd/nvidia-device-plugin/plugin-manager.go, and an H100 with Talos 1.13's files (lab/docs/hardware.md)",
    ofFiles: true,
    find: (context) => {
      if (context.plan.injection === "legacy") return [];
      const env = valueAt(context.spec.gpuOperator?.values, "devicePlugin", "env");
      const glibc = [
        "LD_LIBRARY_PATH",
        "CONTAINER_DRIVER_ROOT",
        "DRIVER_ROOT_CTR_PATH",
        "NVIDIA_DRIVER_ROOT",
      ]
        .filter((name) => /glibc/.test(envOf(env, name) ?? ""))
        .map((name) => ({
          field: "gpuOperator.values.devicePlugin.env",
          problem: `${name} contains a path of glibc`,
          why: "Talos ≥ 1.13 has the driver's libraries under /usr/local/lib, so NVML fails to load and the node offers no GPU",
          remedy: "leave this variable out",
        }));
      return [glibc, driverRoot(context)];
    },
  },
  "plugin-toolkit": {
    rule: "On Talos ≥ 1.15 a device plugin without the operator gets the path of nvidia-cdi-hook (cdi.nvidiaHookPath), because Talos lacks this program",
    source:
      "siderolabs/extensions#1222 (Talos 1.15 has no nvidia-cdi-hook); k8s-device-plugin v0.19.3, cmd/nvidia-device-plugin/main.go (nvidia-cdi-hook-path)",
    ofFiles: true,
    find: ({ spec, plan }) =>
      plan.injection === "nri" &&
      spec.devicePlugin !== undefined &&
      asText(valueAt(spec.devicePlugin.values, "cdi", "nvidiaHookPath")) === ""
        ? {
            field: "devicePlugin",
            problem: `runs without the operator on Talos ${spec.talosVersion}, which has no container toolkit`,
            why: "the plugin's CDI specification runs nvidia-cdi-hook on the machine, but Talos does not have this program, so every pod with a card fails",
            remedy:
              "use dra or gpuOperator (v26.7.0 or newer), which install nvidia-cdi-hook, or install nvidia-cdi-hook yourself and set devicePlugin.values.cdi.nvidiaHookPath to its path",
          }
        : undefined,
  },
  "device-list-strategy": {
    rule: "The plugin's release and Talos support the device list strategy",
    source:
      "k8s-device-plugin, api/config/v1/consts.go at v0.12.0 to v0.20.0; siderolabs/extensions c5480f9 (no CDI before Talos 1.13)",
    ofFiles: true,
    find: ({ spec, plan }) => {
      const env = envOf(
        valueAt(spec.gpuOperator?.values, "devicePlugin", "env"),
        "DEVICE_LIST_STRATEGY",
      );
      const value = valueAt(spec.devicePlugin?.values, "deviceListStrategy");
      const field = "devicePlugin.values.deviceListStrategy";
      return [
        // The chart writes the value into a variable: a list fails in its template (k8s-device-plugin,
        // templates/_helpers.tpl, `contains`).
        value !== undefined && value !== null && typeof value !== "string"
          ? {
              field,
              problem: "must be a string",
              why: "the chart's template fails on any other type, and Helm installs nothing",
              remedy: `write one of ${strategies.join(", ")}, or several with commas between them`,
            }
          : undefined,
        strategyFault("gpuOperator.values.devicePlugin.env", env, plan),
        strategyFault(field, value, plan, spec.devicePlugin?.version),
      ];
    },
  },
} satisfies Checks;

/**
 * Findings for names of configurations that YAML does not read as strings. The chart's templates print these names
 * without quotes (`value: {{ .Values.config.default }}`).
 */
const misreadFinding = (path: string, config: unknown): Found =>
  ["default", "name"].flatMap((key) => {
    const name = valueAt(config, key);
    if (name === undefined || name === null || name === "" || isText(asText(name))) return [];
    return {
      field: `${path}.${key}`,
      problem: `is ${JSON.stringify(name)}, which YAML does not read as a string`,
      why: "the chart prints it without quotes, and Kubernetes refuses the object",
      remedy: "give the configuration a name that begins with a letter, e.g. `any`",
    };
  });

/** Whether YAML reads these characters as a string. Helm reads YAML 1.1, but numbers as in YAML 1.2. */
function isText(characters: string): boolean {
  return ["1.1", "1.2"].every((version) => {
    const [document, ...otherDocuments] = boundedDocuments(
      characters,
      { version },
      ofFiles,
    ).documents;
    return (
      otherDocuments.length === 0 &&
      document?.errors.length === 0 &&
      isScalar(document.contents) &&
      typeof document.contents.value === "string"
    );
  });
}

/** Findings about a configuration that the plugin refuses. */
function flawsOf(text: string): [problem: string, remedy: string][] {
  try {
    return objectFlaws(boundedYaml(text), "@PluginConfiguration").map(([path, problem, remedy]) => [
      `${path.slice(1)} ${problem}`.trimStart(),
      remedy,
    ]);
  } catch (error) {
    const [message = ""] = (error as Error).message.split("\n");
    return [[`is not YAML: ${message.replace(/:$/, "")}`, "correct it"]];
  }
}

/**
 * Finding for a driver root that does not work with a CDI strategy: the standalone plugin writes the devices' paths
 * below this root into its CDI specification.
 */
function driverRoot({ spec }: CheckContext): Found {
  const values = spec.devicePlugin?.values;
  const root = valueAt(values, "nvidiaDriverRoot");
  const devices = valueAt(values, "nvidiaDevRoot");
  const cdi = strategiesIn(valueAt(values, "deviceListStrategy")).filter((word) =>
    word.startsWith("cdi-"),
  );
  if (cdi.length === 0 || root === undefined || root === "/" || devices === "/") return [];
  const field = "devicePlugin.values.nvidiaDriverRoot";
  if (typeof root !== "string")
    return {
      field,
      problem: `is ${JSON.stringify(root)}, but deviceListStrategy selects ${cdi.join(", ")}`,
      why: "the plugin exits with `open /driver-root/etc/ld.so.cache: no such file or directory`, and the node offers no GPU",
      remedy: 'write "/", or set deviceListStrategy to envvar, which needs no driver root',
    };
  if (!/^\/usr\/local(\/|$)/.test(root)) return []; // The effect of any other root is unknown.
  return {
    field,
    problem: `is ${root}, but deviceListStrategy selects ${cdi.join(", ")}`,
    why: `the CDI specification would name ${root.replace(/\/$/, "")}/dev/nvidia-uvm, which Talos lacks, so the node offers GPUs, but every pod that gets a GPU fails`,
    remedy: 'write "/", or set deviceListStrategy to envvar, which needs no driver root',
  };
}

/**
 * First release of the device plugin with each strategy, and with several strategies at once. The operator releases
 * that this package supports install newer plugins.
 */
const firstWith: Record<string, string> = {
  "cdi-annotations": "0.14.0",
  "cdi-cri": "0.15.0",
  "several strategies at once": "0.14.0",
};

/**
 * A feature that the values use but the standalone plugin's release lacks, with the first release that has this
 * feature; undefined if there is none.
 */
function unsupportedFeature(
  version: string | undefined,
  strategyNames: string[],
): { feature: string; firstRelease: string } | undefined {
  const release = semver.parse(version);
  const features = [
    ...strategyNames,
    ...(strategyNames.length > 1 ? ["several strategies at once"] : []),
  ];
  return features
    .map((feature) => ({ feature, firstRelease: firstWith[feature] ?? "0.0.0" }))
    .find(({ firstRelease }) => release !== null && semver.lt(release, firstRelease));
}

function strategyFault(
  field: string,
  value: unknown,
  { injection }: Plan,
  pluginVersion?: string,
): Found {
  if (typeof value !== "string") return undefined;
  const strategyNames = value.split(",").map((word) => word.trim());
  const unknownStrategies = strategyNames.filter((word) => !strategies.includes(word));
  const suggestion = didYouMean(unknownStrategies[0] ?? "", strategies);
  if (unknownStrategies.length > 0)
    return {
      field,
      problem: `"${unknownStrategies.join(", ")}" is not a device list strategy`,
      why: 'the device plugin stops with "invalid --device-list-strategy option", and the node offers no GPU',
      remedy: `${suggestion}write one of ${strategies.join(", ")}`,
    };
  const unsupported = unsupportedFeature(pluginVersion, strategyNames);
  if (pluginVersion !== undefined && unsupported !== undefined)
    return {
      field,
      problem: `the device plugin ${pluginVersion} does not support ${unsupported.feature}`,
      why: "the plugin exits at each start, and the node offers no GPU",
      remedy: `use the plugin ${unsupported.firstRelease} or newer, or leave this value out`,
    };
  const cdiStrategies = strategyNames.filter((word) => word.startsWith("cdi-"));
  if (injection === "nri" && cdiStrategies.length === 0)
    return {
      field,
      problem: `the device list strategy ${value} does not work on Talos ≥ 1.15`,
      why: "only NVIDIA's runtime reads the variables and mounts of this strategy, and Talos ≥ 1.15 has no such runtime, so pods do not see their cards",
      remedy: "leave the strategy out: the default is CDI",
    };
  return cdiStrategies.length > 0 && injection === "legacy"
    ? {
        field,
        problem: `the device list strategy ${cdiStrategies.join(", ")} does not work on Talos ≤ 1.12`,
        why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc, so containers get the card without the driver's libraries",
        remedy: "leave the strategy out (the default is envvar), or use Talos ≥ 1.13",
      }
    : undefined;
}
