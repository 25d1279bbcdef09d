import { messagesOf, type Observations } from "./observations";

/**
 * A line about an observation. An observation on a single node names the node, because its cause is on that node or in
 * the whole cluster. An observation without a node may have any cause.
 */
export type Evidence = string | { node: string; line: string };

/** Text of a piece of evidence. */
export const lineOf = (evidence: Evidence): string =>
  typeof evidence === "string" ? evidence : evidence.line;

/**
 * Whether an observation and one of the reasons may have the same cause: both are on one node, or at least one names no
 * node.
 */
export const followsFrom = (evidence: Evidence, reasons: readonly Evidence[]): boolean =>
  reasons.some(
    (reason) =>
      typeof evidence === "string" || typeof reason === "string" || evidence.node === reason.node,
  );

/** Matching lines of messages, each with the name of its subject; with a namespace, only messages of that namespace. */
export function matching(
  observations: Observations,
  pattern: RegExp,
  namespace?: string,
): Evidence[] {
  const lines = messagesOf(observations)
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

/** A text as a literal part of a regular expression. */
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
