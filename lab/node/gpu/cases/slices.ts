import { type Case, podCase, held, untried, wrong, type Outcome } from "../case";
import type { Ended, Pods } from "../pods";
import type { Stand } from "../stand";
import { computed, computing, inOneLine, oneUnit } from "./plain";

const many = 4;
const few = 2;
/** Seconds that a pod computes: longer than the update takes during which it must not be disturbed. */
const long = 75;
const published = 30;

async function startAll(stand: Stand, pods: Pods, seconds: number): Promise<string[]> {
  const { smokeTestImage: image, runtimeClass } = stand.plan.kubernetes;
  const limits = oneUnit(stand);
  const names = Array.from({ length: many * stand.count }, (_, index) => `slice-${index + 1}`);
  for (const name of names)
    await pods.start(name, {
      image,
      runtimeClass: runtimeClass.name,
      limits,
      script: computing(seconds),
    });
  return names;
}

/** Number of rounds of each pod's computation; NaN on the stand-in of the driver, where pods only wait. */
const rounds = (ended: readonly Ended[]): number[] =>
  ended.map(({ said }) => Number(/(\d+) rounds/.exec(said)?.[1] ?? Number.NaN));

function judged(stand: Stand, all: readonly Ended[], said: string): Outcome {
  const lost = all.filter(({ phase }) => phase !== "Succeeded");
  if (lost.length > 0)
    return wrong(
      `${said}; ${lost.map((one) => `${one.phase}: ${inOneLine(one.said)}`).join("; ")}`,
    );
  if (all.every(({ said: text }) => computed(text))) {
    const counts = rounds(all);
    return held(`${said}; ${Math.min(...counts)} to ${Math.max(...counts)} rounds each`);
  }
  return stand.cards === undefined
    ? held(`${said}; nothing was computed, there is no card`)
    : wrong(`${said}; not computed`);
}

const more = podCase(
  "slices-more",
  `time slicing 1 → ${many}, every slice used at once`,
  { slices: many },
  async ({ stand, pods, seconds }) => {
    const wanted = many * stand.count;
    if (!(await stand.until(published, async () => (await stand.units()) === wanted)))
      return wrong(`${await stand.units()} units, ${wanted} wanted`);
    const names = await startAll(stand, pods, 10);
    const all = await Promise.all(names.map((name) => pods.ended(name, 90)));
    return judged(
      stand,
      all,
      `${wanted} units, update ${seconds.toFixed(1)} s; ${wanted} pods at once`,
    );
  },
);

const fewer = podCase(
  "slices-fewer",
  `time slicing ${many} → ${few} while every slice is used: no pod is evicted`,
  { slices: many },
  async ({ stand, pods, say }) => {
    await stand.until(published, async () => (await stand.units()) === many * stand.count);
    const names = await startAll(stand, pods, long);
    const running = async (): Promise<boolean> =>
      (await Promise.all(names.map((name) => pods.look(name)))).every(
        ({ phase }) => phase === "Running",
      );
    if (!(await stand.until(60, running))) {
      const all = await Promise.all(names.map((name) => pods.look(name)));
      return stand.cards === undefined && all.every(({ phase }) => phase === "Succeeded")
        ? untried("programs of the stand-in end at once, so no slice is in use meanwhile")
        : wrong(
            `not all pods run at once: ${all.map(({ phase, said }) => `${phase} ${inOneLine(said)}`).join("; ")}`,
          );
    }
    const before = await Promise.all(names.map((name) => pods.look(name)));
    const { seconds, warnings } = await stand.become({ slices: few }, say);
    const updated = Date.now();
    const untested = warnings.find((line) => line.includes("machines.gpu"));
    await stand.until(published, async () => (await stand.units()) === few * stand.count);
    const units = await stand.units();
    const all = await Promise.all(names.map((name) => pods.ended(name, long + 30)));
    const same = all.every(({ uid }, index) => uid === before[index]!.uid);
    const outlasted = all.some(({ finishedAt = 0 }) => finishedAt > updated);
    const said = `${units} units, update ${seconds.toFixed(1)} s${untested === undefined ? "" : ", which warns that it could not test"}`;
    if (!same || !outlasted)
      return wrong(
        `${said}; ${same ? "the pods ended before the update did" : "pods were replaced"}`,
      );
    return units === few * stand.count
      ? judged(stand, all, `${said}; all ${names.length} pods went on`)
      : wrong(said);
  },
);

const two = podCase(
  "slices-two",
  "a request for two slices is refused",
  { slices: many },
  async ({ stand, pods }) => {
    const { images, resourceName } = stand.plan.kubernetes;
    await stand.until(published, async () => (await stand.units()) === many * stand.count);
    const pod = { image: images.powerLimit, limits: { [resourceName]: "2" }, script: "true" };
    const { phase, said } = await pods.run("two-slices", pod);
    return phase === "Failed" && /UnexpectedAdmissionError/.test(said)
      ? held(inOneLine(said))
      : wrong(`${phase}: ${inOneLine(said)}`);
  },
);

/** Cases of time slicing: more slices, a request for two of them, fewer while all are used. */
export const sliceCases: readonly Case[] = [more, two, fewer];
