import * as semver from "semver";
import type { DevicePluginSpec } from "../spec/index";
import type { Injection, ReleaseRecipe } from "../types";
import { discoveryValues, pluginDiscovers } from "./discovery";
import { type ChartInput, type Ground, releaseOfGpuProvider } from "./values";
import { defined, isMapping, valueAt } from "../mapping";

/** Device list strategies of the plugin (k8s-device-plugin, api/config/v1/consts.go). */
export const strategies = ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/** Device list strategies in a chart value: a text with commas, as the chart expects, or a list. */
export function strategiesIn(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list
    .filter((item) => typeof item === "string")
    .flatMap((item) => item.split(",").map((word) => word.trim()));
}

/** The standalone device plugin's release. */
export function pluginRelease(plugin: DevicePluginSpec, ground: Ground): ReleaseRecipe {
  const { spec, injection, tolerations, nodeSelector, config, updateStrategy } = ground;
  const packageValues = {
    ...(injection === "nri" ? {} : { runtimeClassName: "nvidia" }),
    nodeSelector,
    // The chart's own entry is repeated, because a list replaces the chart's.
    tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }, ...tolerations],
    ...(pluginDiscovers(plugin) ? { nfd: discoveryValues(ground) } : {}),
    ...defined({ updateStrategy }),
    ...devices(plugin, injection),
    ...(config === undefined ? {} : { config: { map: { default: config }, default: "default" } }),
    // Always set: without it, and with a ConfigMap, the chart sets NVIDIA_MIG_MONITOR_DEVICES=all, which the toolkit
    // refuses for a container without SYS_ADMIN (k8s-device-plugin v0.17.4, _helpers.tpl,
    // allPossibleMigStrategiesAreNone; gpu-operator#322). A user's configuration with a strategy keeps it: the chart's
    // value would override it.
    ...(statesMigStrategy(plugin) ? {} : { migStrategy: spec.sharing?.mig?.strategy ?? "none" }),
  };
  return releaseOfGpuProvider("devicePlugin", plugin, packageValues);
}

/** Whether one of the plugin's configurations in the user's chart values sets the MIG strategy. */
function statesMigStrategy(plugin: DevicePluginSpec): boolean {
  const map = valueAt(plugin.values, "config", "map");
  return (
    isMapping(map) &&
    Object.values(map).some((text) => typeof text === "string" && /\bmigStrategy\b/.test(text))
  );
}

/**
 * First release of the plugin for which the package chooses the strategy `cdi-cri`. This is the first release in the
 * package's tables; the plugin itself has the strategy from 0.15.0 on.
 */
export const firstByCdi = "0.17.4";

/**
 * Chart values that decide how the plugin gives devices to pods. From Talos 1.13 on the default is CDI, which works
 * with any container runtime, so pods of other charts need no runtimeClassName (k8s-device-plugin v0.19.3,
 * internal/plugin/server.go; lab/docs/hardware.md). On Talos ≤ 1.12 a CDI specification could not name NVIDIA's
 * libraries. On these releases the plugin sets `NVIDIA_VISIBLE_DEVICES` (`envvar`), which the toolkit's runtime reads.
 *
 * With a CDI strategy, the plugin exits if no driver root is mounted at /driver-root
 * (cmd/nvidia-device-plugin/plugin-manager.go). On Talos ≥ 1.13 the driver's libraries, programs and device nodes are
 * all below the host's root. If the user sets another root, the strategy stays `envvar`, which reads no root. From
 * Talos 1.15 on, without NVIDIA's runtime, the plugin itself finds NVML only below the driver root, in folders such as
 * lib64 (cmd/nvidia-device-plugin/root.go). NVML finds the cards only if the plugin's pod is privileged and so has all
 * devices of the host (lab/node/gpu/cases/nri.ts: otherwise "Driver Not Loaded").
 */
function devices({ version, values }: DevicePluginSpec, injection: Injection): ChartInput {
  const securityContext = { privileged: true };
  if (injection === "nri")
    return {
      deviceListStrategy: "cdi-cri",
      nvidiaDriverRoot: "/usr/local",
      nvidiaDevRoot: "/",
      securityContext,
    };
  const root = values?.["nvidiaDriverRoot"] ?? "/";
  const usesCdi =
    injection === "cdi" &&
    root === "/" &&
    semver.gte(semver.coerce(version) ?? "0.0.0", firstByCdi);
  const strategy = usesCdi ? "cdi-cri" : "envvar";
  const statesStrategy = values !== undefined && Object.hasOwn(values, "deviceListStrategy");
  const asksForCdi = strategiesIn(statesStrategy ? values["deviceListStrategy"] : strategy).some(
    (word) => word.startsWith("cdi-"),
  );
  return {
    deviceListStrategy: strategy,
    ...(injection === "cdi" && asksForCdi ? { nvidiaDriverRoot: "/" } : {}),
  };
}
