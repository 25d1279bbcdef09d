import type { Say } from "../../phases";
import { type Pods, withPods } from "./pods";
import type { Shape } from "./shape";
import type { GpuLab } from "./gpu-lab";

/** Result of a case. */
export interface Outcome {
  /** Whether the result was as expected; undefined if the case could not be tried. */
  passed: boolean | undefined;
  /** Observation, or the reason why the case was not tried: one sentence. */
  observation: string;
}

/** Outcome of a case that behaved as expected. `observation`: one sentence. */
export const passedWith = (observation: string): Outcome => ({ passed: true, observation });
/** Outcome of a case that did not behave as expected. `observation`: one sentence. */
export const failedWith = (observation: string): Outcome => ({ passed: false, observation });
/** Outcome of a case by whether it behaved as expected. `observation`: one sentence. */
export const outcomeOf = (isAsExpected: boolean, observation: string): Outcome => ({
  passed: isAsExpected,
  observation,
});
/** Outcome of a case that could not be tried. `reason`: one sentence. */
export const untried = (reason: string): Outcome => ({ passed: undefined, observation: reason });

/** A behaviour that a cluster with cards must have, or must not have. */
export interface Case {
  /** Name for `--cases`. */
  id: string;
  /** Subject of the case, as a user would name it. */
  title: string;
  /** Tries the behaviour. A thrown error counts as an unexpected result. */
  run(gpuLab: GpuLab, say: Say): Promise<Outcome>;
}

/**
 * Makes a case that runs pods on the stack of a shape, and deletes them afterwards. `seconds`: duration of the update
 * to that stack.
 */
export const podCase = (
  id: string,
  title: string,
  shape: Shape,
  tryWithPods: (context: {
    gpuLab: GpuLab;
    pods: Pods;
    seconds: number;
    say: Say;
  }) => Promise<Outcome>,
): Case => ({
  id,
  title,
  run: async (gpuLab, say) => {
    const { seconds } = await gpuLab.updateTo(shape, say);
    return withPods(gpuLab, (pods) => tryWithPods({ gpuLab, pods, seconds, say }));
  },
});
