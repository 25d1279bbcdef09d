import { isMap, isSeq } from "yaml";
import type { Addition } from "./added";
import type { Configuration } from "./documents";
import { memberOf, nodeAt, remove, removeMember, replaceItem, sameValue, setIn, valueOf } from "./tree";

/**
 * Takes additions out of a configuration, the last one first. What somebody changed since is theirs and stays; mappings and
 * lists that were made for additions go when nothing is left in them.
 */
export function undo(configuration: Configuration, additions: Addition[]): void {
  for (const addition of [...additions].reverse()) undoOne(configuration, addition);
}

function undoOne(configuration: Configuration, addition: Addition): void {
  const part = configuration.parts.find((candidate) => candidate.name === addition.document);
  if (!part) return;
  const { document } = part;
  const node = nodeAt(document, addition.path);
  const unchanged = node !== undefined && sameValue(valueOf(document, node), addition.value);
  switch (addition.what) {
    case "document":
      if (unchanged) configuration.parts.splice(configuration.parts.indexOf(part), 1);
      return;
    case "item":
      if (!unchanged) return;
      if ("old" in addition) replaceItem(document, addition.path.slice(0, -1), node, addition.old);
      else remove(document, addition.path);
      break;
    case "member":
      if (!isSeq(node) || !memberOf(document, node, addition.value)) return;
      removeMember(document, addition.path, addition.value);
      break;
    case "scalar":
      if (!unchanged) return;
      restore(document, addition);
      break;
    case "container":
      if (!(isMap(node) || isSeq(node)) || node.items.length > 0) return;
      restore(document, addition);
      break;
  }
  part.changed = true;
}

function restore(document: Parameters<typeof setIn>[0], addition: Addition): void {
  const key = addition.path.at(-1);
  if ("old" in addition && typeof key === "string") setIn(document, addition.path.slice(0, -1), key, addition.old);
  else remove(document, addition.path);
}
