import { cardChecks } from "./cards";
import { chartObjects } from "./chart-objects";
import { chartChecks } from "./charts";
import type { Check } from "./check";
import { containerdChecks } from "./containerd";
import { driverChecks } from "./drivers";
import { external } from "./external";
import { imageChecks } from "./images";
import { machineChecks } from "./machines";
import { nodeChecks } from "./nodes";
import { patchContentChecks } from "./patch-contents";
import { patchChecks } from "./patches";
import { pluginChecks } from "./plugin";
import { releaseChecks } from "./releases";
import { sharingChecks } from "./sharing";
import { valueChecks } from "./values";
import { vllm } from "./vllm";
import { workloadChecks } from "./workloads";

/** Every check, in the order in which findings are told: machines and images, configuration, Kubernetes, workloads. */
export const checks: Check[] = [
  ...releaseChecks,
  ...machineChecks,
  ...cardChecks,
  ...driverChecks,
  ...imageChecks,
  ...patchChecks,
  ...patchContentChecks,
  ...containerdChecks,
  ...nodeChecks,
  external,
  ...chartChecks,
  chartObjects,
  ...valueChecks,
  ...pluginChecks,
  ...sharingChecks,
  ...workloadChecks,
  vllm,
];
