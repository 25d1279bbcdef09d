import { type Case, passedWith, podCase, untried, failedWith, outcomeOf } from "../case";
import type { PodResult } from "../pods";
import { nodeName } from "../shape";
import type { GpuLab } from "../gpu-lab";

/** Seconds within which the kubelet reports the device plugin's resources. */
const publishSeconds = 30;

/** Script that runs the compute program, writes its output to the termination log, and keeps the exit status. */
export const computeScript = (seconds = 0): string =>
  `/usr/bin/compute ${seconds} > /tmp/said 2>&1; code=$?; cat /tmp/said; cat /tmp/said > /dev/termination-log; exit $code`;

/** Whether a smoke test computed on a card. On the stand-in it prints that it did not. */
export const hasComputed = (output: string): boolean =>
  /Test PASSED/.test(output) && !/stand-in/.test(output);

/** Whether a pod's program succeeded, and computed if there is a card. */
export const hasPassed = (
  gpuLab: GpuLab,
  { phase, output }: Pick<PodResult, "phase" | "output">,
): boolean => phase === "Succeeded" && (gpuLab.cards === undefined || hasComputed(output));

/** The lines of a program's output as one, without the empty ones. */
export const inOneLine = (output: string): string => output.split("\n").filter(Boolean).join("; ");

/** Resource limits of one unit of the cluster's GPU resource. */
export const oneUnit = ({ plan }: GpuLab): Record<string, string> => ({
  [plan.kubernetes.resourceName]: "1",
});

const allocatable: Case = {
  id: "allocatable",
  title: "standalone device plugin as emitted, with GPU feature discovery",
  run: async (gpuLab, say) => {
    const { seconds } = await gpuLab.updateTo({}, say);
    const areCardsOffered = await gpuLab.waitFor(
      publishSeconds,
      async () => (await gpuLab.offeredUnits()) === gpuLab.cardCount,
    );
    const { values } = gpuLab.plan.kubernetes.release;
    const units = `${await gpuLab.offeredUnits()} of ${gpuLab.plan.kubernetes.resourceName}, ${gpuLab.cardCount} card(s)`;
    const circumstances = `${String(values["deviceListStrategy"])}, the update with its reboot and smoke test ${seconds.toFixed(0)} s`;
    return outcomeOf(areCardsOffered, `${units}; ${circumstances}`);
  },
};

const smoke = podCase("smoke", "a CUDA program computes", {}, async ({ gpuLab, pods }) => {
  const { smokeTestImage: image, runtimeClass } = gpuLab.plan.kubernetes;
  const podSpec = { image, limits: oneUnit(gpuLab), script: computeScript(5) };
  const withClass = await pods.run("computes", { ...podSpec, runtimeClass: runtimeClass.name });
  const withoutClass = await pods.run("no-class-computes", podSpec);
  const observation = `RuntimeClass ${runtimeClass.name}: ${withClass.phase}, ${inOneLine(withClass.output)}; no RuntimeClass: ${withoutClass.phase}, ${inOneLine(withoutClass.output)}`;
  if ([withClass, withoutClass].some(({ phase }) => phase !== "Succeeded"))
    return failedWith(observation);
  if (hasComputed(withClass.output) && hasComputed(withoutClass.output))
    return passedWith(observation);
  return gpuLab.cards === undefined ? untried(observation) : failedWith(observation);
});

/** Script that prints the cards that a pod sees: their devices, and nvidia-smi's list. */
export const printCardsScript =
  'seen=$({ ls /dev | grep "^nvidia[0-9]"; nvidia-smi -L 2>/dev/null | grep -o "^GPU [0-9]*"; } | tr "\\n" " "); ' +
  '[ -n "$seen" ] || seen="no card"; echo "$seen" > /dev/termination-log';

/** Pattern for the output of a pod that sees so many cards. */
export const seesCards = (count: number): RegExp =>
  new RegExp(`^(nvidia\\d+ ?){${count}}(GPU \\d+ ?){${count}}$`);

const isolation = podCase(
  "isolation",
  "a pod that asks for nothing sees nothing",
  {},
  async ({ gpuLab, pods }) => {
    const { smokeTestImage, runtimeClass, images } = gpuLab.plan.kubernetes;
    const { name } = runtimeClass;
    const podSpecs = {
      "asks-nothing": { image: images.powerLimit, runtimeClass: name, script: printCardsScript },
      "no-class": { image: images.powerLimit, script: printCardsScript },
      "cuda-image": { image: smokeTestImage, runtimeClass: name, script: printCardsScript },
    };
    const outputs: Record<string, string> = {};
    for (const [pod, spec] of Object.entries(podSpecs))
      outputs[pod] = (await pods.run(pod, spec)).output;
    const observation = `RuntimeClass ${name}: ${outputs["asks-nothing"]}; no RuntimeClass: ${outputs["no-class"]}; RuntimeClass ${name} and an image with NVIDIA_VISIBLE_DEVICES=all: ${outputs["cuda-image"]}`;
    return outcomeOf(
      outputs["asks-nothing"] === "no card" && outputs["no-class"] === "no card",
      observation,
    );
  },
);

/** Seconds within which feature discovery must set the node's labels. */
const labelSeconds = 60;

/** Labels in the report, in this order, without their prefix. */
const reportedLabels = [
  "gpu.product",
  "gpu.count",
  "gpu.memory",
  "gpu.family",
  "gpu.compute.major",
  "cuda.driver-version.full",
  "gpu.mode",
  "gpu.machine",
  "mig.capable",
  "mps.capable",
  "vgpu.present",
];
const prefix = "nvidia.com/";
const pciLabel = /^feature\.node\.kubernetes\.io\/pci-\S*10de\S*\.present$/;

const labels: Case = {
  id: "labels",
  title: "labels of GPU feature discovery and Node Feature Discovery",
  run: async (gpuLab, say) => {
    await gpuLab.updateTo({}, say);
    let nodeLabels: Record<string, string> = {};
    const areLabelsSet = await gpuLab.waitFor(labelSeconds, async () => {
      nodeLabels = (await gpuLab.cluster.nodes())[nodeName]?.metadata?.labels ?? {};
      return (
        nodeLabels[`${prefix}gpu.product`] !== undefined &&
        Object.keys(nodeLabels).some((name) => pciLabel.test(name))
      );
    });
    const observation = [
      ...reportedLabels.map((name) => `${name} ${nodeLabels[`${prefix}${name}`] ?? "missing"}`),
      ...Object.keys(nodeLabels).filter((name) => pciLabel.test(name)),
    ].join("; ");
    const isAsExpected =
      areLabelsSet && nodeLabels[`${prefix}gpu.count`] === String(gpuLab.cardCount);
    return outcomeOf(isAsExpected, observation);
  },
};

/**
 * Cases of the default behaviour: the cluster offers the cards, a program computes on one, a pod without a request sees
 * none, and the node's labels describe the cards.
 */
export const plainCases: readonly Case[] = [allocatable, smoke, isolation, labels];
