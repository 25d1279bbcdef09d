import type { Say } from "../../phases";
import type { Outcome } from "../outcome";
import type { Stand } from "./stand";

/** Something that a cluster with cards must do, or must not. */
export interface Case {
  /** Name for `--cases`. */
  id: string;
  /** What is tried, in the words of a user. */
  title: string;
  /** Tries it. An error is an outcome that did not hold. */
  run(stand: Stand, say: Say): Promise<Outcome>;
}
