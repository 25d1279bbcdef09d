import { isDeepStrictEqual } from "node:util";
import { talosDocuments, valueOfDocument } from "../machine/talos-yaml";
import { isRecord } from "../machine/user-patches";
import type { Step } from "./added";
import { mainDocument, nameOf } from "./documents";
import { isReplaced, isWhole, keyOfList } from "./keyed-lists";

/** What the patches want, by document name. */
export type Wanted = Map<string, Record<string, unknown>>;

/** Puts patches together, later ones over earlier ones, lists by key. */
export function wantedOf(patches: string[]): Wanted {
  const wanted: Wanted = new Map();
  for (const patch of patches) {
    for (const document of talosDocuments(patch)) {
      const value = valueOfDocument(document);
      if (!isRecord(value)) continue;
      const name = nameOf(document);
      wanted.set(name, mergeMaps(wanted.get(name) ?? {}, value, []));
    }
  }
  return wanted;
}

/**
 * Talos ≥ 1.14 may say how to install in a document of its own, beside which `machine.install` is an error
 * (talos v1.14.0-rc.1, pkg/machinery/config/types/runtime/unattended_install.go). The image then goes there.
 */
export function intoInstallDocument(wanted: Wanted, hasInstallDocument: boolean): void {
  const machine = wanted.get(mainDocument)?.["machine"];
  const install = isRecord(machine) ? machine["install"] : undefined;
  if (!hasInstallDocument || !isRecord(machine) || !isRecord(install) || install["image"] === undefined) return;
  const { image, ...rest } = install;
  const { install: _, ...others } = machine;
  wanted.set(mainDocument, {
    ...wanted.get(mainDocument),
    machine: Object.keys(rest).length > 0 ? { ...others, install: rest } : others,
  });
  wanted.set(
    "UnattendedInstallConfig",
    mergeMaps(wanted.get("UnattendedInstallConfig") ?? {}, { installer: { image } }, []),
  );
}

function mergeMaps(
  into: Record<string, unknown>,
  from: Record<string, unknown>,
  path: Step[],
): Record<string, unknown> {
  const merged = { ...into };
  for (const [key, value] of Object.entries(from)) {
    // Talos, too, takes a field that holds nothing for one that is not there.
    if (value !== null && value !== undefined) merged[key] = mergeValue(merged[key], value, [...path, key]);
  }
  return merged;
}

function mergeValue(old: unknown, value: unknown, path: Step[]): unknown {
  if (isReplaced(path)) return value;
  if (isRecord(old) && isRecord(value)) return mergeMaps(old, value, path);
  if (Array.isArray(old) && Array.isArray(value)) return mergeLists(old, value, path);
  if (Array.isArray(value)) return mergeLists([], value, path);
  if (isRecord(value)) return mergeMaps({}, value, path);
  return value;
}

function mergeLists(old: unknown[], items: unknown[], path: Step[]): unknown[] {
  const key = keyOfList(path);
  const merged = [...old];
  for (const item of items) {
    const same = (other: unknown): boolean =>
      key !== undefined && isRecord(item) && isRecord(other)
        ? String(other[key]) === String(item[key])
        : isDeepStrictEqual(other, item);
    const index = merged.findIndex(same);
    const found = merged[index];
    if (index < 0) merged.push(item);
    else if (isRecord(found) && isRecord(item)) {
      const step = { key: key ?? "", id: String(item[key ?? ""]) };
      merged[index] = isWhole(path) ? item : mergeMaps(found, item, [...path, step]);
    }
  }
  return merged;
}
