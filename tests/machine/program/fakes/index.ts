export { FakeClock } from "./clock";
export { FakeCluster, pod } from "./cluster";
export { FakeMachine } from "./machine";
export { schematics, task } from "./task";

/** Thrown where a test kills the program. */
export class Killed extends Error {}
