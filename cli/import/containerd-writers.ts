import { customizationPath } from "../../components/recipe/index";
import { mergesInMemory } from "../../components/recipe/machine/containerd/effective";
import type { FieldFinding } from "../../components/recipe/rules/finding";
import type { ContainerdItem, NvidiaPart } from "./patch";

const itemsOf = (parts: NvidiaPart[]): ContainerdItem[] =>
  parts.flatMap(({ containerd }) => containerd);

const takesFirst = (talosVersion: string | undefined): boolean =>
  talosVersion !== undefined && mergesInMemory(talosVersion);

/**
 * NVIDIA's part of the file of containerd's parts, of all that writes it. Where several do, Talos ≥ 1.14 takes the
 * first, whatever it says, and a machine of an older release does not start: then the first of NVIDIA's is what its
 * owner wants. Undefined where there is none.
 */
export function partInForce(
  parts: NvidiaPart[],
  talosVersion: string | undefined,
): string | undefined {
  const items = itemsOf(parts);
  const counted = takesFirst(talosVersion) ? items.slice(0, 1) : items;
  return counted.find(({ isOfNvidia }) => isOfNvidia)?.content;
}

/** Findings about patches that write the file of containerd's parts more than once (the check containerd-part). */
export function writersNote(
  field: string,
  parts: NvidiaPart[],
  talosVersion: string | undefined,
): FieldFinding[] {
  const items = itemsOf(parts);
  if (items.length < 2) return [];
  const places = items.flatMap(({ place }) => place ?? []).join(", ");
  const ofNvidia = items.findIndex(({ isOfNvidia }) => isOfNvidia);
  const taken = (): string => {
    if (ofNvidia < 0) return "";
    if (partInForce(parts, talosVersion) === undefined)
      return "; NVIDIA's is not among what counts, so the stack has none of it";
    return `; the stack has the ${ofNvidia === 0 ? "first" : "first of NVIDIA's"}`;
  };
  return [
    {
      field: `${field}.containerd`,
      problem: `the other tool writes ${customizationPath} ${items.length} times${places === "" ? "" : ` (${places})`}`,
      why: takesFirst(talosVersion)
        ? `from Talos 1.14 on only the first one counts${taken()}`
        : `up to Talos 1.13 the second item keeps the machine from booting, and from 1.14 on only the first one counts${taken()}`,
      remedy: "write all of it in one item of the other tool's files or patches",
    },
  ];
}
