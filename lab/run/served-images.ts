import { helpers } from "../../components/recipe/facts/data/images.json";
import type { LabOptions } from "../options";

/**
 * A stack's configuration with the images that the lab's registry can serve to its machines: by their tags. A real
 * containerd refuses an image that has another digest than its name, and the lab's registry makes its own images. On
 * the real node the pod of the markers stayed in ErrImagePull ("unexpected commit digest"). Emulated machines pull
 * nothing. With a card of this computer, images come from their own registries.
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
