import { type Case, podCase, passedWith, untried, failedWith, type Outcome } from "../case";
import type { PodResult, Pods } from "../pods";
import type { GpuLab } from "../gpu-lab";
import { hasComputed, computeScript, inOneLine, oneUnit } from "./plain";

const manySlices = 4;
const fewSlices = 2;
/** Seconds that a pod computes: longer than the update takes during which it must not be disturbed. */
const computeSeconds = 75;
/** Seconds within which the kubelet reports a changed number of slices. */
const publishSeconds = 30;

async function startPodPerSlice(gpuLab: GpuLab, pods: Pods, seconds: number): Promise<string[]> {
  const { smokeTestImage: image, runtimeClass } = gpuLab.plan.kubernetes;
  const limits = oneUnit(gpuLab);
  const names = Array.from(
    { length: manySlices * gpuLab.cardCount },
    (_, index) => `slice-${index + 1}`,
  );
  for (const name of names)
    await pods.start(name, {
      image,
      runtimeClass: runtimeClass.name,
      limits,
      script: computeScript(seconds),
    });
  return names;
}

/** Number of rounds of each pod's computation; NaN on the stand-in of the driver, where pods only wait. */
const roundsOf = (results: readonly PodResult[]): number[] =>
  results.map(({ output }) => Number(/(\d+) rounds/.exec(output)?.[1] ?? Number.NaN));

/** Whether all pods succeeded and computed, which the stand-in of the driver cannot. */
function outcomeOfPods(
  gpuLab: GpuLab,
  results: readonly PodResult[],
  observation: string,
): Outcome {
  const failedPods = results.filter(({ phase }) => phase !== "Succeeded");
  if (failedPods.length > 0)
    return failedWith(
      `${observation}; ${failedPods.map(({ phase, output }) => `${phase}: ${inOneLine(output)}`).join("; ")}`,
    );
  if (results.every(({ output }) => hasComputed(output))) {
    const counts = roundsOf(results);
    return passedWith(
      `${observation}; ${Math.min(...counts)} to ${Math.max(...counts)} rounds each`,
    );
  }
  return gpuLab.cards === undefined
    ? passedWith(`${observation}; nothing was computed, there is no card`)
    : failedWith(`${observation}; not computed`);
}

const moreSlices = podCase(
  "slices-more",
  `time slicing 1 → ${manySlices}, every slice used at once`,
  { slices: manySlices },
  async ({ gpuLab, pods, seconds }) => {
    const expectedUnits = manySlices * gpuLab.cardCount;
    const areAllOffered = await gpuLab.waitFor(
      publishSeconds,
      async () => (await gpuLab.offeredUnits()) === expectedUnits,
    );
    if (!areAllOffered)
      return failedWith(`${await gpuLab.offeredUnits()} units, not ${expectedUnits}`);
    const names = await startPodPerSlice(gpuLab, pods, 10);
    const results = await Promise.all(names.map((name) => pods.waitForEnd(name, 90)));
    return outcomeOfPods(
      gpuLab,
      results,
      `${expectedUnits} units, update ${seconds.toFixed(1)} s; ${expectedUnits} pods at once`,
    );
  },
);

const fewerSlices = podCase(
  "slices-fewer",
  `time slicing ${manySlices} → ${fewSlices} while every slice is used: no pod is evicted`,
  { slices: manySlices },
  async ({ gpuLab, pods, say }) => {
    await gpuLab.waitFor(
      publishSeconds,
      async () => (await gpuLab.offeredUnits()) === manySlices * gpuLab.cardCount,
    );
    const names = await startPodPerSlice(gpuLab, pods, computeSeconds);
    const areAllRunning = async (): Promise<boolean> =>
      (await Promise.all(names.map((name) => pods.read(name)))).every(
        ({ phase }) => phase === "Running",
      );
    if (!(await gpuLab.waitFor(60, areAllRunning))) {
      const currentPods = await Promise.all(names.map((name) => pods.read(name)));
      if (gpuLab.cards === undefined && currentPods.every(({ phase }) => phase === "Succeeded"))
        return untried("programs of the stand-in end at once, so no slice is in use meanwhile");
      const states = currentPods.map(({ phase, output }) => `${phase} ${inOneLine(output)}`);
      return failedWith(`not all pods run at once: ${states.join("; ")}`);
    }
    const podsBefore = await Promise.all(names.map((name) => pods.read(name)));
    const { seconds, warnings } = await gpuLab.updateTo({ slices: fewSlices }, say);
    const updateEnd = Date.now();
    const untestedWarning = warnings.find((line) => line.includes("machines.gpu"));
    await gpuLab.waitFor(
      publishSeconds,
      async () => (await gpuLab.offeredUnits()) === fewSlices * gpuLab.cardCount,
    );
    const units = await gpuLab.offeredUnits();
    const results = await Promise.all(
      names.map((name) => pods.waitForEnd(name, computeSeconds + 30)),
    );
    const areSamePods = results.every(({ uid }, index) => uid === podsBefore[index]!.uid);
    const outlastedUpdate = results.some(({ finishedAt = 0 }) => finishedAt > updateEnd);
    const observation = `${units} units, update ${seconds.toFixed(1)} s${untestedWarning === undefined ? "" : ", which warns that it could not test"}`;
    if (!areSamePods || !outlastedUpdate)
      return failedWith(
        `${observation}; ${areSamePods ? "the pods ended before the update did" : "pods were replaced"}`,
      );
    return units === fewSlices * gpuLab.cardCount
      ? outcomeOfPods(gpuLab, results, `${observation}; all ${names.length} pods went on`)
      : failedWith(observation);
  },
);

const twoSlicesRequest = podCase(
  "slices-two",
  "a request for two slices is refused",
  { slices: manySlices },
  async ({ gpuLab, pods }) => {
    const { images, resourceName } = gpuLab.plan.kubernetes;
    await gpuLab.waitFor(
      publishSeconds,
      async () => (await gpuLab.offeredUnits()) === manySlices * gpuLab.cardCount,
    );
    const pod = { image: images.powerLimit, limits: { [resourceName]: "2" }, script: "true" };
    const { phase, output } = await pods.run("two-slices", pod);
    return phase === "Failed" && /UnexpectedAdmissionError/.test(output)
      ? passedWith(inOneLine(output))
      : failedWith(`${phase}: ${inOneLine(output)}`);
  },
);

/** Cases of time slicing: more slices, a request for two of them, fewer while all are used. */
export const sliceCases: readonly Case[] = [moreSlices, twoSlicesRequest, fewerSlices];
