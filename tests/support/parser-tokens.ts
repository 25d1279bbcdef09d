import { Parser } from "yaml";

/**
 * Counts the tokens that the YAML parser reads from now on. The returned function stops the count, and returns the
 * number. A mock of Jest would keep each of the hundreds of thousands of calls.
 */
export function countingTokens(): () => number {
  const own = Object.getOwnPropertyDescriptor(Parser.prototype, "next")!;
  const next = own.value as (this: Parser, token: string) => Generator;
  let count = 0;
  Object.defineProperty(Parser.prototype, "next", {
    ...own,
    value(this: Parser, token: string) {
      count++;
      return next.call(this, token);
    },
  });
  return () => {
    Object.defineProperty(Parser.prototype, "next", own);
    return count;
  };
}
