import { messagesOf, type Observations } from "./observations";

/**
 * A line about an observation. An observation on a single node names the node, because the observation's cause is on
 * that node or in the whole cluster. An observation without a node may have any cause.
 */
export type Evidence = string | { node: string; line: string };

/** Text of a piece of evidence. */
export const lineOf = (evidence: Evidence): string =>
  typeof evidence === "string" ? evidence : evidence.line;

/**
 * Whether an observation may have the same cause as one of the reasons: both name the same node, or at least one of the
 * two names no node.
 */
export const followsFrom = (evidence: Evidence, reasons: readonly Evidence[]): boolean =>
  reasons.some(
    (reason) =>
      typeof evidence === "string" || typeof reason === "string" || evidence.node === reason.node,
  );

/**
 * Lines of messages that match a pattern, each with the name of the object that the message is about. With a namespace,
 * only messages about this namespace or about no namespace.
 */
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

/** A text escaped for a regular expression. */
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
