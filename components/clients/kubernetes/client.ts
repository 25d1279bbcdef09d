import type * as parts from "./kubernetes-client";

/**
 * The client of Kubernetes. Loaded when Kubernetes is asked something for the first time: it is four fifths of the code, and
 * a run that asks only machines begins in half the time.
 */
export function client(): typeof parts {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the build leaves this file beside the program
  return require("./kubernetes-client") as typeof parts;
}
