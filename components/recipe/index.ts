/**
 * The recipe: what is right for a Talos release, its GPUs and a mode, and everything that is wrong with a stack. Pure
 * functions over plain data; nothing here knows Pulumi or contacts anything.
 */
export * from "./spec";
export * from "./types";
export { parseSpec } from "./parse";
export { planCluster } from "./plan";
export { assertValid, checkCluster, findingsOf } from "./check-cluster";
export { InvalidStackError, renderFinding, renderFindings } from "./findings";
export { mergeConfiguration, unmergeConfiguration, type Added, type Merged } from "./merge";
export { checks } from "./checks";
export type { Check, CheckContext, Complaint } from "./check";
export { fixes, type Fix } from "./fixes";
export { fixIds, type FixId } from "./fix-ids";
export { diagnose, type Diagnosis } from "./diagnosis";
export type * from "./observations";
export { customizationPath } from "./containerd";
export { schematicOf, installerImage } from "./schematic";
export { findRelease, extensionsOf, type Release } from "./release";
export { findCard, migOf, powerRangeOf } from "./card";
export type { Card } from "./data/cards";
export { cudaOfDriver, smokeTestImage } from "./cuda";
export * from "./omni";
