import { ownVolumes } from "../../facts/data/since.json";
import table from "../../facts/data/talos-rules.json";
import { asText, isMapping, listOf, repeated } from "../../mapping";
import { plainDocuments } from "../../rules/yaml";
import { isBeyondBounds } from "../../rules/yaml-bounds";
import { parseToml } from "../containerd/containerd";
import { isSize } from "./values";
import * as rule from "./value-rules";

const byField = <Settings>(
  settingsByField: Record<string, Settings>,
  ruleOf: (settings: Settings) => rule.Rule,
): Record<string, rule.Rule> =>
  Object.fromEntries(
    Object.entries(settingsByField).map(([field, fieldSettings]) => [field, ruleOf(fieldSettings)]),
  );

/** Rules for the values of fields, by the field's name, e.g. `v1alpha1.Device.addresses[]`. */
const rules: Record<string, rule.Rule> = {
  ...Object.fromEntries(
    Object.entries(table.rules).flatMap(([name, fields]) =>
      fields.map((field) => [field, rule.shared[name as keyof typeof table.rules]]),
    ),
  ),
  ...byField(table.words, (words) => rule.words(...words)),
  ...byField(table.urls, (schemes) => rule.url(...schemes)),
  ...byField<number[]>(table.ranges, ([from, to]) => rule.range(from!, to!)),
  "v1alpha1.Device.vlans[]": rule.mapping(rule.cidrOrAddresses),
  "v1alpha1.ClusterConfig.inlineManifests": (value) => {
    const repeatedName = repeated(
      listOf(value)
        .filter(isMapping)
        .map((item) => item["name"]),
    );
    return repeatedName !== undefined
      ? [`has two manifests named ${asText(repeatedName)}`, "give each manifest its own name"]
      : undefined;
  },
  "v1alpha1.ClusterInlineManifest.name": (value) =>
    value === "" ? ["is empty", "write it"] : undefined,
  "v1alpha1.ClusterInlineManifest.contents": (value) => {
    const { documents, lineCounter } = plainDocuments(typeof value === "string" ? value : "");
    const [error] = documents.flatMap(({ errors }) => errors);
    // A manifest may be longer than the limit of this reader.
    if (error === undefined || isBeyondBounds(error)) return undefined;
    return [
      "is not YAML",
      `correct the YAML (line ${lineCounter.linePos(error.pos[0]).line} of the text)`,
    ];
  },
  "v1alpha1.KernelModuleConfig.name": rule.text(
    (word) => /^[\w-]+$/.test(word),
    "is not a module name",
    "write e.g. nvidia",
  ),
  "v1alpha1.MachineConfig.install": rule.mapping((value) =>
    value["grubUseUKICmdline"] === true && Array.isArray(value["extraKernelArgs"])
      ? ["has both extraKernelArgs and grubUseUKICmdline", "write the arguments under kernelArgs"]
      : undefined,
  ),
  // A comparison operator may come before the size (v1alpha1_types.go, InstallDiskSizeMatcher).
  "v1alpha1.InstallDiskSelector.size": rule.text(
    (value) => isSize(value.replace(/^\s*(>=|<=|>|<|==)?\s*/, "")),
    "is not a disk size",
    "write e.g. `<= 2TB`",
  ),
  "v1alpha1.FeaturesConfig.hostDNS": rule.mapping((value) =>
    value["forwardKubeDNSToHost"] === true && value["enabled"] === false
      ? ["has forwardKubeDNSToHost without enabled", "write enabled: true, or leave both out"]
      : undefined,
  ),
  HostnameConfig: rule.mapping(({ hostname, auto }) =>
    hostname && auto && auto !== "off"
      ? ["has both hostname and auto", "leave one of the two out"]
      : undefined,
  ),
  // A volume that is a folder of the volume EPHEMERAL has no disk and no file system of its own
  // (types/block/user_volume_config.go).
  UserVolumeConfig: rule.mapping((value) => {
    const volumeFields = ["provisioning", "encryption", "filesystem"]
      .filter((key) => isMapping(value[key]))
      .join(", ");
    return value["volumeType"] === "directory" && volumeFields !== ""
      ? [`is a directory, which cannot have ${volumeFields}`, `leave ${volumeFields} out`]
      : undefined;
  }),
  "runtime.EnvironmentV1Alpha1.variables": rule.mapping((value) => {
    const wrongName = Object.keys(value).find((key) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key));
    return wrongName !== undefined
      ? [
          `has a name that is not valid for a variable (${wrongName})`,
          "write letters, digits and _",
        ]
      : undefined;
  }),
  "block.ProvisioningSpec.maxSize": rule.text(
    (value) => /^(100(\.0+)?|\d{1,2}(\.\d+)?)%$/.test(value) || isSize(value.replace(/^-/, "")),
    "is not a size",
    "write e.g. 50GiB or 80%",
  ),
  // The name may have any length, because Talos does not make the label from it (existing_volume_config.go).
  "block.ExistingVolumeConfigV1Alpha1.name": rule.text(
    (name) => /^[A-Za-z0-9-]+$/.test(name),
    "is not a volume name",
    "write letters, digits and hyphens",
  ),
  "block.VolumeConfigV1Alpha1.name": (value, minor) => {
    const knownVolumes = Object.entries(ownVolumes.since).filter(([, since]) => minor >= since);
    return rule.words(...knownVolumes.map(([name]) => name))(value, minor);
  },
  "extensions.ServiceConfigV1Alpha1.environment[]": rule.text(
    (value) => /^[^=\s]+=/.test(value),
    "is not a variable",
    "write NAME=value",
  ),
  // talos v1.14.0-rc.1, types/cri/customization.go.
  "cri.CRICustomizationConfigV1Alpha1.content": (value) => {
    const { error } = parseToml(asText(value));
    return error !== undefined ? [`is not TOML: ${error}`, "correct it"] : undefined;
  },
};

/**
 * Mistake in a field's value on a minor of Talos; undefined if there is none. A field is e.g.
 * `v1alpha1.Device.addresses[]`.
 */
export const valueFinding = (
  field: string,
  minor: number,
  value: unknown,
): rule.ValueFinding | undefined =>
  (Object.hasOwn(rules, field) && rules[field]!(value, minor)) || undefined;
