import { customizationPath } from "../../components/recipe/index";
import { mergesInMemory } from "../../components/recipe/machine/containerd/effective";
import type { FieldFinding } from "../../components/recipe/rules/finding";
import type { ContainerdItem, NvidiaPart } from "./patch";

const itemsOf = (parts: NvidiaPart[]): ContainerdItem[] =>
  parts.flatMap(({ containerd }) => containerd);

const takesFirst = (talosVersion: string | undefined): boolean =>
  talosVersion !== undefined && mergesInMemory(talosVersion);

/**
 * NVIDIA's options of containerd that the stack imports; undefined if there are none. If several patches write the
 * file, Talos ≥ 1.14 uses only the first one. NVIDIA's options in a later patch are then not imported. With an older
 * release such a machine does not boot, and the first options of NVIDIA's are imported.
 */
export function partInForce(
  parts: NvidiaPart[],
  talosVersion: string | undefined,
): string | undefined {
  const items = itemsOf(parts);
  const counted = takesFirst(talosVersion) ? items.slice(0, 1) : items;
  return counted.find(({ isOfNvidia }) => isOfNvidia)?.content;
}

/** Findings about patches that write the file with containerd's options more than once (the check containerd-part). */
export function writersNote(
  field: string,
  parts: NvidiaPart[],
  talosVersion: string | undefined,
): FieldFinding[] {
  const items = itemsOf(parts);
  if (items.length < 2) return [];
  const places = items.flatMap(({ place }) => place ?? []).join(", ");
  const ofNvidia = items.findIndex(({ isOfNvidia }) => isOfNvidia);
  const choiceText = (): string => {
    if (ofNvidia < 0) return "";
    if (partInForce(parts, talosVersion) === undefined)
      return ", so the stack does not import NVIDIA's item, which is a later item";
    return `, and the stack imports ${ofNvidia === 0 ? "the first" : "NVIDIA's"} item`;
  };
  return [
    {
      field: `${field}.containerd`,
      problem: `the other tool writes ${customizationPath} ${items.length} times${places === "" ? "" : ` (${places})`}`,
      why: takesFirst(talosVersion)
        ? `from Talos 1.14 on only the first item has an effect${choiceText()}`
        : `up to Talos 1.13 the second item prevents the boot. From 1.14 on only the first item has an effect${choiceText()}`,
      remedy: "combine these items into one item of the other tool's files or patches",
    },
  ];
}
