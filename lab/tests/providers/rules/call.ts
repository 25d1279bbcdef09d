import type { Properties, ResourceCall } from "../../../providers/provider";

/**
 * A call of a resource that does not exist yet.
 *
 * @param more what differs, e.g. the outputs of one that exists.
 */
export const callOf = (
  type: string,
  inputs: Properties,
  more: Partial<ResourceCall> = {},
): ResourceCall => ({
  type,
  name: "it",
  inputs,
  oldInputs: {},
  oldOutputs: {},
  ignoreChanges: [],
  preview: false,
  timeoutSeconds: 0,
  signal: new AbortController().signal,
  log: () => undefined,
  ...more,
});
