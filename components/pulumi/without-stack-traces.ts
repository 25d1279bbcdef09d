import type * as pulumi from "@pulumi/pulumi";

/**
 * Registers many resources without the stack traces that the SDK records for every promise (runtime/debuggable.ts). The
 * SDK uses these traces only for `PULUMI_DEBUG_PROMISE_LEAKS`, but Pulumi's command maps each frame to a line of
 * TypeScript: with 250 machines that took about half of the program's time. Pulumi still shows the source position of a
 * resource, which the SDK records separately. Do not use this function if the user has set transformations: they would
 * also run without stack traces.
 *
 * @returns what `register` returns. An error of `register` keeps its message, but has no frames.
 */
export function withoutStackTraces<T>(register: () => T): T {
  if (process.env["PULUMI_DEBUG_PROMISE_LEAKS"]) return register();
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return register();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Returns a function that registers without stack traces, or with them if the user has set transformations, which may
 * need stack traces.
 */
export const withoutStackTracesUnless =
  (isTransformed: boolean) =>
  <T>(register: () => T): T =>
    isTransformed ? register() : withoutStackTraces(register);

/**
 * Whether a resource has transformations that its class does not set: from the user's options, from parents or from the
 * stack.
 *
 * @param name options of the resource, with those that its class adds.
 * @param opts options that the user passed.
 */
export function transformsMore(
  resource: pulumi.Resource,
  name: pulumi.ResourceOptions,
  opts: pulumi.ResourceOptions = {},
): boolean {
  const count = ({ transformations = [] }: pulumi.ResourceOptions): number =>
    transformations.length;
  // Public at run time, but not in the SDK's types (pulumi/pulumi v3.248.0, sdk/nodejs/resource.ts).
  const { __transformations: all = [] } = resource as unknown as { __transformations?: unknown[] };
  return all.length > count(name) - count(opts);
}
