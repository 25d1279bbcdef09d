/** What installs NVIDIA's charts beside a stack: Flux, Argo CD, or a person with a file of values. Pure. */
export { readOutside, type OutsideRelease, type ReadOutside } from "./read";
export type { Flaw, OutsideFile, Place } from "./document";
