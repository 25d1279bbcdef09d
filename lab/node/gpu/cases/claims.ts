import { gpuProviders } from "../../../../components/recipe/facts/gpu-provider";
import { type Case, podCase, outcomeOf } from "../case";
import { waitUntilHealthy, summaryOf } from "../faults/judge";
import { nodeName } from "../shape";
import type { GpuLab } from "../gpu-lab";
import { seesCards, computeScript, inOneLine, printCardsScript, hasPassed } from "./plain";

const { deviceClass } = gpuProviders.dra;
const resource = "nvidia.com/gpu";

/**
 * Seconds after which a removed driver has no slices: the kubelet deletes them after 30 (kubernetes
 * pkg/kubelet/cm/dra/manager.go).
 */
const withdrawalSeconds = 60;

/** The first device that the driver publishes for the node, with its attributes and memory. */
async function publishedDevice({ cluster }: GpuLab): Promise<Record<string, string>> {
  const slice = (await cluster.slices()).find(({ spec }) => spec?.nodeName === nodeName);
  const { attributes = {}, capacity = {} } = slice?.spec?.devices?.[0] ?? {};
  const values = Object.entries(attributes).map(([name, { string, version, _int }]) => [
    name,
    string ?? version ?? _int,
  ]);
  return Object.fromEntries([...values, ["memory", capacity["memory"]?.value]]) as Record<
    string,
    string
  >;
}

const fromPluginToClaims: Case = {
  id: "claims",
  title: "from the device plugin to claims: NVIDIA's DRA driver as emitted",
  run: async (gpuLab, say) => {
    await gpuLab.updateTo({}, say);
    const { seconds } = await gpuLab.updateTo({ claims: true }, say);
    const offeredResources = `${await gpuLab.offeredUnits()} of ${deviceClass}, ${await gpuLab.offeredUnits(resource)} of ${resource}`;
    const published = Object.entries(await publishedDevice(gpuLab)).map(
      ([name, value]) => `${name} ${value}`,
    );
    const isAsExpected =
      (await gpuLab.offeredUnits()) === gpuLab.cardCount &&
      (await gpuLab.offeredUnits(resource)) === 0;
    const report = await waitUntilHealthy(gpuLab);
    const observation = `${offeredResources}, update with smoke test ${seconds.toFixed(1)} s; doctor: ${summaryOf(report)}; ${published.join(", ")}`;
    return outcomeOf(isAsExpected && report.status === 0, observation);
  },
};

const byExpression = podCase(
  "claims-cel",
  "a CUDA program computes through a claim by CEL, a claim that fits no card waits",
  { claims: true },
  async ({ gpuLab, pods }) => {
    const { productName = "", memory = "" } = await publishedDevice(gpuLab);
    const hasMemory = (minimum: string): string =>
      `device.capacity['${deviceClass}'].memory.compareTo(quantity("${minimum}")) >= 0`;
    const hasProductName = `device.attributes['${deviceClass}'].productName == ${JSON.stringify(productName)}`;
    const { smokeTestImage: image } = gpuLab.plan.kubernetes;
    const fittingPod = await pods.run("fits", {
      image,
      claim: [hasMemory(memory), hasProductName],
      script: computeScript(5),
    });
    const waitingPod = await pods.run(
      "too-large",
      { image, claim: [hasMemory("1Ti")], script: computeScript() },
      10,
    );
    const observation = `${memory} and ${productName}: ${fittingPod.phase}, ${inOneLine(fittingPod.output)}; 1Ti: ${waitingPod.phase}, ${inOneLine(waitingPod.output)}`;
    return outcomeOf(hasPassed(gpuLab, fittingPod) && waitingPod.phase === "Pending", observation);
  },
);

const isolation = podCase(
  "claims-isolation",
  "with claims, what asks for nothing sees nothing: other pods, and a second container of a pod with a card",
  { claims: true },
  async ({ gpuLab, pods }) => {
    const { smokeTestImage, images } = gpuLab.plan.kubernetes;
    const cudaPod = await pods.run("cuda-image", {
      image: smokeTestImage,
      script: printCardsScript,
    });
    const plainPod = await pods.run("plain-image", {
      image: images.powerLimit,
      script: printCardsScript,
    });
    const podOfTwo = await pods.run("two", {
      image: smokeTestImage,
      claim: [],
      script: printCardsScript,
      secondScript: printCardsScript,
    });
    const observation = `image with NVIDIA_VISIBLE_DEVICES=all: ${cudaPod.output}; image without it: ${plainPod.output}; two containers of the first: ${podOfTwo.output} by claim, ${podOfTwo.secondOutput} without`;
    const areIsolated = [cudaPod.output, plainPod.output, podOfTwo.secondOutput].every(
      (output) => output === "no card",
    );
    return outcomeOf(areIsolated && seesCards(1).test(podOfTwo.output), observation);
  },
);

const plainRequest = podCase(
  "claims-request",
  `a plain request of ${resource} is served by the DRA driver, Kubernetes ≥ 1.36`,
  { claims: true },
  async ({ gpuLab, pods }) => {
    const { smokeTestImage: image } = gpuLab.plan.kubernetes;
    const pod = await pods.run("request", {
      image,
      limits: { [resource]: "1" },
      script: computeScript(),
    });
    return outcomeOf(hasPassed(gpuLab, pod), `${pod.phase}, ${inOneLine(pod.output)}`);
  },
);

const fromClaimsToPlugin: Case = {
  id: "claims-back",
  title: "from claims back to the device plugin",
  run: async (gpuLab, say) => {
    await gpuLab.updateTo({ claims: true }, say);
    const { seconds } = await gpuLab.updateTo({}, say);
    const startTime = performance.now();
    const areSlicesGone = await gpuLab.waitFor(
      withdrawalSeconds,
      async () => (await gpuLab.offeredUnits(deviceClass)) === 0,
    );
    const secondsLater = ((performance.now() - startTime) / 1000).toFixed(0);
    const observation = `update with smoke test ${seconds.toFixed(1)} s, ${await gpuLab.offeredUnits()} of ${resource}; slices ${areSlicesGone ? `gone ${secondsLater} s later` : "still there"}`;
    return outcomeOf(
      areSlicesGone && (await gpuLab.offeredUnits()) === gpuLab.cardCount,
      observation,
    );
  },
};

/** Cases of claims for cards, with the change to them and back. */
export const claimCases: readonly Case[] = [
  fromPluginToClaims,
  byExpression,
  isolation,
  plainRequest,
  fromClaimsToPlugin,
];
