import type { Say } from "../../phases";
import { type Pods, withPods } from "./pods";
import type { Shape } from "./shape";
import type { Stand } from "./stand";

/** Result of a case. */
export interface Outcome {
  /** Whether the result was as expected; undefined if the case could not be tried. */
  held: boolean | undefined;
  /** Observation, or the reason why the case was not tried: one sentence. */
  seen: string;
}

/** Outcome of a case that behaved as expected. `seen`: the observation, one sentence. */
export const held = (seen: string): Outcome => ({ held: true, seen });
/** Outcome of a case that did not behave as expected. `seen`: the observation, one sentence. */
export const wrong = (seen: string): Outcome => ({ held: false, seen });
/** Outcome of a case that could not be tried. `why`: the reason, one sentence. */
export const untried = (why: string): Outcome => ({ held: undefined, seen: why });

/** A behaviour that a cluster with cards must have, or must not have. */
export interface Case {
  /** Name for `--cases`. */
  id: string;
  /** Subject of the case, in the words of a user. */
  title: string;
  /** Tries the behaviour. A thrown error counts as an unexpected result. */
  run(stand: Stand, say: Say): Promise<Outcome>;
}

/**
 * Makes a case that runs pods on the stack of a shape, and deletes them afterwards. `seconds`: duration of the update
 * to that stack.
 */
export const podCase = (
  id: string,
  title: string,
  shape: Shape,
  act: (on: { stand: Stand; pods: Pods; seconds: number; say: Say }) => Promise<Outcome>,
): Case => ({
  id,
  title,
  run: async (stand, say) => {
    const { seconds } = await stand.become(shape, say);
    return withPods(stand, (pods) => act({ stand, pods, seconds, say }));
  },
});
