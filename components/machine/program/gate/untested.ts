/** Annotation of a smoke test that was given up: why it could not run. The doctor reads it. */
export const UNTESTED = "talos-gpu/untested";
