/** What an update does to a machine: who reboots, why, and for how long it is away. */
export {
  describeEffect,
  effectOf,
  effectOfLook,
  effectsOf,
  type MachineEffect,
  refusalOf,
  type Word,
} from "./effect";
export { mostHops, wayBetween } from "./hops";
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
