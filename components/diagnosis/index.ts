/** Code that `doctor` and the lab share: observations of a system, known failures, and their fixes. Pure. */
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
