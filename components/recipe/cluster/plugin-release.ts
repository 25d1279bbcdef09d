import * as semver from "semver";
import type { DevicePluginSpec } from "../spec/index";
import type { Era, ReleaseRecipe } from "../types";
import { discoveryTolerations, pluginDiscovers } from "./discovery";
import { type ChartInput, type Ground, releaseOfGpuProvider } from "./values";
import { isMapping, valueAt } from "../mapping";

/** Device list strategies of the plugin (k8s-device-plugin, api/config/v1/consts.go). */
export const strategies = ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/** Device list strategies in a value of the chart, which takes them as one text; a list is understood too. */
export function strategiesIn(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list
    .filter((item) => typeof item === "string")
    .flatMap((item) => item.split(",").map((word) => word.trim()));
}

/** The standalone device plugin's release. */
export function pluginRelease(plugin: DevicePluginSpec, ground: Ground): ReleaseRecipe {
  const { spec, era, tolerations, nodeSelector, config } = ground;
  const ours = {
    ...(era === "nri" ? {} : { runtimeClassName: "nvidia" }),
    nodeSelector,
    // The chart's own entry is repeated, because a list replaces the chart's.
    tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }, ...tolerations],
    ...(pluginDiscovers(plugin) ? { nfd: discoveryTolerations(tolerations) } : {}),
    ...devices(plugin, era),
    ...(config === undefined ? {} : { config: { map: { default: config }, default: "default" } }),
    // Said always: unset, and with a ConfigMap, the chart sets NVIDIA_MIG_MONITOR_DEVICES=all, which the toolkit
    // refuses to a container without SYS_ADMIN (k8s-device-plugin v0.17.4, _helpers.tpl,
    // allPossibleMigStrategiesAreNone; gpu-operator#322). A configuration of the user's that says it is not talked
    // over: the chart's value would win.
    ...(saysMigStrategy(plugin) ? {} : { migStrategy: spec.sharing?.mig?.strategy ?? "none" }),
  };
  return releaseOfGpuProvider("devicePlugin", plugin, ours);
}

/** Whether one of the user's own configurations of the plugin says the strategy. */
function saysMigStrategy(plugin: DevicePluginSpec): boolean {
  const map = valueAt(plugin.values, "config", "map");
  return (
    isMapping(map) &&
    Object.values(map).some((text) => typeof text === "string" && /\bmigStrategy\b/.test(text))
  );
}

/** First plugin of our tables; by such ones `cdi-cri` is the default. The strategy itself came with 0.15.0. */
export const firstByCdi = "0.17.4";

/**
 * How the plugin hands out devices. By default CDI from Talos 1.13 on, which gives a card to a pod of any runtime: an
 * external chart then needs no runtimeClassName (k8s-device-plugin v0.19.3, internal/plugin/server.go;
 * lab/docs/hardware.md). On Talos ≤ 1.12 no CDI specification could name the libraries, and the toolkit's runtime
 * reads the variable.
 *
 * Without a driver root mounted, a CDI strategy ends at /driver-root (cmd/nvidia-device-plugin/plugin-manager.go).
 * Talos ≥ 1.13 has the driver's libraries and programs where the host's root leads to them, and its device nodes
 * there alone. Who names another root keeps the strategy that reads none. Without a runtime of NVIDIA's, from Talos
 * 1.15 on, the plugin itself finds NVML only below the driver root, in folders such as lib64
 * (cmd/nvidia-device-plugin/root.go). NVML finds the cards' devices only in a pod with all of the host's
 * (lab/node/gpu/cases/nri.ts: else "Driver Not Loaded").
 */
function devices({ version, values }: DevicePluginSpec, era: Era): ChartInput {
  const securityContext = { privileged: true };
  if (era === "nri")
    return {
      deviceListStrategy: "cdi-cri",
      nvidiaDriverRoot: "/usr/local",
      nvidiaDevRoot: "/",
      securityContext,
    };
  const root = values?.["nvidiaDriverRoot"] ?? "/";
  const byCdi =
    era === "cdi" && root === "/" && semver.gte(semver.coerce(version) ?? "0.0.0", firstByCdi);
  const strategy = byCdi ? "cdi-cri" : "envvar";
  const said = values !== undefined && Object.hasOwn(values, "deviceListStrategy");
  const asksForCdi = strategiesIn(said ? values["deviceListStrategy"] : strategy).some((word) =>
    word.startsWith("cdi-"),
  );
  return {
    deviceListStrategy: strategy,
    ...(era === "cdi" && asksForCdi ? { nvidiaDriverRoot: "/" } : {}),
  };
}
