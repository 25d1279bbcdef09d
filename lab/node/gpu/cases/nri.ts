import * as path from "node:path";
import { type Case, podCase, outcomeOf } from "../case";
import { waitUntilHealthy, summaryOf } from "../faults/judge";
import { nodeName, ownHook, type Shape } from "../shape";
import { seesCards, computeScript, inOneLine, printCardsScript, oneUnit, hasPassed } from "./plain";
import { sameLimit } from "./power";

const byOperator: Shape = { withoutToolkit: "gpuOperator" };

/**
 * Asks the NRI plugin for all cards (nvidia-container-toolkit v1.20.1,
 * cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go).
 */
const annotations = { "nvidia.cdi.k8s.io/container.main": "management.nvidia.com/gpu=all" };

const pluginWithoutToolkit: Case = {
  id: "nri-none",
  title:
    "the device plugin alone on Talos 1.15: the smoke test fails until the hook is there that its CDI specification calls",
  run: async (gpuLab, say) => {
    const shape: Shape = { withoutToolkit: "devicePlugin" };
    const failure = await gpuLab.updateTo(shape, say).then(
      () => "passes",
      (error: Error) => error.message,
    );
    const toolkit = gpuLab.runningLab.nodePrograms!.find((folder) =>
      folder.endsWith("nvidia-toolkit-v1.20"),
    )!;
    await gpuLab.onNode(
      `mkdir -p ${path.dirname(ownHook)}; cp ${toolkit}/nvidia-cdi-hook ${ownHook}`,
    );
    const { seconds } = await gpuLab.updateTo(shape, say);
    const isHookMissing = failure.includes(`${ownHook}: no such file or directory`);
    const observation = `without: ${isHookMissing ? `${ownHook}: no such file or directory` : failure}; with it: update with smoke test ${seconds.toFixed(1)} s`;
    return outcomeOf(isHookMissing, observation);
  },
};

const operatorToolkit: Case = {
  id: "nri",
  title:
    "the GPU Operator's toolkit as NRI plugin on Talos 1.15, where containerd has no runtime of NVIDIA's",
  run: async (gpuLab, say) => {
    const { seconds } = await gpuLab.updateTo(byOperator, say);
    const { runtimeHandlers = [] } = (await gpuLab.cluster.nodes())[nodeName]?.status ?? {};
    const nvidiaRuntimes = runtimeHandlers.flatMap(({ name = "" }) =>
      name.startsWith("nvidia") ? [name] : [],
    );
    const programsInImage = await gpuLab.onNode(
      "ls /usr/bin /usr/local/bin | grep -E 'nvidia-(c[dt]|container)' || true",
    );
    const version = await gpuLab.onNode("/var/lib/nvidia/toolkit/nvidia-cdi-hook --version");
    const offeredUnits = await gpuLab.offeredUnits();
    const report = await waitUntilHealthy(gpuLab);
    const observation = `${offeredUnits} of ${gpuLab.plan.kubernetes.resourceName}; runtimes: ${nvidiaRuntimes.join(", ") || "none"}; of the toolkit in the image: ${inOneLine(programsInImage) || "nothing"}, installed: ${inOneLine(version)}; update ${seconds.toFixed(1)} s; doctor: ${summaryOf(report)}`;
    const isAsExpected =
      offeredUnits === gpuLab.cardCount &&
      nvidiaRuntimes.length === 0 &&
      programsInImage === "" &&
      / 1\.20\.1/.test(version);
    return outcomeOf(isAsExpected && report.status === 0, observation);
  },
};

const smoke = podCase(
  "nri-smoke",
  "by NRI plugin, a CUDA program computes on a card that its pod requests",
  byOperator,
  async ({ gpuLab, pods }) => {
    const podSpec = {
      image: gpuLab.plan.kubernetes.smokeTestImage,
      limits: oneUnit(gpuLab),
      script: computeScript(5),
    };
    const pod = await pods.run("requests-one", podSpec);
    return outcomeOf(hasPassed(gpuLab, pod), `${pod.phase}: ${inOneLine(pod.output)}`);
  },
);

const isolation = podCase(
  "nri-isolation",
  "by NRI plugin, what requests nothing sees nothing: a pod, and a second container of a pod with a card",
  byOperator,
  async ({ gpuLab, pods }) => {
    const podSpec = { image: gpuLab.plan.kubernetes.smokeTestImage, script: printCardsScript };
    const podWithoutRequest = await pods.run("requests-none", podSpec);
    const podOfTwo = await pods.run("two", {
      ...podSpec,
      limits: oneUnit(gpuLab),
      secondScript: printCardsScript,
    });
    const observation = `image with NVIDIA_VISIBLE_DEVICES=all: ${podWithoutRequest.output}; two containers of it: ${podOfTwo.output} by request, ${podOfTwo.secondOutput} without`;
    const areIsolated =
      podWithoutRequest.output === "no card" && podOfTwo.secondOutput === "no card";
    return outcomeOf(areIsolated && seesCards(1).test(podOfTwo.output), observation);
  },
);

const management = podCase(
  "nri-all",
  "the annotation for all cards gives them in the operator's namespace, and in another none",
  byOperator,
  async ({ gpuLab, pods }) => {
    const { smokeTestImage: image, release } = gpuLab.plan.kubernetes;
    const podSpec = { image, annotations, script: printCardsScript };
    const allowedPod = await pods.run("all", { ...podSpec, namespace: release.namespace });
    const otherPod = await pods.run("all-elsewhere", podSpec);
    const logs = `/var/log/pods/${release.namespace}_nvidia-container-toolkit-daemonset-*/nvidia-container-toolkit-ctr/*.log`;
    const expectedMessage =
      "pod default/all-elsewhere is requesting one or more management CDI devices, but it is not in one of the allowed namespaces";
    const loggedMessage = (
      await gpuLab.onNode(`grep -hom 1 '${expectedMessage}' ${logs} || true`)
    ).trim();
    const observation = `${release.namespace}: ${allowedPod.output}; default: ${otherPod.output}, the toolkit's log: ${loggedMessage || "nothing of it"}`;
    const isAsExpected =
      seesCards(gpuLab.cardCount).test(allowedPod.output) &&
      otherPod.output === "no card" &&
      loggedMessage === expectedMessage;
    return outcomeOf(isAsExpected, observation);
  },
);

/** Cases of Talos 1.15, whose image has no toolkit. */
export const nriCases: readonly Case[] = [
  pluginWithoutToolkit,
  operatorToolkit,
  smoke,
  isolation,
  management,
  sameLimit(
    "nri-power",
    "by NRI plugin, what sets the power limit has the cards: set to what it is",
    byOperator,
  ),
];
