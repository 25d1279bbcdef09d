import * as path from "node:path";
import { type Case, held, podCase, wrong } from "../case";
import { healthy, told } from "../faults/judge";
import { nodeName, ownHook, type Shape } from "../shape";
import { cards, computing, inOneLine, look, oneUnit, passed } from "./plain";
import { sameLimit } from "./power";

const byOperator: Shape = { withoutToolkit: "gpuOperator" };

/**
 * Asks the NRI plugin for all cards (nvidia-container-toolkit v1.20.1,
 * cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go).
 */
const annotations = { "nvidia.cdi.k8s.io/container.main": "management.nvidia.com/gpu=all" };

const alone: Case = {
  id: "nri-none",
  title:
    "the device plugin alone on Talos 1.15: the smoke test fails until the hook is there that its CDI specification calls",
  run: async (stand, say) => {
    const shape: Shape = { withoutToolkit: "devicePlugin" };
    const failure = await stand.become(shape, say).then(
      () => "passes",
      (error: Error) => error.message,
    );
    const toolkit = stand.lab.nodePrograms!.find((folder) =>
      folder.endsWith("nvidia-toolkit-v1.20"),
    )!;
    await stand.onNode(
      `mkdir -p ${path.dirname(ownHook)}; cp ${toolkit}/nvidia-cdi-hook ${ownHook}`,
    );
    const { seconds } = await stand.become(shape, say);
    const missing = failure.includes(`${ownHook}: no such file or directory`);
    const said = `without: ${missing ? `${ownHook}: no such file or directory` : failure}; with it: update with smoke test ${seconds.toFixed(1)} s`;
    return (missing ? held : wrong)(said);
  },
};

const there: Case = {
  id: "nri",
  title:
    "the GPU Operator's toolkit as NRI plugin on Talos 1.15, where containerd has no runtime of NVIDIA's",
  run: async (stand, say) => {
    const { seconds } = await stand.become(byOperator, say);
    const { runtimeHandlers = [] } = (await stand.cluster.nodes())[nodeName]?.status ?? {};
    const ofNvidia = runtimeHandlers.flatMap(({ name = "" }) =>
      name.startsWith("nvidia") ? [name] : [],
    );
    const inImage = await stand.onNode(
      "ls /usr/bin /usr/local/bin | grep -E 'nvidia-(c[dt]|container)' || true",
    );
    const version = await stand.onNode("/var/lib/nvidia/toolkit/nvidia-cdi-hook --version");
    const offered = await stand.units();
    const report = await healthy(stand);
    const said = `${offered} of ${stand.plan.kubernetes.resourceName}; runtimes: ${ofNvidia.join(", ") || "none"}; of the toolkit in the image: ${inOneLine(inImage) || "nothing"}, installed: ${inOneLine(version)}; update ${seconds.toFixed(1)} s; doctor: ${told(report)}`;
    const right =
      offered === stand.count &&
      ofNvidia.length === 0 &&
      inImage === "" &&
      / 1\.20\.1/.test(version);
    return (right && report.status === 0 ? held : wrong)(said);
  },
};

const smoke = podCase(
  "nri-smoke",
  "by NRI plugin, a CUDA program computes on a card that its pod requests",
  byOperator,
  async ({ stand, pods }) => {
    const test = {
      image: stand.plan.kubernetes.smokeTestImage,
      limits: oneUnit(stand),
      script: computing(5),
    };
    const pod = await pods.run("requests-one", test);
    return (passed(stand, pod) ? held : wrong)(`${pod.phase}: ${inOneLine(pod.said)}`);
  },
);

const isolation = podCase(
  "nri-isolation",
  "by NRI plugin, what requests nothing sees nothing: a pod, and a second container of a pod with a card",
  byOperator,
  async ({ stand, pods }) => {
    const test = { image: stand.plan.kubernetes.smokeTestImage, script: look };
    const none = await pods.run("requests-none", test);
    const two = await pods.run("two", { ...test, limits: oneUnit(stand), beside: look });
    const said = `image with NVIDIA_VISIBLE_DEVICES=all: ${none.said}; two containers of it: ${two.said} by request, ${two.besideSaid} without`;
    const nothing = none.said === "no card" && two.besideSaid === "no card";
    return (nothing && cards(1).test(two.said) ? held : wrong)(said);
  },
);

const management = podCase(
  "nri-all",
  "the annotation for all cards gives them in the operator's namespace, and in another none",
  byOperator,
  async ({ stand, pods }) => {
    const { smokeTestImage: image, release } = stand.plan.kubernetes;
    const test = { image, annotations, script: look };
    const all = await pods.run("all", { ...test, namespace: release.namespace });
    const none = await pods.run("all-elsewhere", test);
    const logs = `/var/log/pods/${release.namespace}_nvidia-container-toolkit-daemonset-*/nvidia-container-toolkit-ctr/*.log`;
    const why =
      "pod default/all-elsewhere is requesting one or more management CDI devices, but it is not in one of the allowed namespaces";
    const logged = (await stand.onNode(`grep -hom 1 '${why}' ${logs} || true`)).trim();
    const said = `${release.namespace}: ${all.said}; default: ${none.said}, the toolkit's log: ${logged || "nothing of it"}`;
    const right = cards(stand.count).test(all.said) && none.said === "no card" && logged === why;
    return (right ? held : wrong)(said);
  },
);

/** Cases of Talos 1.15, whose image has no toolkit. */
export const nriCases: readonly Case[] = [
  alone,
  there,
  smoke,
  isolation,
  management,
  sameLimit(
    "nri-power",
    "by NRI plugin, what sets the power limit has the cards: set to what it is",
    byOperator,
  ),
];
