import { cardsMistakes } from "./cards";
import { chartObjectsMistakes } from "./chart-objects";
import { chartsMistakes } from "./charts";
import { claimsMistakes } from "./claims";
import { containerdMistakes } from "./containerd";
import { driversMistakes } from "./drivers";
import { externalMistakes } from "./external";
import { imagesMistakes } from "./images";
import { kubernetesSettingsMistakes } from "./kubernetes-settings";
import { machinesMistakes } from "./machines";
import { nodesMistakes } from "./nodes";
import { patchContentsMistakes } from "./patch-contents";
import { patchesMistakes } from "./patches";
import { pluginMistakes } from "./plugin";
import { releasesMistakes } from "./releases";
import { shapeMistakes } from "./shape";
import { sharingMistakes } from "./sharing";
import { valuesMistakes } from "./values";
import { vllmMistakes } from "./vllm";
import { workloadsMistakes } from "./workloads";
import { updatesMistakes } from "./updates";
import { contractsMistakes } from "./contracts";
import { machineRisksMistakes } from "./machine-risks";
import { cardRisksMistakes } from "./card-risks";
import { migMistakes } from "./mig";
import { releaseRisksMistakes } from "./release-risks";
import { externalRisksMistakes } from "./external-risks";
import { serversMistakes } from "./servers";
import { plainHttpMistakes } from "./plain-http";
import type { Mistake, Mistakes } from "./mistake";

const areas: Mistakes[] = [
  shapeMistakes,
  releasesMistakes,
  machinesMistakes,
  cardsMistakes,
  driversMistakes,
  imagesMistakes,
  patchesMistakes,
  patchContentsMistakes,
  containerdMistakes,
  kubernetesSettingsMistakes,
  nodesMistakes,
  externalMistakes,
  chartsMistakes,
  chartObjectsMistakes,
  valuesMistakes,
  pluginMistakes,
  sharingMistakes,
  claimsMistakes,
  workloadsMistakes,
  vllmMistakes,
  updatesMistakes,
  contractsMistakes,
  machineRisksMistakes,
  cardRisksMistakes,
  migMistakes,
  releaseRisksMistakes,
  externalRisksMistakes,
  serversMistakes,
  plainHttpMistakes,
];

/** Each mistake with the check in whose table it is. */
export const mistakesByCheck: [check: string, mistake: Mistake][] = areas.flatMap((area) =>
  Object.entries(area).flatMap(([check, rows]) =>
    rows.map((row): [string, Mistake] => [check, row]),
  ),
);

/** Every mistake that a check finds. */
export const mistakes: Mistake[] = mistakesByCheck.map(([, mistake]) => mistake);
