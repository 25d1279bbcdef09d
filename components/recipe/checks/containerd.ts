import { containerdKeys, containerdOf } from "../facts/containerd-schema";
import * as semver from "semver";
import { firstByCdi, strategiesIn } from "../cluster/plugin-release";
import { envOf } from "../cluster/values";
import { containerdPart, customizationPath, parseToml } from "../machine/containerd/containerd";
import { containerdFindings } from "../machine/containerd/findings";
import { mergesInMemory } from "../machine/containerd/effective";
import { handlerLeftovers } from "../machine/containerd/leftovers";
import { asText, isMapping, valueAt } from "../mapping";
import type { FindingText } from "../rules";
import { valueOfDocument } from "../rules/yaml";
import type { Plan } from "../types";
import { type Checks, findPerMachine, findPerPatch, combine } from "./check";

/** Checks of the machines' containerd configuration. */
export const containerdChecks = {
  "containerd-part": {
    rule: "No patch writes the containerd configuration file that this package writes",
    source:
      'talos, injectCRIConfigPatch: a second item with the same path fails with "resource EtcFileSpecs.files.talos.dev already exists"; from Talos 1.14 on the first item takes effect (talos v1.14.1, types/v1alpha1/v1alpha1_cri_bridge.go)',
    ofFiles: false,
    find: findPerPatch(({ patch, machines }, { spec: { talosVersion } }) => {
      if (!patch.files.some(({ path }) => path === customizationPath)) return [];
      const isOfAll = patch.field.startsWith("patches");
      const field = isOfAll ? "machines.<name>" : machines[0]!.field;
      return {
        problem: `writes ${customizationPath}${isOfAll ? " on every machine" : ""}`,
        why: mergesInMemory(talosVersion)
          ? "this package writes the same file, and Talos ≥ 1.14 silently ignores the second item of machine.files with the same path"
          : "this package writes the same file, and with two items of machine.files for one path, CRI and kubelet do not start: the machine reboots again and again",
        remedy: `remove the file from the patch, and set the options under ${field}.containerd, whose field \`extra\` accepts any TOML`,
      };
    }),
  },
  "containerd-version": {
    rule: "No addition to containerd's configuration sets `version`, because Talos sets it",
    source:
      "talos, internal/pkg/toml/merge.go: a scalar of a later part overwrites that of an earlier one",
    ofFiles: true,
    find: combine(
      findPerMachine(({ spec: { containerd } }) =>
        hasVersion(containerd?.extra ?? "")
          ? { field: ".containerd.extra", ...setsVersion }
          : undefined,
      ),
      findPerPatch(
        ({ patch }) =>
          [
            ...patch.files
              .filter(({ path }) => path === customizationPath)
              .map(({ content }) => content),
            ...patch.documents
              .map(valueOfDocument)
              .filter(isCustomization)
              .map((value) => asText(value["content"])),
          ].some(hasVersion) && setsVersion,
      ),
    ),
  },
  "containerd-toml": {
    rule: "Talos can merge a machine's additions to containerd's configuration, and containerd knows their keys",
    source:
      "talos, injectCRIConfigPatch: a part that cannot be merged fails the boot after a minute; containerd 2, CRI plugin names",
    ofFiles: true,
    find: findPerMachine((machine, { plan, spec: { talosVersion } }) => {
      const containerd = containerdOf(talosVersion);
      const spec = machine.spec.containerd;
      if (!spec) return [];
      const { error, conflicts } = containerdPart(spec, plan.injection);
      const field = ".containerd.extra";
      const table = parseToml(spec.extra ?? "").table ?? {};
      const grpc = valueAt(table, "plugins", "io.containerd.grpc.v1.cri");
      // In containerd 2 only the streaming server still has this name.
      const server = containerdKeys("cri.ServerConfig", containerd.minor);
      const oldPlugin =
        grpc !== undefined &&
        (!isMapping(grpc) || Object.keys(grpc).some((key) => !server.has(key)));
      return [
        error !== undefined
          ? {
              field,
              problem: `is not TOML: ${error}`,
              why: "Talos cannot merge this text: CRI does not start, and the machine does not finish its boot",
              remedy: "correct the TOML",
            }
          : undefined,
        ...conflicts.map((key) => ({
          field,
          problem: `sets ${key}, but another field of \`containerd\` sets a different value`,
          why: "only one of the two values would take effect",
          remedy: "set the key in only one of the two fields",
        })),
        oldPlugin
          ? {
              field,
              problem:
                'sets plugins."io.containerd.grpc.v1.cri", the name that this plugin had in containerd 1',
              why: "containerd 2 (Talos ≥ 1.8) ignores it",
              remedy:
                'write plugins."io.containerd.cri.v1.runtime" (runtimes, CDI) or plugins."io.containerd.cri.v1.images" (images)',
            }
          : undefined,
        ...containerdFindings(table, containerd).map((finding) => ({ field, ...finding })),
      ];
    }),
  },
  "default-runtime": {
    rule: `Only a machine with a GPU has "nvidia" as the default runtime. On Talos 1.13 and 1.14, the machine has this default only with a device plugin older than ${firstByCdi}`,
    source:
      "siderolabs/extensions, 10-nvidia-container-runtime.part; k8s-device-plugin, docs/cdi.md",
    ofFiles: true,
    find: findPerMachine((machine, { plan }) => {
      const spec = machine.spec.containerd;
      const { table } = parseToml(spec?.extra ?? "");
      const statedDefault = valueAt(
        table,
        "plugins",
        "io.containerd.cri.v1.runtime",
        "containerd",
        "default_runtime_name",
      );
      if (!spec?.nvidiaDefaultRuntime && statedDefault !== "nvidia") return [];
      const field = `.containerd.${spec?.nvidiaDefaultRuntime ? "nvidiaDefaultRuntime" : "extra"}`;
      if (machine.gpuCount === 0)
        return {
          field,
          problem: "makes nvidia the default runtime of a machine without a GPU",
          why: "the machine lacks NVIDIA's toolkit, which contains this runtime, so no pod of the machine starts",
          remedy: "leave it out, or name the machine's cards under `gpus`",
          ofFiles: { remedy: "leave it out" },
        };
      if (plan.injection !== "cdi" || needsRuntime(plan)) return [];
      return {
        field,
        problem: "makes nvidia the default runtime on Talos ≥ 1.13",
        why: "as the default runtime, NVIDIA's runtime also gives cards to pods that request none",
        remedy: withoutDefaultRuntime(plan),
      };
    }),
  },
  "nvidia-handler": {
    rule: "On Talos ≥ 1.15 no configuration of containerd disables NRI, or uses NVIDIA's runtime, which Talos no longer contains",
    source: "machine/containerd/leftovers.ts",
    ofFiles: true,
    find: combine(
      findPerMachine(
        ({ recipe }, { plan }) =>
          plan.injection === "nri" &&
          handlerLeftovers(recipe.containerdPart ?? "").map((finding) => ({
            field: ".containerd",
            ...finding,
          })),
      ),
      findPerPatch(
        ({ patch }, { plan }) =>
          plan.injection === "nri" &&
          patch.kinds.includes("CRICustomizationConfig") &&
          handlerLeftovers(patch.text),
      ),
    ),
  },
} satisfies Checks;

