import { Parser } from "yaml";

/**
 * Counts the tokens that the YAML parser reads from now on. The returned function stops the count, and returns the
 * number. A mock of Jest would keep each of the hundreds of thousands of calls.
 */
export function startTokenCount(): () => number {
  const descriptor = Object.getOwnPropertyDescriptor(Parser.prototype, "next")!;
  const originalNext = descriptor.value as (this: Parser, token: string) => Generator;
  let count = 0;
  Object.defineProperty(Parser.prototype, "next", {
    ...descriptor,
    value(this: Parser, token: string) {
      count++;
      return originalNext.call(this, token);
    },
  });
  return () => {
    Object.defineProperty(Parser.prototype, "next", descriptor);
    return count;
  };
}
