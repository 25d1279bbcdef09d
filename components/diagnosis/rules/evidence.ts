import { messagesOf, type Observations } from "../observations";

/** Lines of messages that match, each with what it is about; those of other namespaces stay out where one is given. */
export function matching(seen: Observations, pattern: RegExp, namespace?: string): string[] {
  const lines = messagesOf(seen)
    .filter(
      (message) =>
        pattern.test(message.text) &&
        (namespace === undefined || message.namespace === undefined || message.namespace === namespace),
    )
    .map((message) => `${message.about}: ${lineWith(pattern, message.text)}`);
  return [...new Set(lines)];
}

function lineWith(pattern: RegExp, text: string): string {
  const line = text.split("\n").find((candidate) => pattern.test(candidate)) ?? text;
  if (line.length <= 400) return line;
  const start = Math.max(0, line.search(pattern) - 80);
  return `${start > 0 ? "…" : ""}${line.slice(start, start + 400)}${start + 400 < line.length ? "…" : ""}`;
}
