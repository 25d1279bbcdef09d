import { execFile } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGunzip } from "node:zlib";
import { cacheFolder } from "../tools/cache";
import { provideTalosPrograms } from "../tools/index";
import { withLock } from "../tools/lock";
import type { TalosImages } from "./index";
import { isThere, provideDebian, type Debian } from "./debian";
import { startImageFactory, type ImageFactory } from "./factory";
import { withKeys } from "./firmware-keys";
import { firmware } from "./machine";
import { joinStores } from "./registry";

/** The two signers of images. The machines' firmware trusts only the keys of `trusted`. */
export const signers = ["trusted", "untrusted"] as const;
/** One of the {@link signers}. */
export type Signer = (typeof signers)[number];

/** Images that are signed for Secure Boot. */
export interface SignedImages {
  /** A disk that boots by UEFI and systemd-boot, with the signature of `trusted`. */
  disk: string;
  /** Variables of a firmware that enforces Secure Boot, and has only the key of `trusted`. */
  variables: string;
  /**
   * Starts the Image Factory of a signer.
   *
   * @param work folder that it works in; made here.
   */
  factory(signer: Signer, work: string): Promise<ImageFactory>;
}

const run = promisify(execFile);

/**
 * Provides images of a Talos release that are signed with keys of the lab's own. They are kept next to the unsigned ones.
 *
 * @param talosctl the release's client, which makes the keys.
 */
export async function provideSigned(images: TalosImages, talosctl: string): Promise<SignedImages> {
  const cache = path.join(path.dirname(cacheFolder(process.env)), "talos");
  const debian = await provideDebian(cache);
  const tools = await provideTalosPrograms(images.release);
  const folder = path.join(path.dirname(images.disk), "signed");
  const disk = path.join(folder, "disk.qcow2");
  const variables = path.join(folder, "variables.fd");
  const keys = (signer: Signer): string => path.join(folder, signer, "keys");
  const store = (signer: Signer): string => path.join(folder, signer, "registry");
  const factory: SignedImages["factory"] = async (signer, work) => {
    await fs.mkdir(work, { recursive: true });
    await fs.cp(keys(signer), path.join(work, "keys"), { recursive: true });
    return startImageFactory({ debian: signingDebian(debian), tools }, store(signer), work);
  };
  const build = async (): Promise<void> => {
    if ((await isThere(disk)) && (await isThere(variables))) return;
    await fs.rm(folder, { recursive: true, force: true });
    for (const signer of signers) {
      await fs.mkdir(keys(signer), { recursive: true });
      for (const kind of [["uki", "--common-name", `lab ${signer}`], ["pcr"]])
        await run(talosctl, ["gen", "secureboot", ...kind, "-o", keys(signer)]);
      await joinStores([images.registry], store(signer));
    }
    const certificate = await fs.readFile(path.join(keys("trusted"), "uki-signing-cert.der"));
    await fs.writeFile(variables, withKeys(await fs.readFile(firmware[1]), certificate));
    const layers = await layersOfImager(images, debian, folder);
    for (const signer of signers) {
      const work = path.join(folder, "factory");
      const imageFactory = await factory(signer, work);
      try {
        const ref = `siderolabs/imager:${images.release}`;
        await imageFactory.registry.push({ ref, layers, entrypoint: [] });
        if (signer === "trusted") await makeDisk(imageFactory, images.release, disk);
      } finally {
        await imageFactory.stop();
      }
      await fs.rm(work, { recursive: true });
    }
    for (const layer of layers) await fs.rm(layer);
  };
  await withLock(`${folder}.lock`, build, {});
  return { disk, variables, factory };
}

/**
 * Debian with a Factory that signs. Before Talos 1.14 its images for Secure Boot lock the kernel down by an argument.
 * That argument is removed, since the lab's modules have no signature.
 */
const signingDebian = (debian: Debian): Debian => ({
  ...debian,
  start: async (work, argv, { env, ...options }) => {
    const file = path.join(work, "settings.json");
    const settings = JSON.parse(await fs.readFile(file, "utf8")) as object;
    const secureBoot = {
      enabled: true,
      file: {
        signingKeyPath: "/work/keys/uki-signing-key.pem",
        signingCertPath: "/work/keys/uki-signing-cert.pem",
        pcrKeyPath: "/work/keys/pcr-signing-key.pem",
      },
    };
    await fs.writeFile(file, JSON.stringify({ ...settings, secureBoot }));
    const { TALOS_GPU_KERNEL_ARGS: args } = env ?? {};
    return debian.start(work, argv, {
      ...options,
      env: { ...env, TALOS_GPU_KERNEL_ARGS: `${args} -lockdown` },
    });
  },
});

/**
 * Layers of the imager's image with a kernel that does not find out that the firmware enforces Secure Boot. Otherwise it
 * would lock itself down, as Talos' own does, and load no module without a signature (CONFIG_LOCK_DOWN_IN_EFI_SECURE_BOOT).
 * Its EFI stub looks for the variable `SecureBoot`, so that name is changed in it.
 */
async function layersOfImager(
  images: TalosImages,
  debian: Debian,
  folder: string,
): Promise<string[]> {
  const lines = (await fs.readFile(path.join(images.registry, "manifests"), "utf8")).split("\n");
  const manifests = lines
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { Path: string; Body: string });
  const imager = manifests.find(({ Path }) =>
    /\/siderolabs\/imager\/manifests\/sha256:/.test(Path),
  );
  const { layers } = JSON.parse(Buffer.from(imager!.Body, "base64").toString("utf8")) as {
    layers: { digest: string }[];
  };
  const base = path.join(folder, "imager.tar");
  const blob = path.join(images.registry, layers[0]!.digest.replace(":", "/"));
  await pipeline(createReadStream(blob), createGunzip(), createWriteStream(base));
  const kernel = await fs.readFile(path.join(path.dirname(images.disk), "vmlinuz"));
  const [searchedName, replacement] = ["SecureBoot", "secureBoot"].map((text) =>
    Buffer.from(text, "utf16le"),
  );
  const nameOffset = kernel.indexOf(searchedName!);
  if (nameOffset < 0 || kernel.indexOf(searchedName!, nameOffset + 1) >= 0)
    throw new Error("the kernel's EFI stub does not have the name SecureBoot once");
  replacement!.copy(kernel, nameOffset);
  const kernelFolder = path.join(folder, "kernel/usr/install/amd64");
  await fs.mkdir(kernelFolder, { recursive: true });
  await fs.writeFile(path.join(kernelFolder, "vmlinuz"), kernel);
  const owners = ["--owner=0", "--group=0"];
  await debian.inside(folder, [
    "tar",
    "-C",
    "/work/kernel",
    ...owners,
    "-cf",
    "/work/kernel.tar",
    ".",
  ]);
  await fs.rm(path.join(folder, "kernel"), { recursive: true });
  return [base, path.join(folder, "kernel.tar")];
}

async function makeDisk(imageFactory: ImageFactory, release: string, disk: string): Promise<void> {
  const schematicId = await imageFactory.register("customization: {}");
  const response = await fetch(
    `${imageFactory.url}/image/${schematicId}/${release}/metal-amd64-secureboot.raw`,
  );
  if (!response.ok)
    throw new Error(
      `the signed disk of Talos ${release} was not made: ${imageFactory.errors.join("\n")}`,
    );
  const raw = `${disk}.raw`;
  await pipeline(response.body!, createWriteStream(raw));
  await run("qemu-img", ["convert", "-f", "raw", "-O", "qcow2", raw, `${disk}.made`]);
  await fs.rm(raw);
  await fs.rename(`${disk}.made`, disk);
}
