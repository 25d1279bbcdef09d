import { helpers } from "../../components/recipe/facts/data/images.json";
import type { LabOptions } from "../options";

/**
 * Removes the digests from a stack's images, so that the lab's registry can serve them by tag. The registry makes its
 * own images, and a real containerd refuses an image whose digest differs from the name. On the real node the pod of
 * the markers stayed in ErrImagePull ("unexpected commit digest"). Emulated machines pull nothing. With a card of this
 * computer, images come from their public registries.
 */
export function withServedImages(
  config: Record<string, unknown>,
  { machines, card }: Pick<LabOptions, "machines" | "card">,
): Record<string, unknown> {
  if (machines === "emulated" || card !== undefined) return config;
  const images = { ...helpers, ...(config["images"] as object | undefined) };
  const pinned = Object.entries(images).filter(([, image]) => image.includes("@"));
  if (pinned.length === 0) return config;
  const tagged = pinned.map(([role, image]) => [role, image.replace(/@.*$/, "")]);
  return { ...config, images: { ...images, ...(Object.fromEntries(tagged) as object) } };
}
