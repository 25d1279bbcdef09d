import * as z from "zod";
import type { FieldFinding } from "../../clients/failure";
import { type BootImage, withoutRoom } from "../../recipe/machine/boot-partition";
import type { RunningImage } from "../../recipe/machine/losses";
import { installerAt, installerImage } from "../../recipe/machine/schematic";
import { askOnce } from "./ask-once";
import { imageParts, namesSchematic } from "./image-parts";
import { BUILT, manifestTypes, manifestUrl } from "./sources";
import type { AskedMachine } from "./task";
import type { Places, Web } from "./web";

/**
 * Returns a lower bound of the number of bytes that an installer image writes to the boot partition; undefined if it is
 * unknown.
 */
export type SizeOfImage = (installer: string) => Promise<number | undefined>;

/** The Factory's images are lists of images for amd64 and arm64 (image-factory v1.2.0, frontend/http/registry.go). */
const index = z.object({ manifests: z.array(z.object({ digest: z.string() })) });

/**
 * An installer's second layer has the files of the boot loader, kernel and initramfs (talos v1.13.9, pkg/imager/out.go,
 * outInstaller). These files are compressed already, so the layer is hardly smaller than the files.
 */
const manifest = z.object({ layers: z.array(z.object({ size: z.number() })).min(2) });

/** Asks an Image Factory for the sizes of its images, at most once for each image in a run. */
export const sizesOf = (web: Web, places: Places): SizeOfImage =>
  askOnce(async (installer) => {
    const parts = imageParts(installer);
    if (parts === undefined || !namesSchematic(parts.name)) return undefined;
    const answerTo = async (reference: string): Promise<unknown> => {
      const url = manifestUrl({ ...parts, tag: reference }, places);
      const answer = await web.get(url, { accept: manifestTypes, limit: BUILT, retry: false });
      return "status" in answer && answer.status === 200 ? parseJson(answer.body) : undefined;
    };
    const list = index.safeParse(await answerTo(parts.tag));
    const digests = list.success ? list.data.manifests.map(({ digest }) => digest) : [];
    const sizes: number[] = [];
    for (const digest of digests) {
      const read = manifest.safeParse(await answerTo(digest));
      if (!read.success) return undefined;
      sizes.push(read.data.layers[1]!.size);
    }
    // The smallest, since the task does not contain the machine's architecture.
    return sizes.length === 0 ? undefined : Math.min(...sizes);
  });

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Finding about a machine whose boot partition cannot hold the images of its upgrade.
 *
 * @param release Talos release that the machine runs.
 * @param hops Talos releases that the upgrade installs in between, before the wanted one.
 */
export async function askForRoom(
  {
    machine,
    installerImage: nextImage,
    talosVersion,
    ownImage = false,
  }: Pick<AskedMachine, "machine" | "installerImage" | "talosVersion" | "ownImage">,
  { bootPartition, extensions, platform, secureBoot }: RunningImage,
  release: string,
  hops: readonly string[],
  sizeOf: SizeOfImage,
): Promise<FieldFinding[]> {
  const host = imageParts(nextImage)?.host;
  if (bootPartition === undefined || ownImage || host === undefined) return [];
  const { schematic } = extensions;
  const options = { factoryUrl: host, ...(platform === undefined ? {} : { platform }) };
  const running =
    schematic === undefined
      ? undefined
      : installerImage(schematic, release, { ...options, secureBoot: secureBoot === true });
  if (running === nextImage) return [];
  const images: BootImage[] = await Promise.all(
    [
      { talosVersion: release, image: running },
      ...hops.map((hop) => ({ talosVersion: hop, image: installerAt(nextImage, hop) })),
      { talosVersion, image: nextImage },
    ].map(async ({ image, ...imageOfRelease }) => ({
      ...imageOfRelease,
      bytes: image === undefined ? undefined : await sizeOf(image),
    })),
  );
  return withoutRoom(machine, bootPartition, images);
}
