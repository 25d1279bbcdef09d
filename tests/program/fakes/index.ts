export { FakeClock } from "./clock";
export { FakeCluster, nodeState, pod, webhookService } from "./cluster";
export { failsWith } from "./failing";
export { FakeMachine } from "./machine";
export { factoryImage, NVIDIA_MODULES, schematics, createUpgradeTask } from "./task";

/** Thrown where a test kills the program. */
export class Killed extends Error {}
