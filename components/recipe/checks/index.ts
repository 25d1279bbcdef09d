import { cardChecks } from "./cards";
import { chartObjectChecks } from "./chart-objects";
import { chartChecks } from "./charts";
import type { Checks } from "./check";
import { claimChecks } from "./claims";
import { containerdChecks } from "./containerd";
import { driverChecks } from "./drivers";
import { externalChecks } from "./external";
import { imageChecks } from "./images";
import { machineChecks } from "./machines";
import { nodeChecks } from "./nodes";
import { patchContentChecks } from "./patch-contents";
import { patchChecks } from "./patches";
import { pluginChecks } from "./plugin";
import { releaseChecks } from "./releases";
import { sharingChecks } from "./sharing";
import { valueChecks } from "./values";
import { vllmChecks } from "./vllm";
import { workloadChecks } from "./workloads";

/** Every check, in the order in which findings are told: machines and images, configuration, Kubernetes, workloads. */
export const checks: Checks = {
  ...releaseChecks,
  ...machineChecks,
  ...cardChecks,
  ...driverChecks,
  ...imageChecks,
  ...patchChecks,
  ...patchContentChecks,
  ...containerdChecks,
  ...nodeChecks,
  ...externalChecks,
  ...chartChecks,
  ...chartObjectChecks,
  ...valueChecks,
  ...pluginChecks,
  ...sharingChecks,
  ...claimChecks,
  ...workloadChecks,
  ...vllmChecks,
};
