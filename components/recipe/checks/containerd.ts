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
import { type Checks, ofMachines, ofPatches, together } from "./check";

/** The containerd of machines. */
export const containerdChecks = {
  "containerd-part": {
    rule: "No patch writes the file with containerd's configuration, which this package writes",
    source:
      'talos, injectCRIConfigPatch: a second item of the path fails with "resource EtcFileSpecs.files.talos.dev already exists"; from Talos 1.14 on the first item counts (talos v1.14.1, types/v1alpha1/v1alpha1_cri_bridge.go)',
    ofFiles: false,
    find: ofPatches(({ patch, machines }, { spec: { talosVersion } }) => {
      if (!patch.files.some(({ path }) => path === customizationPath)) return [];
      const isOfAll = patch.field.startsWith("patches");
      const field = isOfAll ? "machines.<name>" : machines[0]!.field;
      const how = isOfAll ? "on every machine" : "by hand";
      return {
        problem: `writes ${customizationPath} ${how}`,
        why: mergesInMemory(talosVersion)
          ? "the fields of containerd make a second such item; Talos ≥ 1.14 takes the first and silently ignores the other"
          : "the fields of containerd make a second such item; then CRI and kubelet do not start, and the machine reboots every 35 minutes",
        remedy: `set it under ${field}.containerd (extra takes any TOML)`,
      };
    }),
  },
  "containerd-version": {
    rule: "No addition to containerd's configuration sets its version, which Talos sets",
    source: "talos, internal/pkg/toml/merge.go: a scalar of a later part overwrites",
    ofFiles: true,
    find: together(
      ofMachines(
        ({ spec: { containerd } }) =>
          hasVersion(containerd?.extra ?? "") && { field: ".containerd.extra", ...setsVersion },
      ),
      ofPatches(
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
    find: ofMachines((machine, { plan, spec: { talosVersion } }) => {
      const containerd = containerdOf(talosVersion);
      const spec = machine.spec.containerd;
      if (!spec) return [];
      const { error, clashes } = containerdPart(spec, plan.era);
      const field = ".containerd.extra";
      const table = parseToml(spec.extra ?? "").table ?? {};
      const grpc = valueAt(table, "plugins", "io.containerd.grpc.v1.cri");
      // The name stayed for the streaming server alone.
      const server = containerdKeys("cri.ServerConfig", containerd.minor);
      const oldPlugin =
        grpc !== undefined &&
        (!isMapping(grpc) || Object.keys(grpc).some((key) => !server.has(key)));
      return [
        error !== undefined && {
          field,
          problem: `is not TOML: ${error}`,
          why: "Talos cannot merge it: CRI does not start and the machine does not finish its boot",
          remedy: "correct it",
        },
        ...clashes.map((key) => ({
          field,
          problem: `sets ${key} to something else than the other options`,
          why: "one of the two would be lost silently",
          remedy: "set it once, by the option or in extra",
        })),
        oldPlugin && {
          field,
          problem: 'sets plugins."io.containerd.grpc.v1.cri", which is the name of containerd 1',
          why: "containerd 2 (Talos ≥ 1.8) ignores it",
          remedy:
            'write plugins."io.containerd.cri.v1.runtime" (runtimes, CDI) or plugins."io.containerd.cri.v1.images" (images)',
        },
        ...containerdFindings(table, containerd).map((flaw) => ({ field, ...flaw })),
      ];
    }),
  },
  "default-runtime": {
    rule: "`nvidia` is the default runtime only on machines with a GPU, and before Talos 1.13",
    source:
      "siderolabs/extensions, 10-nvidia-container-runtime.part; k8s-device-plugin, docs/cdi.md",
    ofFiles: true,
    find: ofMachines((machine, { plan }) => {
      const spec = machine.spec.containerd;
      const { table } = parseToml(spec?.extra ?? "");
      const named = valueAt(
        table,
        "plugins",
        "io.containerd.cri.v1.runtime",
        "containerd",
        "default_runtime_name",
      );
      if (!spec?.nvidiaDefaultRuntime && named !== "nvidia") return [];
      const field = `.containerd.${spec?.nvidiaDefaultRuntime ? "nvidiaDefaultRuntime" : "extra"}`;
      if (machine.gpuCount === 0)
        return {
          field,
          problem: "makes nvidia the default runtime of a machine without a GPU",
          why: "the handler comes with NVIDIA's toolkit: without it no pod of the machine starts",
          remedy: "leave it out, or name the machine's cards under gpus",
        };
      if (plan.era !== "cdi" || needsRuntime(plan)) return [];
      return {
        field,
        problem: "makes nvidia the default runtime on Talos ≥ 1.13",
        why: "devices come by CDI annotations there, and that runtime also gives cards to pods that request none",
        remedy: withoutDefaultRuntime(plan),
      };
    }),
  },
  "nvidia-handler": {
    rule: "From Talos 1.15 on no configuration names NVIDIA's runtime, which the image lacks, or turns NRI off",
    source: "machine/containerd/leftovers.ts",
    ofFiles: true,
    find: together(
      ofMachines(
        ({ recipe }, { plan }) =>
          plan.era === "nri" &&
          handlerLeftovers(recipe.containerdPart ?? "").map((fault) => ({
            field: ".containerd",
            ...fault,
          })),
      ),
      ofPatches(
        ({ patch }, { plan }) =>
          plan.era === "nri" &&
          patch.kinds.includes("CRICustomizationConfig") &&
          handlerLeftovers(patch.text),
      ),
    ),
  },
} satisfies Checks;

const isCustomization = (value: unknown): value is Record<string, unknown> =>
  isMapping(value) && value["kind"] === "CRICustomizationConfig";

const setsVersion: FindingText = {
  problem: "sets `version` in a containerd part",
  why: "it overwrites the version of Talos' own configuration, and containerd then reads every key by other rules",
  remedy:
    "leave the line out: Talos ≥ 1.8 writes version 3, with keys under io.containerd.cri.v1.runtime",
};

const hasVersion = (toml: string): boolean => parseToml(toml).table?.["version"] !== undefined;

/**
 * Whether a standalone plugin is too old to hand cards out by CDI as this package has seen it: it names them in a
 * variable, which NVIDIA's runtime reads on Talos 1.13 as before (k8s-device-plugin v0.17.0, api/config/v1/consts.go:
 * `envvar` is the default).
 */
function needsRuntime({ kubernetes: { mode, release } }: Plan): boolean {
  const version = semver.parse(release.version);
  return mode === "devicePlugin" && version !== null && semver.lt(version, firstByCdi);
}

/** How pods get their cards when nvidia is not the default runtime. */
function withoutDefaultRuntime(plan: Plan): string {
  const { mode } = plan.kubernetes;
  if (mode === "dra" || byCdi(plan))
    return "leave it out: pods that ask for a GPU get it by CDI, without runtimeClassName";
  if (mode === "devicePlugin")
    return "leave it out, and give each GPU pod `runtimeClassName: nvidia`, or hand cards out by CDI: plugin ≥ 0.17.4 with the values deviceListStrategy: cdi-cri and nvidiaDriverRoot: /";
  return "leave it out, and give each GPU pod `runtimeClassName: nvidia`, or hand cards out by CDI: leave cdi.enabled and DEVICE_LIST_STRATEGY out of the operator's values";
}

/** Whether a pod gets its card without NVIDIA's runtime: on Talos ≥ 1.13 the operator hands out by CDI by default. */
function byCdi({ kubernetes: { mode, release } }: Plan): boolean {
  const { values } = release;
  const said =
    mode === "devicePlugin"
      ? values["deviceListStrategy"]
      : valueAt(values, "cdi", "enabled") === false
        ? "envvar"
        : (envOf(valueAt(values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY") ?? "cdi-cri");
  return strategiesIn(said).some((word) => word.startsWith("cdi-"));
}
