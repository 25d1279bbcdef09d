import type { Observations } from "../../../components/diagnosis/observations";

/** What was seen, and what was not. */
export interface Seen {
  observations: Observations;
  /** What should have been looked at and could not be, with the reason, one sentence each. */
  unseen: string[];
  /** What the credentials may not look at, by their role, one sentence each. */
  leftOut: string[];
}
