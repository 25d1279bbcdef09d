import { ownVolumes } from "../../facts/data/since";
import { asText } from "../user-patches";
import { isMapping } from "../../mapping";
import { size, text, words, type Rule } from "./value-rules";

/**
 * What Talos asks of disks, volumes and their keys. Source: siderolabs/talos v1.13.0, pkg/machinery/config/types/block (Validate)
 * and types/v1alpha1.
 */

/** A disk's size with an operator before it (v1alpha1_types.go, InstallDiskSizeMatcher). */
export const diskSize = text(
  (value) => size(value.replace(/^\s*(>=|<=|>|<|==)?\s*/, "")) === undefined,
  "is not a disk size",
  "write e.g. `<= 2TB`",
);

/** Keys of an encrypted volume: a slot each. */
export const keySlots: Rule = (value) => {
  const slots = Array.isArray(value) ? value.filter(isMapping).map((key) => key["slot"] ?? 0) : [];
  const twice = slots.find((slot, index) => slots.indexOf(slot) < index);
  return twice === undefined
    ? undefined
    : { problem: `has slot ${asText(twice)} twice`, remedy: "give each key a slot of its own" };
};

/** The name of a volume of Talos' own. */
export const ownVolume: Rule = (value, minor = Infinity) =>
  words(...Object.entries(ownVolumes).flatMap(([name, since]) => (minor >= since ? [name] : [])))(value);

/** The name of a volume that was there before: its label is not made from it, so it has no limit (existing_volume_config.go). */
export const existingVolume = text(
  (name) => /^[A-Za-z0-9-]+$/.test(name),
  "is not a volume name",
  "write letters, digits and hyphens",
);

/** Bytes of a size as far as two of them can be compared; undefined for a share, or where it is none. */
function bytesOf(value: unknown): number | undefined {
  const [, amount, letter = "", binary = ""] = /^(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?)b?|b)?$/i.exec(asText(value)) ?? [];
  if (amount === undefined) return undefined;
  return Number(amount) * (binary === "" ? 1000 : 1024) ** ("kmgtpe".indexOf(letter.toLowerCase() || " ") + 1);
}

/** The size of a volume: its least below its most. */
export const provisioning: Rule = (value) => {
  if (!isMapping(value)) return undefined;
  const [least, most] = [bytesOf(value["minSize"]), bytesOf(value["maxSize"])];
  return least !== undefined && most !== undefined && least > most
    ? { problem: "has a minSize above its maxSize", remedy: "write a maxSize that is not below" }
    : undefined;
};

/** A volume that is a folder of the EPHEMERAL one has nothing of its own (types/block/user_volume_config.go). */
export const userVolume: Rule = (value) => {
  const own = ["provisioning", "encryption", "filesystem"].filter((key) => isMapping(value) && isMapping(value[key]));
  return isMapping(value) && value["volumeType"] === "directory" && own.length > 0
    ? { problem: `is a directory with ${own.join(", ")}`, remedy: `leave ${own.join(", ")} out` }
    : undefined;
};
