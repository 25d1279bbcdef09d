/** What doctor and lab share: what can be seen of a system, what is known to go wrong, and what prevents it. Pure. */
export { fixes, type Fix } from "./fixes";
export { fixIds, type FixId } from "./fix-ids";
export { diagnose, type Diagnosis } from "./rules";
export type * from "./observations";
