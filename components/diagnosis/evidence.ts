import { messagesOf, type Observations } from "./observations";

/**
 * A line that says what was seen. One that was seen on a single node names it: only what is wrong with that node, or
 * with the whole cluster, can be the reason. A plain line may follow from anything.
 */
export type Evidence = string | { node: string; line: string };

/** Text of a piece of evidence. */
export const lineOf = (evidence: Evidence): string =>
  typeof evidence === "string" ? evidence : evidence.line;

/** Whether what was seen can follow from something that other evidence speaks for. */
export const followsFrom = (seen: Evidence, others: readonly Evidence[]): boolean =>
  others.some(
    (other) => typeof seen === "string" || typeof other === "string" || seen.node === other.node,
  );

/** Lines of messages that match, each with what it is about; those of other namespaces stay out where one is given. */
export function matching(seen: Observations, pattern: RegExp, namespace?: string): Evidence[] {
  const lines = messagesOf(seen)
    .filter(
      (message) =>
        pattern.test(message.text) &&
        (namespace === undefined ||
          message.namespace === undefined ||
          message.namespace === namespace),
    )
    .map(({ about, node, text }): [string, Evidence] => {
      const line = `${about}: ${lineWith(pattern, text)}`;
      return [line, node === undefined ? line : { node, line }];
    });
  return [...new Map(lines).values()];
}

function lineWith(pattern: RegExp, text: string): string {
  const line = text.split("\n").find((candidate) => pattern.test(candidate)) ?? text;
  if (line.length <= 400) return line;
  const start = Math.max(0, line.search(pattern) - 80);
  return `${start > 0 ? "…" : ""}${line.slice(start, start + 400)}${start + 400 < line.length ? "…" : ""}`;
}

/** A text as a part of a pattern. */
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
