/** The recipe: pure functions that plan and check a stack. They do not use Pulumi or the network. */
export * from "./spec/index";
export * from "./types";
export { parseSpec } from "./stack/parse";
export { planCluster } from "./plan";
export { checkCluster, isRefusal } from "./checks/check-cluster";
export { findingsOf, judge, judgeWithFileTexts, type Judged } from "./judge";
export { InvalidStackError, renderFinding, renderFindings, renderRemark } from "./stack/findings";
export { mergeConfiguration, unmergeConfiguration, type Added, type Merged } from "./merge";
export { checks } from "./checks";
export { customizationPath } from "./machine/containerd/containerd";
export * from "./machine/losses";
export { installerImage, installerKind, readSchematic, schematicOf } from "./machine/schematic";
export { findRelease, extensionsOf, type Release } from "./facts/talos-release";
export { type Card, cardOf, findCard, migOf, powerRangeOf } from "./facts/card";
export { cudaOfDriver, smokeTestImage } from "./facts/cuda";
export * from "./machine/omni";
export * from "./effect";
