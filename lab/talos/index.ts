import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import * as semver from "semver";
import { parse } from "yaml";
import { findRelease } from "../../components/recipe/facts/talos-release";
import { readSchematic } from "../factory";
import { cacheFolder } from "../tools/cache";
import { provideTalosPrograms } from "../tools/index";
import { talosModules } from "../tools/catalogue";
import { moduleFolder } from "../tools/ways/module";
import { withLock } from "../tools/lock";
import type { OnToolEvent } from "../tools/events";
import { isThere, provideDebian } from "./debian";
import { makeExtension, makeSchematic } from "./nvidia";
import { layOutInstaller, layOutKubelet, layOutRoot, type Parts } from "./root";
import { startRegistry, type Registry } from "./registry";

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
export { startRegistry, type Registry } from "./registry";

/** Talos releases that can be built here, the newest first. */
export const releases: readonly string[] = Object.keys(talosModules);

/** The one of them that is nearest to a release: by its minor, then by its patch. */
export function nearestRelease(wanted: string): string {
  const far = (release: string): number =>
    Math.abs(semver.minor(release) - semver.minor(wanted)) * 1000 +
    Math.abs(semver.patch(release) - semver.patch(wanted));
  return [...releases].sort((one, other) => far(one) - far(other))[0]!;
}

/** The kubelet's image in a lab's registry, by the newest release that Talos takes: it looks at the tag, and the kubelet in it is v1.36.3. */
export const kubeletImage = (release: string): string =>
  `siderolabs/kubelet:v1.${findRelease(release)!.minor.kubernetes.to}.0`;

/** Images of a Talos release that this computer has built. */
export interface TalosImages {
  release: string;
  /** A disk on which that release is installed, without extensions: it boots by UEFI, into maintenance mode. */
  disk: string;
  /** Folder of the lab's own programs beside it (`startMachine`). */
  programs: string;
  /** Starts a registry on loopback that has the kubelet's image. */
  registry(blobs: string, signal?: AbortSignal): Promise<Registry>;
  /** Pushes the installer of a schematic (YAML) as `metal-installer/<id>:<release>`, made where there is none yet. Gives its ID. */
  installer(registry: Registry, schematic: string): Promise<string>;
}

const run = promisify(execFile);

/** Nobody has signed these modules; SELinux and IMA need what Debian's kernel has not; the console is a file; the kubelet wants what Talos' kernel does at an oops. */
const kernelArgs =
  "-selinux -module.sig_enforce -ima_template -ima_appraise -ima_hash console=ttyS0 talos.dashboard.disabled=1 oops=panic";

/**
 * Provides images of real Talos: built once per release, from Go modules and Debian's packages, and kept in the lab's cache.
 *
 * @throws where the release is none of {@link releases}, or something cannot be had; the message says what to do.
 */
