import type { Addition } from "./added";
import type { Configuration } from "./documents";
import { nodeAt, put, remove, sameValue, valueOf } from "./tree";

/**
 * Takes additions out of a configuration, the last one first. What somebody changed since is theirs and stays; mappings and
 * lists that were made for additions go when nothing is left in them.
 */
export function undo(configuration: Configuration, additions: Addition[]): void {
  for (const addition of [...additions].reverse()) {
    const part = configuration.parts.find(({ name }) => name === addition.document);
    const node = part && nodeAt(part.document, addition.path);
    if (!part || node === undefined || !sameValue(valueOf(part.document, node), addition.value)) continue;
    if (addition.what === "document") configuration.parts.splice(configuration.parts.indexOf(part), 1);
    else if ("old" in addition) put(part.document, addition.path, addition.old);
    else remove(part.document, addition.path);
    part.changed = true;
  }
}
