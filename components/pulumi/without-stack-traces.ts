import type * as pulumi from "@pulumi/pulumi";

/**
 * Registers many resources without the stacks that the SDK writes down of every promise (runtime/debuggable.ts). It
 * looks at them for `PULUMI_DEBUG_PROMISE_LEAKS` alone, and Pulumi's command maps each of their frames to a line of
 * TypeScript: with 250 machines that was about half of the program's time. Pulumi keeps where a resource comes from;
 * the SDK asks for that by itself. For a program that has no transformations of a user's: they would run without
 * frames, too.
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

/** Registers without stack traces, unless the component has transformations of its user, which need the frames. */
export const withoutStackTracesUnless =
  (isTransformed: boolean) =>
  <T>(register: () => T): T =>
    isTransformed ? register() : withoutStackTraces(register);

/**
 * Whether a resource has transformations that its own class did not give it: of its options, its parents or the stack.
 *
 * @param given its options with those of its class.
 * @param opts its options as its user gave them.
 */
export function transformsMore(
  resource: pulumi.Resource,
  given: pulumi.ResourceOptions,
  opts: pulumi.ResourceOptions = {},
): boolean {
  const count = ({ transformations = [] }: pulumi.ResourceOptions): number =>
    transformations.length;
  // Public at run time, but not in the SDK's types (pulumi/pulumi v3.248.0, sdk/nodejs/resource.ts).
  const { __transformations: all = [] } = resource as unknown as { __transformations?: unknown[] };
  return all.length > count(given) - count(opts);
}
