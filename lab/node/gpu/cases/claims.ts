import { gpuProviders } from "../../../../components/recipe/facts/gpu-provider";
import { type Case, held, podCase, wrong } from "../case";
import { healthy, told } from "../faults/judge";
import { nodeName } from "../shape";
import type { Stand } from "../stand";
import { cards, computing, inOneLine, look, passed } from "./plain";

const { deviceClass } = gpuProviders.dra;
const resource = "nvidia.com/gpu";

/**
 * Seconds after which a removed driver has no slices: the kubelet deletes them after 30 (kubernetes
 * pkg/kubelet/cm/dra/manager.go).
 */
const wiped = 60;

/** The first device that the driver publishes for the node, with its attributes and memory. */
async function device({ cluster }: Stand): Promise<Record<string, string>> {
  const slice = (await cluster.slices()).find(({ spec }) => spec?.nodeName === nodeName);
  const { attributes = {}, capacity = {} } = slice?.spec?.devices?.[0] ?? {};
  const said = Object.entries(attributes).map(([name, { string, version, _int }]) => [
    name,
    string ?? version ?? _int,
  ]);
  return Object.fromEntries([...said, ["memory", capacity["memory"]?.value]]) as Record<
    string,
    string
  >;
}

const there: Case = {
  id: "claims",
  title: "from the device plugin to claims: NVIDIA's DRA driver as emitted",
  run: async (stand, say) => {
    await stand.become({}, say);
    const { seconds } = await stand.become({ claims: true }, say);
    const both = `${await stand.units()} of ${deviceClass}, ${await stand.units(resource)} of ${resource}`;
    const published = Object.entries(await device(stand)).map(
      ([name, value]) => `${name} ${value}`,
    );
    const right = (await stand.units()) === stand.count && (await stand.units(resource)) === 0;
    const report = await healthy(stand);
    const said = `${both}, update with smoke test ${seconds.toFixed(1)} s; doctor: ${told(report)}; ${published.join(", ")}`;
    return (right && report.status === 0 ? held : wrong)(said);
  },
};

const byExpression = podCase(
  "claims-cel",
  "a CUDA program computes through a claim by CEL, a claim that fits no card waits",
  { claims: true },
  async ({ stand, pods }) => {
    const { productName = "", memory = "" } = await device(stand);
    const atLeast = (least: string): string =>
      `device.capacity['${deviceClass}'].memory.compareTo(quantity("${least}")) >= 0`;
    const named = `device.attributes['${deviceClass}'].productName == ${JSON.stringify(productName)}`;
    const { smokeTestImage: image } = stand.plan.kubernetes;
    const fits = await pods.run("fits", {
      image,
      claim: [atLeast(memory), named],
      script: computing(5),
    });
    const waits = await pods.run(
      "too-large",
      { image, claim: [atLeast("1Ti")], script: computing() },
      10,
    );
    const said = `${memory} and ${productName}: ${fits.phase}, ${inOneLine(fits.said)}; 1Ti: ${waits.phase}, ${inOneLine(waits.said)}`;
    return passed(stand, fits) && waits.phase === "Pending" ? held(said) : wrong(said);
  },
);

const isolation = podCase(
  "claims-isolation",
  "with claims, what asks for nothing sees nothing: other pods, and a second container of a pod with a card",
  { claims: true },
  async ({ stand, pods }) => {
    const { smokeTestImage, images } = stand.plan.kubernetes;
    const alone = await pods.run("cuda-image", { image: smokeTestImage, script: look });
    const plain = await pods.run("plain-image", { image: images.powerLimit, script: look });
    const two = await pods.run("two", {
      image: smokeTestImage,
      claim: [],
      script: look,
      beside: look,
    });
    const said = `image with NVIDIA_VISIBLE_DEVICES=all: ${alone.said}; image without it: ${plain.said}; two containers of the first: ${two.said} by claim, ${two.besideSaid} without`;
    const nothing = [alone.said, plain.said, two.besideSaid].every((seen) => seen === "no card");
    return nothing && cards(1).test(two.said) ? held(said) : wrong(said);
  },
);

const plainRequest = podCase(
  "claims-request",
  `a plain request of ${resource} is served by the DRA driver, Kubernetes ≥ 1.36`,
  { claims: true },
  async ({ stand, pods }) => {
    const { smokeTestImage: image } = stand.plan.kubernetes;
    const pod = await pods.run("request", {
      image,
      limits: { [resource]: "1" },
      script: computing(),
    });
    return (passed(stand, pod) ? held : wrong)(`${pod.phase}, ${inOneLine(pod.said)}`);
  },
);

const back: Case = {
  id: "claims-back",
  title: "from claims back to the device plugin",
  run: async (stand, say) => {
    await stand.become({ claims: true }, say);
    const { seconds } = await stand.become({}, say);
    const begin = performance.now();
    const gone = await stand.until(wiped, async () => (await stand.units(deviceClass)) === 0);
    const later = ((performance.now() - begin) / 1000).toFixed(0);
    const said = `update with smoke test ${seconds.toFixed(1)} s, ${await stand.units()} of ${resource}; slices ${gone ? `gone ${later} s later` : "still there"}`;
    return gone && (await stand.units()) === stand.count ? held(said) : wrong(said);
  },
};

/** Cases of claims for cards, with the change to them and back. */
export const claimCases: readonly Case[] = [there, byExpression, isolation, plainRequest, back];
