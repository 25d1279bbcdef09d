/**
 * Registers many resources without the stacks that the SDK writes down of every promise (runtime/debuggable.ts). It looks at them for
 * `PULUMI_DEBUG_PROMISE_LEAKS` alone, and Pulumi's command maps each of their frames to a line of TypeScript: with 250 machines that
 * was about half of the program's time. Pulumi keeps where a resource comes from; the SDK asks for that by itself.
 * For a program that has no transformations of a user's: they would run without frames, too.
 *
 * @returns what `register` returns. What `register` throws keeps its message, but has no frames.
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