export async function provideTalos(
  release: string,
  options: { onEvent?: OnToolEvent; signal?: AbortSignal } = {},
): Promise<TalosImages> {
  if (!releases.includes(release))
    throw new Error(
      `--talos: ${release} is none of ${releases.join(", ")}, and only of those the Go modules are named; ` +
        "give the nearest one, or add it to talosModules in lab/tools/catalogue.yaml",
    );
  const { signal } = options;
  const tools = await provideTalosPrograms(release, options);
  // The newest imager makes every release's images, as the Image Factory's does; those before 1.13 want a loop device, and so root.
  const { talos: newest } = await provideTalosPrograms(releases[0]!, options);
  const cache = path.join(path.dirname(cacheFolder(process.env)), "talos");
  await fs.mkdir(cache, { recursive: true });
  const debian = await provideDebian(cache, signal);
  const folder = path.join(
    cache,
    `${release}-${await keyOf(["index.ts", "root.ts"], [debian.root, newest, ...Object.values(tools)])}`,
  );
  const [kernel] = await fs.readdir(path.join(debian.root, "usr/lib/modules"));
  const parts: Parts = {
    ...{ debian, tools, kernel: kernel!, work: folder },
    sources: {
      talos: await moduleFolder(`github.com/siderolabs/talos ${release}`, __dirname, process.env),
      machinery: await moduleFolder(`github.com/siderolabs/talos/pkg/machinery ${release}`, __dirname, process.env),
    },
  };
  const limits = signal === undefined ? {} : { signal };
  const disk = path.join(folder, "disk.qcow2");
  const locked = <T>(work: () => Promise<T>): Promise<T> => withLock(`${folder}.lock`, work, limits);
  await locked(async () => {
    if (await isThere(disk)) return;
    const started = performance.now();
    await fs.rm(folder, { recursive: true, force: true });
    await fs.mkdir(path.join(folder, "bin"), { recursive: true });
    await fs.copyFile(path.join(newest, "installer"), path.join(folder, "bin/imager"));
    await layOutRoot(parts);
    await layOutInstaller(parts);
    await layOutKubelet(parts);
    for (const each of ["installer", "kubelet"])
      await debian.inside(folder, `tar -C /work/${each} --owner=0 --group=0 -cf /work/${each}.tar .`.split(" "));
    for (const rest of ["root", "initramfs", "installer", "kubelet"])
      await fs.rm(path.join(folder, rest), { recursive: true });
    const image = { diskSize: 4 * 1024 ** 3, diskFormat: "raw", bootloader: "sd-boot" };
    const plain = readSchematic("customization: {}\n"); // the Factory's images say of which schematic they are
    const schematic = await makeSchematic(parts, plain.id, plain.text);
    await withBase(parts, (ref) =>
      imager(parts, release, ref, { kind: "image", outFormat: "raw", imageOptions: image }, [schematic]),
    );
    const raw = path.join(folder, "metal-amd64.raw");
    await run("qemu-img", ["convert", "-f", "raw", "-O", "qcow2", raw, `${disk}.unfinished`], limits);
    await fs.rm(raw);
    await fs.rename(`${disk}.unfinished`, disk);
    const detail = `images of Talos ${release} in ${folder}`;
    options.onEvent?.({
      tool: "talos-programs",
      state: "built",
      detail,
      seconds: (performance.now() - started) / 1000,
    });
  });
  return {
    release,
    disk,
    programs: tools["talos-programs"],
    registry: async (blobs, given) => {
      const registry = await startRegistry(tools["talos-programs"], blobs, given);
      const layers = [path.join(folder, "kubelet.tar")];
      await registry.push({ ref: kubeletImage(release), layers, entrypoint: ["/kubelet"] });
      return registry;
    },
    installer: async (registry, text) => {
      const schematic = readSchematic(text);
      const file = path.join(folder, "installers", `${schematic.id}-${await keyOf(["nvidia.ts"], [])}.tar`);
      await locked(async () => {
        if (!(await isThere(file))) await makeInstaller(parts, release, schematic, file);
      });
      await registry.push({ ref: `metal-installer/${schematic.id}:${release}`, tarball: file });
      return schematic.id;
    },
  };
}

/** By Talos' own imager, as the Image Factory does. */
async function makeInstaller(
  parts: Parts,
  release: string,
  schematic: ReturnType<typeof readSchematic>,
  file: string,
): Promise<void> {
  const extensions: string[] = [];
  for (const name of schematic.extensions) extensions.push(await makeExtension(parts, release, name));
  extensions.push(await makeSchematic(parts, schematic.id, schematic.text));
  const output = { kind: "installer", outFormat: "raw" };
  const { customization } = parse(schematic.text) as { customization: { extraKernelArgs?: string[] } };
  await withBase(parts, (ref) => imager(parts, release, ref, output, extensions, customization.extraKernelArgs));
  await fs.mkdir(path.dirname(file), { recursive: true });
  await fs.rename(path.join(parts.work, "installer-amd64.tar"), file);
}

/** Has the base installer in a registry while `work` runs: the imager takes it from nowhere else. */
async function withBase(parts: Parts, work: (ref: string) => Promise<void>): Promise<void> {
  const blobs = path.join(parts.work, "blobs");
  const registry = await startRegistry(parts.tools["talos-programs"], blobs);
  try {
    const ref = "siderolabs/installer-base:lab";
    await registry.push({ ref, layers: [path.join(parts.work, "installer.tar")], entrypoint: ["/bin/installer"] });
    await work(`127.0.0.1:${registry.port}/${ref}`);
  } finally {
    await registry.stop();
    await fs.rm(blobs, { recursive: true, force: true });
  }
}

async function imager(
  { debian, work }: Parts,
  release: string,
  base: string,
  output: object,
  extensions: readonly string[] = [],
  more: readonly string[] = [],
): Promise<void> {
  const boot = "/usr/lib/systemd/boot/efi";
  const profile = {
    ...{ arch: "amd64", platform: "metal", secureboot: false, version: release, output },
    customization: { extraKernelArgs: [...kernelArgs.split(" "), ...more] },
    input: {
      kernel: { path: "/work/vmlinuz" },
      initramfs: { path: "/work/initramfs.xz" },
      sdStub: { path: `${boot}/linuxx64.efi.stub` },
      sdBoot: { path: `${boot}/systemd-bootx64.efi` },
      baseInstaller: { imageRef: base },
      systemExtensions: extensions.map((file) => ({ tarballPath: file })),
    },
  };
  await debian.inside(work, ["imager", "-", "--output", "/work"], JSON.stringify(profile));
}

/** A short hash of what the images are made of: what they are made from, and the files that say how. */
async function keyOf(files: readonly string[], from: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(from));
  for (const file of files) hash.update(await fs.readFile(path.join(__dirname, file)));
  return hash.digest("hex").slice(0, 16);
}
