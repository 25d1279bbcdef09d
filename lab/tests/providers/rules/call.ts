import type { Properties, ResourceCall } from "../../../providers/provider";

/**
 * A call for a resource that does not exist yet.
 *
 * @param overrides fields that differ, e.g. the outputs of an existing resource
 */
export const callOf = (
  type: string,
  inputs: Properties,
  overrides: Partial<ResourceCall> = {},
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
  ...overrides,
});
