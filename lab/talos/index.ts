import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { transform } from "esbuild";
import * as semver from "semver";
import { officialExtensions } from "../factory";
import { cacheFolder, forgetOldVersions } from "../tools/cache";
import { provideTalosPrograms } from "../tools/index";
import { talosModules } from "../tools/catalogue";
import { moduleFolder } from "../tools/builders/module";
import { withLock } from "../tools/lock";
import type { OnToolEvent } from "../tools/events";
import { isThere, provideDebian } from "./debian";
import { fillRegistry, startImageFactory, type ImageFactory } from "./factory";
import { nvml } from "./nvidia";
import { joinStores } from "./registry";
import { layOutInstaller, layOutKubelet, layOutRoot, type Parts } from "./root";

export {
  bootsOf,
  freePorts,
  served,
  startMachine,
  trustdAddress,
  whyNoMachine,
  type Ports,
  type RealMachine,
} from "./machine";
export type { ImageFactory } from "./factory";
export { kubeletImage } from "./root";

/** Talos releases that this computer can build, the newest first. */
export const releases: readonly string[] = Object.keys(talosModules);

/** The release that can be built and is nearest to a given one: by minor, then by patch. */
export function nearestRelease(wanted: string): string {
  const far = (release: string): number =>
    Math.abs(semver.minor(release) - semver.minor(wanted)) * 1000 +
    Math.abs(semver.patch(release) - semver.patch(wanted));
  return [...releases].sort((one, other) => far(one) - far(other))[0]!;
}

/** Images of a Talos release that this computer has built. */
export interface TalosImages {
  release: string;
  /**
   * A disk with that release installed, without extensions. It boots with UEFI and systemd-boot, into maintenance mode.
   */
  disk: string;
  /** Makes such a disk with GRUB, which boots with BIOS and with UEFI. The first call makes it. */
  grubDisk(signal?: AbortSignal): Promise<string>;
  /** Folder of the lab's own programs, for `startMachine`. */
  programs: string;
  /** The talosctl of this release, if the lab's talosctl does not know its documents. */
  talosctl: string | undefined;
  /** Folder of the registry with the parts of these images, and with the images that its Factory has made. */
  registry: string;
  /**
   * Starts the Image Factory for this release and further ones.
   *
   * @param work working folder, which this function makes.
   */
  factory(
    work: string,
    signal?: AbortSignal,
    further?: readonly TalosImages[],
  ): Promise<ImageFactory>;
}

const run = promisify(execFile);

/**
 * Provides images of real Talos: built once per release, from Go modules and Debian's packages, and kept in the lab's
 * cache.
 *
 * @throws Error if the release is not in {@link releases}, or a part cannot be fetched or built; the message says what
 * to do.
 */
