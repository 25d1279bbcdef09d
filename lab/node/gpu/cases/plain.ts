import { type Case, held, podCase, untried, wrong } from "../case";
import type { Ended } from "../pods";
import { nodeName } from "../shape";
import type { Stand } from "../stand";

/** Seconds within which the kubelet reports the device plugin's resources. */
const published = 30;

/** Script that runs the compute program, writes its output to the termination log, and keeps the exit status. */
export const computing = (seconds = 0): string =>
  `/usr/bin/compute ${seconds} > /tmp/said 2>&1; code=$?; cat /tmp/said; cat /tmp/said > /dev/termination-log; exit $code`;

/** Whether a smoke test computed on a card. On the stand-in it prints that it did not. */
export const computed = (said: string): boolean =>
  /Test PASSED/.test(said) && !/stand-in/.test(said);

/** Whether a pod's program succeeded, and computed if there is a card. */
export const passed = (stand: Stand, { phase, said }: Pick<Ended, "phase" | "said">): boolean =>
  phase === "Succeeded" && (stand.cards === undefined || computed(said));

/** The lines of a program's output as one, without the empty ones. */
export const inOneLine = (said: string): string => said.split("\n").filter(Boolean).join("; ");

/** Resource limits of one unit of the cluster's GPU resource. */
export const oneUnit = ({ plan }: Stand): Record<string, string> => ({
  [plan.kubernetes.resourceName]: "1",
});

const plain: Case = {
  id: "allocatable",
  title: "standalone device plugin as emitted, with GPU feature discovery",
  run: async (stand, say) => {
    const { seconds } = await stand.become({}, say);
    const offered = await stand.until(published, async () => (await stand.units()) === stand.count);
    const { values } = stand.plan.kubernetes.release;
    const units = `${await stand.units()} of ${stand.plan.kubernetes.resourceName}, ${stand.count} card(s)`;
    const how = `${String(values["deviceListStrategy"])}, the update with its reboot and smoke test ${seconds.toFixed(0)} s`;
    return (offered ? held : wrong)(`${units}; ${how}`);
  },
};

const smoke = podCase("smoke", "a CUDA program computes", {}, async ({ stand, pods }) => {
  const { smokeTestImage: image, runtimeClass } = stand.plan.kubernetes;
  const test = { image, limits: oneUnit(stand), script: computing(5) };
  const withClass = await pods.run("computes", { ...test, runtimeClass: runtimeClass.name });
  const without = await pods.run("no-class-computes", test);
  const said = `RuntimeClass ${runtimeClass.name}: ${withClass.phase}, ${inOneLine(withClass.said)}; no RuntimeClass: ${without.phase}, ${inOneLine(without.said)}`;
  if ([withClass, without].some(({ phase }) => phase !== "Succeeded")) return wrong(said);
  if (computed(withClass.said) && computed(without.said)) return held(said);
  return stand.cards === undefined ? untried(said) : wrong(said);
});

/** Script that prints the cards that a pod sees: their devices, and nvidia-smi's list. */
export const look =
  'seen=$({ ls /dev | grep "^nvidia[0-9]"; nvidia-smi -L 2>/dev/null | grep -o "^GPU [0-9]*"; } | tr "\\n" " "); ' +
  '[ -n "$seen" ] || seen="no card"; echo "$seen" > /dev/termination-log';

/** Pattern for the output of a pod that sees so many cards. */
export const cards = (count: number): RegExp =>
  new RegExp(`^(nvidia\\d+ ?){${count}}(GPU \\d+ ?){${count}}$`);

const isolation = podCase(
  "isolation",
  "a pod that asks for nothing sees nothing",
  {},
  async ({ stand, pods }) => {
    const { smokeTestImage, runtimeClass, images } = stand.plan.kubernetes;
    const { name } = runtimeClass;
    const tries = {
      "asks-nothing": { image: images.powerLimit, runtimeClass: name, script: look },
      "no-class": { image: images.powerLimit, script: look },
      "cuda-image": { image: smokeTestImage, runtimeClass: name, script: look },
    };
    const seen: Record<string, string> = {};
    for (const [pod, spec] of Object.entries(tries)) seen[pod] = (await pods.run(pod, spec)).said;
    const said = `RuntimeClass ${name}: ${seen["asks-nothing"]}; no RuntimeClass: ${seen["no-class"]}; RuntimeClass ${name} and an image with NVIDIA_VISIBLE_DEVICES=all: ${seen["cuda-image"]}`;
    return seen["asks-nothing"] === "no card" && seen["no-class"] === "no card"
      ? held(said)
      : wrong(said);
  },
);

/** Seconds within which feature discovery must set the node's labels. */
const labelled = 60;

/** Labels in the report, in this order, without their prefix. */
const shown = [
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
const onBus = /^feature\.node\.kubernetes\.io\/pci-\S*10de\S*\.present$/;

const labels: Case = {
  id: "labels",
  title: "labels of GPU feature discovery and Node Feature Discovery",
  run: async (stand, say) => {
    await stand.become({}, say);
    let now: Record<string, string> = {};
    const there = await stand.until(labelled, async () => {
      now = (await stand.cluster.nodes())[nodeName]?.metadata?.labels ?? {};
      return (
        now[`${prefix}gpu.product`] !== undefined &&
        Object.keys(now).some((name) => onBus.test(name))
      );
    });
    const said = [
      ...shown.map((name) => `${name} ${now[`${prefix}${name}`] ?? "missing"}`),
      ...Object.keys(now).filter((name) => onBus.test(name)),
    ].join("; ");
    const right = there && now[`${prefix}gpu.count`] === String(stand.count);
    return (right ? held : wrong)(said);
  },
};

/**
 * Cases of the default behaviour: the cluster offers the cards, a program computes on one, a pod without a request sees
 * none, and the node's labels describe the cards.
 */
export const plainCases: readonly Case[] = [plain, smoke, isolation, labels];
