/** What doctor and lab share: what can be seen of a system, what is known to go wrong, and what prevents it. Pure. */
export { diagnose, type Diagnosis } from "./diagnose";
export { type Difference, differences, inOneLine } from "./differences";
export {
  type Cause,
  type CauseId,
  causeIds,
  causes,
  type Fix,
  fixes,
  type FixId,
  fixIds,
} from "./known";
export type * from "./observations";
