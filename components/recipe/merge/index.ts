/**
 * Merges patches into a machine configuration of another owner, by key, and records the additions. A second merge of
 * the same patches changes nothing. An undo removes only the additions. Unchanged lines of the text keep every byte.
 */

import type { Finding } from "../types";
import { identityOf, isOfModules, type Added, type Addition } from "./added";
import { Applier } from "./apply";
import { readConfiguration, writeConfiguration, type Configuration } from "./documents";
import { nodeAt, put, remove, sameValue, valueOf } from "./tree";
import { intoOwnDocuments, wantedOf } from "./wanted";

export { shortenedAdded, type Added, type Addition, type Place, type Step } from "./added";

/** Outcome of a merge. */
export interface Merged {
  /** The merged configuration; the unchanged input if nothing changes or a conflict exists. */
  configuration: string;
  /** Additions of the merge, for the next merge and for `unmergeConfiguration`. */
  added: Added;
  changed: boolean;
  /** Conflicts between the patches and the configuration. If there is a conflict, the function merges nothing. */
  conflicts: Finding[];
}

/**
 * Merges patches into a live configuration.
 *
 * @param live configuration of the machine: YAML, one or more documents.
 * @param patches strategic-merge patches (YAML text), later ones over earlier ones.
 * @param previous additions of the last merge. This merge may change them, and removes those that the patches no longer
 *   contain.
 * @param release Talos release of the machine, whose rules apply. Default: the newest.
 */
export function mergeConfiguration(
  live: string,
  patches: string[],
  previous?: Added,
  release?: string,
): Merged {
  const configuration = readConfiguration(live);
  const previousAdditions = previous?.additions ?? [];
  const unchanged = (conflicts: Finding[]): Merged => ({
    configuration: live,
    added: { additions: previousAdditions },
    changed: false,
    conflicts,
  });
  const { error, parts } = configuration;
  if (error !== undefined)
    return unchanged([
      {
        check: "adopted-conflict",
        field: "configuration",
        problem: `the machine's configuration cannot be read: ${error}`,
        why: "the update cannot merge the patches into it",
        remedy:
          "print it with `talosctl get machineconfig -o yaml`, and apply a configuration that Talos can read",
      },
    ]);

  const wantedDocuments = wantedOf(patches, release);
  intoOwnDocuments(
    wantedDocuments,
    (document) => wantedDocuments.has(document) || parts.some(({ name }) => name === document),
  );
  const applyTo = (target: Configuration): Applier => {
    const applier = new Applier(target, previousAdditions, release);
    applier.apply(wantedDocuments);
    return applier;
  };
  const count = parts.length;
  // Additions that the patches no longer have are removed first. After the merge such an addition could not be
  // distinguished from a new value at the same place.
  const keptAdditions = new Set(applyTo(readConfiguration(live)).additions.map(identityOf));
  undo(
    configuration,
    previousAdditions.filter((addition) => !keptAdditions.has(identityOf(addition))),
  );
  const applier = applyTo(configuration);
  if (applier.conflicts.length > 0) return unchanged(applier.conflicts);
  const changed = parts.length !== count || parts.some((part) => part.changed);
  return {
    configuration: changed ? writeConfiguration(configuration) : live,
    added: { additions: applier.additions },
    changed,
    conflicts: [],
  };
}

/**
 * Removes the additions of a merge from a live configuration. A value that a user or a tool changed after the merge stays.
 * Returns the unchanged text if there is nothing to remove.
 *
 * @param modules whether to remove additions for kernel modules too. Default: true.
 */
export function unmergeConfiguration(live: string, added: Added, modules = true): string {
  const configuration = readConfiguration(live);
  if (configuration.error !== undefined) return live;
  const count = configuration.parts.length;
  undo(
    configuration,
    modules ? added.additions : added.additions.filter((addition) => !isOfModules(addition)),
  );
  const changed =
    configuration.parts.length !== count || configuration.parts.some((part) => part.changed);
  return changed ? writeConfiguration(configuration) : live;
}

/**
 * Removes additions from a configuration, the last one first. A value that was changed after the merge belongs to
 * another owner and stays. Mappings and lists that a merge created are removed once they are empty.
 */
function undo({ parts }: Configuration, additions: Addition[]): void {
  for (const addition of [...additions].reverse()) {
    const part = parts.find(({ name }) => name === addition.document);
    const node = part && nodeAt(part.document, addition.path);
    if (!part || node === undefined || !sameValue(valueOf(part.document, node), addition.value))
      continue;
    if (addition.what === "document") parts.splice(parts.indexOf(part), 1);
    else if ("old" in addition) put(part.document, addition.path, addition.old);
    else remove(part.document, addition.path);
    part.changed = true;
  }
}
