/**
 * Merges patches into an external machine configuration, by key and with memory. Merging again changes nothing, and
 * taking it back removes just what was added. Works on the text: lines in which nothing changes keep every byte.
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
  /** The configuration; the very text that came in when nothing changed or something is in conflict. */
  configuration: string;
  /** Our part of it, for the next merge and for `unmergeConfiguration`. */
  added: Added;
  changed: boolean;
  /** Reason why the patches cannot be merged. */
  conflicts: Finding[];
}

/**
 * Merges patches into a live configuration.
 *
 * @param live configuration of the machine: YAML, one or more documents.
 * @param patches strategic-merge patches (YAML text), later ones over earlier ones.
 * @param previous what the last merge added: ours to change, and to take away where the patches no longer have it.
 * @param release Talos release that the machine runs, whose rules count. Default: those of the newest.
 */
export function mergeConfiguration(
  live: string,
  patches: string[],
  previous?: Added,
  release?: string,
): Merged {
  const configuration = readConfiguration(live);
  const earlier = previous?.additions ?? [];
  const unchanged = (conflicts: Finding[]): Merged => ({
    configuration: live,
    added: { additions: earlier },
    changed: false,
    conflicts,
  });
  const { error, parts } = configuration;
  if (error !== undefined)
    return unchanged([
      {
        check: "adopted-conflict",
        field: "configuration",
        problem: `the machine's own configuration cannot be read: ${error}`,
        why: "so nothing can be merged into it",
        remedy: "look at it with `talosctl get machineconfig`, and apply one that Talos can read",
      },
    ]);

  const wanted = wantedOf(patches, release);
  intoOwnDocuments(
    wanted,
    (document) => wanted.has(document) || parts.some(({ name }) => name === document),
  );
  const appliedTo = (to: Configuration): Applier => {
    const applier = new Applier(to, earlier, release);
    applier.apply(wanted);
    return applier;
  };
  const count = parts.length;
  // Parts that are no longer ours are removed first: afterwards nothing would tell them from new values at the same
  // place.
  const kept = new Set(appliedTo(readConfiguration(live)).additions.map(identityOf));
  undo(
    configuration,
    earlier.filter((addition) => !kept.has(identityOf(addition))),
  );
  const applier = appliedTo(configuration);
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
 * Takes what a merge added out of a live configuration; what has changed since stays. The very text when there is
 * nothing to take.
 *
 * @param modules whether what was added of kernel modules goes as well. Default: it does.
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
 * Takes additions out of a configuration, the last one first. Values that have changed since belong to others and
 * stay; mappings and lists that were made for additions go when nothing is left in them.
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
