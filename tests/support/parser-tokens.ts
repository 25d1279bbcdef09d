import { Parser } from "yaml";

/**
 * Counts the tokens that the YAML parser takes from now on; the returned function ends that and gives the number. A mock
 * of Jest would keep each of the hundreds of thousands of calls.
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
