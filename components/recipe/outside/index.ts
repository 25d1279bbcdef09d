/** What installs NVIDIA's charts beside a stack: Flux, Argo CD, or a person with a file of values. Pure. */
export { readOutside, type ReadOutside } from "./read";
export type { OutsideRelease } from "./release";
export type { Flaw, OutsideFile, Place } from "./document";
