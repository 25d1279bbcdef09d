import type { Say } from "../../phases";
import { type Pods, withPods } from "./pods";
import type { Shape } from "./shape";
import type { Stand } from "./stand";

/** Result of a case. */
export interface Outcome {
  /** Whether it was as it must be; undefined where it could not be tried. */
  held: boolean | undefined;
  /** Observation, or the reason why the case was not tried: one sentence. */
  seen: string;
}

/** The outcome of a case that was as it must be. `seen`: what shows it, one sentence. */
export const held = (seen: string): Outcome => ({ held: true, seen });
/** The outcome of a case that was not as it must be. `seen`: what was seen instead, one sentence. */
export const wrong = (seen: string): Outcome => ({ held: false, seen });
/** The outcome of a case that could not be tried. `why`: the reason, one sentence. */
export const untried = (why: string): Outcome => ({ held: undefined, seen: why });

/** Something that a cluster with cards must do, or must not. */
export interface Case {
  /** Name for `--cases`. */
  id: string;
  /** Subject of the case, in the words of a user. */
  title: string;
  /** Tries it. An error is an outcome that did not hold. */
  run(stand: Stand, say: Say): Promise<Outcome>;
}

/** A case of pods, which are gone afterwards, on the stack of a shape. `seconds`: what the update to that took. */
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
