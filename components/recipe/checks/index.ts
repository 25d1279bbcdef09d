import { cardRisks } from "./card-risks";
import { cardChecks } from "./cards";
import { chartObjectChecks } from "./chart-objects";
import { chartChecks } from "./charts";
import type { Checks } from "./check";
import { claimChecks } from "./claims";
import { containerdChecks } from "./containerd";
import { contractChecks } from "./contracts";
import { driverChecks } from "./drivers";
import { externalChecks } from "./external";
import { externalRisks } from "./external-risks";
import { imageChecks } from "./images";
import { kubernetesSettingsChecks } from "./kubernetes-settings";
import { machineRisks } from "./machine-risks";
import { machineChecks } from "./machines";
import { migChecks } from "./mig";
import { nodeChecks } from "./nodes";
import { patchContentChecks } from "./patch-contents";
import { patchChecks } from "./patches";
import { plainHttpChecks } from "./plain-http";
import { pluginChecks } from "./plugin";
import { releaseRisks } from "./release-risks";
import { releaseChecks } from "./releases";
import { serverChecks } from "./servers";
import { sharingChecks } from "./sharing";
import { updateChecks } from "./updates";
import { valueChecks } from "./values";
import { vllmChecks } from "./vllm";
import { workloadChecks } from "./workloads";

/**
 * All checks, in the order of their findings: first those that refuse a stack (machines and images, configuration,
 * Kubernetes, workloads), then those with warnings and notes.
 */
const table = {
  ...releaseChecks,
  ...machineChecks,
  ...cardChecks,
  ...driverChecks,
  ...imageChecks,
  ...patchChecks,
  ...patchContentChecks,
  ...containerdChecks,
  ...kubernetesSettingsChecks,
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
  ...updateChecks,
  ...contractChecks,
  ...machineRisks,
  ...cardRisks,
  ...migChecks,
  ...releaseRisks,
  ...externalRisks,
  ...serverChecks,
  ...plainHttpChecks,
};

/** Name of a check, e.g. `driver-branches`. */
export type CheckId = keyof typeof table;

/** All checks by name. For a text that names no check, the value is undefined. */
export const checks: Checks = table;