export async function provideTalos(
  release: string,
  options: { onEvent?: OnToolEvent; signal?: AbortSignal } = {},
): Promise<TalosImages> {
  if (!releases.includes(release))
    throw new Error(
      `--talos: ${release} is not one of ${releases.join(", ")}, the releases whose Go modules the catalogue names; ` +
        "give the nearest one, or add it to talosModules in lab/tools/catalogue.yaml",
    );
  const { signal } = options;
  const tools = await provideTalosPrograms(release, options);
  const cache = path.join(path.dirname(cacheFolder(process.env)), "talos");
  await fs.mkdir(cache, { recursive: true });
  const debian = await provideDebian(cache, signal);
  const folder = path.join(
    cache,
    `${release}-${await keyOf([debian.root, officialExtensions(release), ...Object.values(tools)])}`,
  );
  const [kernel] = await fs.readdir(path.join(debian.root, "usr/lib/modules"));
  const parts: Parts = {
    release,
    debian,
    tools,
    kernel: kernel!,
    work: folder,
    sources: {
      talos: await moduleFolder(`github.com/siderolabs/talos ${release}`, __dirname, process.env),
      machinery: await moduleFolder(
        `github.com/siderolabs/talos/pkg/machinery ${release}`,
        __dirname,
        process.env,
      ),
    },
  };
  const limits = signal === undefined ? {} : { signal };
  const disk = path.join(folder, "disk.qcow2");
  const registry = path.join(folder, "registry");
  const makeDisk = async (serving: ImageFactory, file: string): Promise<void> => {
    const raw = path.join(folder, "metal-amd64.raw");
    const plain = await serving.register("customization: {}");
    const answer = await fetch(
      `${serving.url}/image/${plain}/${release}/${path.basename(raw)}`,
      limits,
    );
    if (!answer.ok)
      throw new Error(`the disk of Talos ${release} was not made: ${serving.errors.join("\n")}`);
    await pipeline(answer.body!, createWriteStream(raw));
    const unfinished = `${file}.unfinished`;
    await run("qemu-img", ["convert", "-f", "raw", "-O", "qcow2", raw, unfinished], limits);
    await fs.rm(raw);
    await fs.rename(unfinished, file);
  };
  const factory: TalosImages["factory"] = async (work, given, further = []) => {
    const all = [registry, ...further.map((images) => images.registry)];
    const store =
      further.length === 0 ? registry : await joinStores(all, path.join(work, "registry"));
    return startImageFactory(parts, store, work, given);
  };
  const build = async (): Promise<void> => {
    if (await isThere(disk)) return fs.utimes(folder, new Date(), new Date()); // it is used
    const started = performance.now();
    await fs.rm(folder, { recursive: true, force: true });
    await fs.mkdir(folder);
    await layOutRoot(parts);
    await layOutInstaller(parts);
    await layOutKubelet(parts);
    const serving = await factory(path.join(folder, "factory"), signal);
    const made = `${disk}.made`;
    try {
      await fillRegistry(parts, release, serving.registry);
      await makeDisk(serving, made);
    } finally {
      await serving.stop();
    }
    for (const rest of ["root", "initramfs", "initramfs.xz", "factory"])
      await fs.rm(path.join(folder, rest), { recursive: true });
    await fs.rename(made, disk);
    await forgetOldVersions(cache, release, 3); // half a gigabyte each
    const detail = `images of Talos ${release} in ${folder}`;
    options.onEvent?.({
      tool: "talos-programs",
      state: "built",
      detail,
      seconds: (performance.now() - started) / 1000,
    });
  };
  await withLock(`${folder}.lock`, build, limits);
  const grubDisk: TalosImages["grubDisk"] = async (given = signal) => {
    const file = path.join(folder, "disk-grub.qcow2");
    const make = async (): Promise<void> => {
      if (await isThere(file)) return;
      const work = path.join(folder, "factory-grub");
      await fs.rm(work, { recursive: true, force: true });
      const serving = await startImageFactory(parts, registry, work, given, "grub");
      try {
        await makeDisk(serving, file);
      } finally {
        await serving.stop();
      }
      await fs.rm(work, { recursive: true });
    };
    await withLock(`${file}.lock`, make, given === undefined ? {} : { signal: given });
    return file;
  };
  return {
    release,
    disk,
    grubDisk,
    programs: tools["talos-programs"],
    talosctl: tools.talosctl,
    registry,
    factory,
  };
}

/** A short hash of the images' inputs: their parts, and the source files that assemble them. */
async function keyOf(from: readonly unknown[]): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(from));
  for (const file of ["index.ts", "factory.ts", "nvidia.ts", "root.ts", nvml]) {
    const text = await fs.readFile(path.resolve(__dirname, file), "utf8");
    hash.update(path.extname(file) === ".ts" ? await withoutComments(text) : text);
  }
  return hash.digest("hex").slice(0, 16);
}

/** The same code without comments and layout, so that a reworded comment rebuilds no image. */
const withoutComments = async (text: string): Promise<string> =>
  (await transform(text, { loader: "ts", minifyWhitespace: true, legalComments: "none" })).code;
