import type { Observations } from "../observations";

/** Names of known causes that no fix of a stack prevents: somebody, or another program, has to bring them about. */
export const causeIds = [
  "runtimeHandler",
  "driverLibraries",
  "driverRoot",
  "toolkitPrograms",
  "mpsServer",
  "sharedRequest",
  "migMonitors",
  "releasePending",
] as const;

/** Name of a known cause. */
export type CauseId = (typeof causeIds)[number];

/** Something that is known to go wrong, and what it prints. */
export interface Cause {
  symptom: string;
  cause: string;
  remedy: string;
  /** What is printed, word for word; `…` stands for what differs. */
  errors: string[];
  /** What is printed, in every release's form. */
  texts: RegExp;
  /** What else tells of it, one line each. */
  signs?: (seen: Observations) => string[];
  source: string;
}