const isCustomization = (value: unknown): value is Record<string, unknown> =>
  isMapping(value) && value["kind"] === "CRICustomizationConfig";

const setsVersion: FindingText = {
  problem: "sets `version` in containerd's configuration",
  why: "this value overwrites the version that Talos sets, so containerd misreads every key",
  remedy:
    "leave the line out: Talos ≥ 1.8 writes version 3, with keys under io.containerd.cri.v1.runtime",
};

const hasVersion = (toml: string): boolean => parseToml(toml).table?.["version"] !== undefined;

/**
 * Whether the stack's standalone plugin is older than `firstByCdi`, so that its pods need NVIDIA's runtime. By default
 * such a plugin names the cards in an environment variable. NVIDIA's runtime reads this variable, also on Talos 1.13
 * (k8s-device-plugin v0.17.0, api/config/v1/consts.go: `envvar` is the default).
 */
function needsRuntime({ kubernetes: { mode, release } }: Plan): boolean {
  const version = semver.parse(release.version);
  return mode === "devicePlugin" && version !== null && semver.lt(version, firstByCdi);
}

/** Remedy for a stack that makes nvidia the default runtime: how pods get cards without this default. */
function withoutDefaultRuntime(plan: Plan): string {
  const { mode } = plan.kubernetes;
  if (mode === "dra" || usesCdi(plan))
    return "leave it out: pods that request a GPU get a card by CDI, without runtimeClassName";
  if (mode === "devicePlugin")
    return "leave it out, and either set `runtimeClassName: nvidia` in each GPU pod, or enable CDI (plugin ≥ 0.17.4, deviceListStrategy: cdi-cri, nvidiaDriverRoot: /)";
  return "leave it out, and either set `runtimeClassName: nvidia` in each GPU pod, or enable CDI (remove cdi.enabled and DEVICE_LIST_STRATEGY from the operator's values)";
}

/** Whether pods get their cards without NVIDIA's runtime. On Talos ≥ 1.13 the operator uses CDI by default. */
function usesCdi({ kubernetes: { mode, release } }: Plan): boolean {
  const { values } = release;
  const strategy =
    mode === "devicePlugin"
      ? values["deviceListStrategy"]
      : valueAt(values, "cdi", "enabled") === false
        ? "envvar"
        : (envOf(valueAt(values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY") ?? "cdi-cri");
  return strategiesIn(strategy).some((strategyName) => strategyName.startsWith("cdi-"));
}
