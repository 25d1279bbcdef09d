import { stackText } from "../stack-text";
import type { Discovered } from "./stack-of";

/**
 * The stack file of a cluster.
 *
 * @param source what was looked at, e.g. the URL of its Kubernetes API.
 */
export function renderDiscovered(
  { spec, notes, comments, findings }: Discovered,
  unseen: readonly string[],
  source: string,
): string {
  const found = findings.map(({ field, problem, remedy }) => `${field}: ${problem}; ${remedy}`);
  const head = [`The cluster at ${source}, as it was seen; nothing was changed.`];
  return stackText(spec, { head, left: [...unseen, ...found, ...notes], fields: comments });
}
