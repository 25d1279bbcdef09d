/** Effects of an update on machines: which machines reboot, why, and for how long they are away. */
export {
  describeEffect,
  effectOf,
  effectOfInspection,
  effectsOf,
  type MachineEffect,
  refusalOf,
  type Word,
} from "./effect";
export { mostIntermediateReleases, upgradePath } from "./hops";
export { changedParts, partsOf } from "./parts";
export {
  changesSomething,
  hopPhases,
  longestRun,
  pausePhases,
  upgradePhases,
  type UpgradePhase,
} from "./upgrade-phases";
export { machineState, type MachineState } from "./state";
export {
  needsBoot,
  waitsForBoot,
  updateEffectOf,
  type Differences,
  type UpdateEffect,
} from "./update-effect";
