import { containerdKeys, containerdOf } from "../facts/containerd-schema";
import * as semver from "semver";
import { firstByCdi, strategiesIn } from "../kubernetes/plugin-release";
import { envOf } from "../kubernetes/values";
import { containerdPart, customizationPath, parseToml } from "../machine/containerd/containerd";
import { containerdFlaws } from "../machine/containerd/flaws";
import { mergesInMemory } from "../machine/containerd/effective";
import { handlerLeftovers } from "../machine/containerd/leftovers";
import { asText, isMapping, valueAt } from "../mapping";
import { valueOfDocument } from "../rules/yaml";
import type { Plan } from "../types";
import { type Checks, complaint, fault, ofMachines, ofPatches, together } from "./check";

/** The containerd of machines. */
export const containerdChecks: Checks = {
  "containerd-part": ofPatches(({ patch, machines }, { spec: { talosVersion } }) => {
    if (!patch.files.some(({ path }) => path === customizationPath)) return [];
    const isOfAll = patch.field.startsWith("patches");
    const field = isOfAll ? "machines.<name>" : machines[0]!.field;
    const how = isOfAll ? "on every machine" : "by hand";
    const saying = mergesInMemory(talosVersion) ? "containerd-part/first" : "containerd-part/boot";
    return fault(saying, { customizationPath, how, field });
  }),
  "containerd-version": together(
    ofMachines(
      ({ spec: { containerd } }) =>
        hasVersion(containerd?.extra ?? "") && complaint(".containerd.extra", "containerd-version"),
    ),
    ofPatches(
      ({ patch }) =>
        [
          ...patch.files.filter(({ path }) => path === customizationPath).map(({ content }) => content),
          ...patch.documents
            .map(valueOfDocument)
            .filter(isCustomization)
            .map((value) => asText(value["content"])),
        ].some(hasVersion) && fault("containerd-version"),
    ),
  ),
  "containerd-toml": ofMachines((machine, { plan, spec: { talosVersion } }) => {
    const containerd = containerdOf(talosVersion);
    const spec = machine.spec.containerd;
    if (!spec) return [];
    const { error, clashes } = containerdPart(spec, plan.era);
    const field = ".containerd.extra";
    const table = parseToml(spec.extra ?? "").table ?? {};
    const grpc = valueAt(table, "plugins", "io.containerd.grpc.v1.cri");
    // The name stayed for the streaming server alone.
    const server = containerdKeys("cri.ServerConfig", containerd.minor);
    const oldPlugin = grpc !== undefined && (!isMapping(grpc) || Object.keys(grpc).some((key) => !server.has(key)));
    return [
      error !== undefined && complaint(field, "containerd-toml/not-toml", { error }),
      ...clashes.map((key) => complaint(field, "containerd-toml/twice", { key })),
      oldPlugin && complaint(field, "containerd-toml/containerd-1"),
      ...containerdFlaws(table, containerd).map((flaw) => ({ field, ...flaw })),
    ];
  }),
  "default-runtime": ofMachines((machine, { plan }) => {
    const spec = machine.spec.containerd;
    const { table } = parseToml(spec?.extra ?? "");
    const named = valueAt(table, "plugins", "io.containerd.cri.v1.runtime", "containerd", "default_runtime_name");
    if (!spec?.nvidiaDefaultRuntime && named !== "nvidia") return [];
    const field = `.containerd.${spec?.nvidiaDefaultRuntime ? "nvidiaDefaultRuntime" : "extra"}`;
    if (machine.gpuCount === 0) return complaint(field, "default-runtime/no-gpu");
    if (plan.era !== "cdi" || needsRuntime(plan)) return [];
    const { mode } = plan.kubernetes;
    return complaint(field, `default-runtime/${mode === "dra" || byCdi(plan) ? "cdi" : mode}`);
  }),
  "nvidia-handler": together(
    ofMachines(
      ({ recipe }, { plan }) =>
        plan.era === "nri" &&
        handlerLeftovers(recipe.containerdPart ?? "").map((fault) => ({ field: ".containerd", ...fault })),
    ),
    ofPatches(
      ({ patch }, { plan }) =>
        plan.era === "nri" && patch.kinds.includes("CRICustomizationConfig") && handlerLeftovers(patch.text),
    ),
  ),
};

const isCustomization = (value: unknown): value is Record<string, unknown> =>
  isMapping(value) && value["kind"] === "CRICustomizationConfig";

const hasVersion = (toml: string): boolean => parseToml(toml).table?.["version"] !== undefined;

/**
 * Whether a standalone plugin is too old to hand cards out by CDI as this package has seen it: it names them in a variable, which NVIDIA's
 * runtime reads on Talos 1.13 as before (k8s-device-plugin v0.17.0, api/config/v1/consts.go: `envvar` is the default).
 */
function needsRuntime({ kubernetes: { mode, release } }: Plan): boolean {
  const version = semver.parse(release.version);
  return mode === "devicePlugin" && version !== null && semver.lt(version, firstByCdi);
}

/** Whether a pod gets its card without NVIDIA's runtime: the operator of Talos ≥ 1.13 hands out by CDI unless it is told otherwise. */
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
