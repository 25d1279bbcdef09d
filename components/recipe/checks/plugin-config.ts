import { parse } from "yaml";
import { isMapping, valueAt } from "../mapping";
import { asText } from "../machine/user-patches";
import type { Check, Found } from "./check";
import { shapeFlaws } from "./object-shapes";
import { pluginConfigPlaces } from "../machine/own-sharing";
import { pluginConfiguration } from "./plugin-shape";

/** The device plugin's own configuration is one that it reads. */
export const pluginConfig: Check = {
  id: "plugin-config",
  source:
    "k8s-device-plugin v0.19.3, api/config/v1/config.go (parseConfigFrom), replicas.go (UnmarshalJSON), cmd/config-manager; deployments/helm/nvidia-device-plugin/templates/validation.yml",
  find: ({ spec }) =>
    pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
      const config = valueAt(spec[field]?.values, ...section);
      const path = `${field}.values.${section.join(".")}`;
      const all = valueAt(config, texts);
      if (!isMapping(all)) return misread(path, config);
      const chosen = asText(valueAt(config, "default"));
      const sharing = spec.sharing?.timeSlicing;
      const names = [...Object.keys(all), ...(sharing === undefined ? [] : ["default"])];
      return [
        ...Object.entries(all).flatMap(([name, text]) => {
          const flaw = flawOf(text);
          if (flaw === undefined) return [];
          const why = "the device plugin ends with it, or drops it in silence";
          return {
            field: `${path}.${texts}.${name}`,
            problem: flaw,
            why,
            remedy: "see the plugin's README, Configuration Option Details",
          };
        }),
        misread(path, config),
        chosen !== "" &&
          !names.includes(chosen) && {
            field: `${path}.default`,
            problem: `names "${chosen}", which is not a configuration (there are: ${names.join(", ")})`,
            why: "the plugin waits for it, and the node offers no GPU",
            remedy: `name one of ${path}.${texts}`,
          },
        texts === "map" &&
          asText(valueAt(config, "name")) !== "" &&
          Object.keys(all).length > 0 && {
            field: `${path}.name`,
            problem: "stands beside map",
            why: "the chart accepts `name` or `map`, and fails if both are set",
            remedy: "leave one out",
          },
      ];
    }),
};

/** Names that the templates print without quotes (`value: {{ .Values.config.default }}`), so that YAML reads something else than a text. */
function misread(path: string, config: unknown): Found {
  return ["default", "name"].flatMap((key) => {
    const name = valueAt(config, key);
    if (name === undefined || name === null || name === "" || isText(asText(name))) return [];
    return {
      field: `${path}.${key}`,
      problem: `is ${JSON.stringify(name)}, which YAML does not read as a text`,
      why: "the chart prints it without quotes, and Kubernetes refuses the object",
      remedy: "give the configuration a name that begins with a letter, e.g. `any`",
    };
  });
}

/** Whether these characters are a text: Helm's YAML is 1.1, with the numbers of 1.2. */
function isText(characters: string): boolean {
  try {
    return (["1.1", "1.2"] as const).every((version) => typeof parse(characters, { version }) === "string");
  } catch {
    return false;
  }
}

const listStrategies = ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/** Why the plugin does not take a configuration; undefined when it may. */
function flawOf(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined; // the chart's own shape is for its values' check
  let config: unknown;
  try {
    config = parse(text);
  } catch (error) {
    return `is not YAML: ${((error as Error).message.split("\n")[0] ?? "").replace(/:$/, "")}`;
  }
  if (config === null || config === undefined) return undefined;
  if (!isMapping(config)) return "is not a mapping";
  const version = config["version"];
  if (version !== undefined && version !== "" && version !== "v1")
    return `has the version ${asText(version)}, and the plugin knows v1`;
  const strategy = valueAt(config, "flags", "migStrategy");
  if (strategy !== undefined && !["none", "single", "mixed"].includes(strategy as string))
    return "has a migStrategy other than none, single or mixed";
  const strategies = [valueAt(config, "flags", "plugin", "deviceListStrategy")].flat();
  if (strategies.some((one) => one !== undefined && one !== null && !listStrategies.includes(one as string)))
    return `has a deviceListStrategy that is not one of ${listStrategies.join(", ")}`;
  const [odd] = shapeFlaws(pluginConfiguration, config);
  if (odd !== undefined) return `has ${odd[0].slice(1)}, and that ${odd[1]}: ${odd[2]}`;
  return sharingFlaw(config, "timeSlicing") ?? sharingFlaw(config, "mps");
}

function sharingFlaw(config: Record<string, unknown>, kind: string): string | undefined {
  const section = valueAt(config, "sharing", kind);
  if (!isMapping(section)) return undefined;
  const resources = section["resources"];
  if (!Array.isArray(resources) || resources.length === 0) return `has sharing.${kind} without resources`;
  const odd = resources.find(
    (resource) => !isMapping(resource) || typeof resource["name"] !== "string" || !(Number(resource["replicas"]) >= 2),
  ) as unknown;
  return odd === undefined
    ? undefined
    : `has a resource in sharing.${kind} without a name, or with fewer than 2 replicas`;
}
