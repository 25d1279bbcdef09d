/**
 * Registers many resources without the stacks that the SDK writes down of every promise (runtime/debuggable.ts). It looks at them for
 * `PULUMI_DEBUG_PROMISE_LEAKS` alone, and Pulumi's command maps each of their frames to a line of TypeScript: with a thousand machines
 * that was most of a preview. Where a resource comes from, which Pulumi keeps, the SDK asks for by itself.
 *
 * @returns what `register` does; an error of its is as it was, without frames.
 */
export function withoutFrames<T>(register: () => T): T {
  if (process.env["PULUMI_DEBUG_PROMISE_LEAKS"]) return register();
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return register();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
