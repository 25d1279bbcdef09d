import { customizationPath, type Finding } from "../../components/recipe/index";
import { mergesInMemory } from "../../components/recipe/machine/containerd/effective";
import { readPatch } from "../../components/recipe/machine/user-patches";
import type { Piece } from "../lines";

/** A part of containerd's configuration (20-customization.part) that a machine configuration or patch writes. */
export interface Part {
  extra: string;
  /** The field or document that writes the part. */
  piece: Piece;
  /** The line of the file that names the path. */
  line: number;
}

/**
 * The parts of containerd's configuration that a machine configuration or patch writes.
 *
 * @param patchText the text of `piece`, or the effect of its JSON patch, in the form of a machine configuration
 */
export function partsOf(piece: Piece, patchText: string): Part[] {
  const items = readPatch(patchText, "").files.filter(({ path }) => path === customizationPath);
  const lines = piece.text
    .split("\n")
    .flatMap((line, index) =>
      line.includes(customizationPath) && !line.trim().startsWith("#") ? [index] : [],
    );
  return items.map(({ content: extra }, index) => ({
    extra,
    piece,
    line: piece.line + (lines[index] ?? 0),
  }));
}

/**
 * Findings about a machine whose files write the part more than once. Each part after the first gets a finding, which
 * names the place of the first.
 */
export function partWriters(
  field: string,
  parts: readonly Part[],
  talosVersion: string,
): Finding[] {
  const [first, ...laterParts] = parts;
  if (first === undefined) return [];
  const why = mergesInMemory(talosVersion)
    ? "Talos ≥ 1.14 uses only the first item for this file, and silently ignores later items"
    : "with a second item for this file, CRI and kubelet do not start, and the machine reboots again and again";
  return laterParts.map(({ piece: { file }, line }) => ({
    check: "machine-file-once",
    field,
    problem: `${customizationPath} is written again: ${first.piece.file}:${first.line} already writes it`,
    place: { file, line },
    why,
    remedy: "write the whole file in one item of machine.files",
  }));
}
