import { generateKeyPairSync } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { officialExtensions, type Extension } from "../factory";
import { answers, freePort } from "../loopback";
import { untilSeen } from "../until";
import { isThere } from "./debian";
import { makeExtension } from "./nvidia";
import { startRegistry, type Registry } from "./registry";
import { kubeletImage, type Parts } from "./root";

/** The Image Factory itself (siderolabs/image-factory), with a registry for its inputs and its images. */
export interface ImageFactory {
  /** Its URL, without a slash at the end. */
  url: string;
  port: number;
  registry: Registry;
  /** Its errors so far; a client gets only "internal server error". */
  errors: readonly string[];
  /** Registers a schematic (YAML), and gives its ID. */
  register(schematic: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Changes of Talos' kernel arguments. Debian's modules have no signature, and its kernel lacks what SELinux and IMA
 * need. The console is a file. `oops=panic` is the setting of Talos' own kernel, which the kubelet requires. `pti=on`
 * makes two changes of page tables per system call, which are slow on an emulated processor. Talos requires `pti=on` as
 * the first such argument (pkg/kernel/kspp/kspp.go); the kernel uses the last.
 */
const kernelArgs =
  "-selinux -module.sig_enforce -ima_template -ima_appraise -ima_hash pti=off init_on_alloc=0 console=ttyS0 talos.dashboard.disabled=1 oops=panic";

/**
 * Starts the Image Factory, with the registry of a release's images.
 *
 * @param store folder with the registry's content, and the Factory's key, which signs its images.
 * @param work working folder, which this function makes.
 * @param bootLoader boot loader of its disks. An installer keeps the boot loader of its machine.
 */
export async function startImageFactory(
  { debian, tools }: Pick<Parts, "debian" | "tools">,
  store: string,
  work: string,
  signal?: AbortSignal,
  bootLoader: "systemd-boot" | "grub" = "systemd-boot",
): Promise<ImageFactory> {
  await fs.mkdir(path.join(work, "bin"), { recursive: true });
  await fs.copyFile(tools["image-factory"], path.join(work, "bin/image-factory"));
  await fs.mkdir(store, { recursive: true });
  const key = path.join(store, "signing-key.pem");
  if (!(await isThere(key))) {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await fs.writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  }
  await fs.copyFile(key, path.join(work, "signing-key.pem"));
  const registry = await startRegistry(tools["talos-programs"], store, signal);
  const port = await freePort();
  const at = { registry: `127.0.0.1:${registry.port}`, insecure: true };
  const own = (repository: string): object => ({ ...at, namespace: "image-factory", repository });
  const settings = {
    http: { httpListenAddr: `127.0.0.1:${port}`, externalURL: "https://factory.talos.dev/" },
    metrics: { addr: "" },
    containerSignature: { disabled: true },
    cache: { oci: own("cache"), signingKeyPath: "/work/signing-key.pem" },
    artifacts: {
      core: at,
      schematic: own("schematics"),
      installer: { internal: own("installers") },
    },
  };
  await fs.writeFile(path.join(work, "settings.json"), JSON.stringify(settings));
  const errors: string[] = [];
  const child = await debian.start(work, ["image-factory", "--config", "/work/settings.json"], {
    env: {
      TMPDIR: "/work",
      TALOS_GPU_KERNEL_ARGS: kernelArgs,
      TALOS_GPU_BOOT_LOADER: bootLoader,
    },
    onLog: (line) =>
      void (
        /"level":"error"/.test(line) && errors.push((JSON.parse(line) as { error: string }).error)
      ),
    ...(signal === undefined ? {} : { signal }),
  });
  const stop = async (): Promise<void> => {
    await child.stop();
    await registry.stop();
  };
  await untilSeen(
    "the Image Factory serves",
    { seconds: 60, every: 50 },
    () => answers(port),
    Boolean,
  );
  const url = `http://127.0.0.1:${port}`;
  const register: ImageFactory["register"] = async (body) => {
    const answer = await fetch(`${url}/schematics`, { method: "POST", body });
    if (!answer.ok) throw new Error(`Image Factory: refused the schematic: ${await answer.text()}`);
    return ((await answer.json()) as { id: string }).id;
  };
  return { url, port, registry, errors, register, stop };
}

/**
 * Fills a registry with the Image Factory's inputs: Talos' files, the base installer, NVIDIA's extensions and their
 * list.
 */
export async function fillRegistry(
  parts: Parts,
  release: string,
  registry: Registry,
): Promise<void> {
  const { debian, work } = parts;
  const push = async (ref: string, folder: string, entrypoint: string[] = []): Promise<string> => {
    const inner = `/work/${folder}`;
    await debian.inside(work, [
      "tar",
      "-C",
      inner,
      "--owner=0",
      "--group=0",
      "-cf",
      `${inner}.tar`,
      ".",
    ]);
    const outer = path.join(work, folder);
    const digest = await registry.push({ ref, layers: [`${outer}.tar`], entrypoint });
    for (const rest of [outer, `${outer}.tar`]) await fs.rm(rest, { recursive: true });
    return digest;
  };
  const files: Record<string, string> = {
    vmlinuz: path.join(work, "vmlinuz"),
    "initramfs.xz": path.join(work, "initramfs.xz"),
    "systemd-boot.efi": path.join(debian.root, "usr/lib/systemd/boot/efi/systemd-bootx64.efi"),
    "systemd-stub.efi": path.join(debian.root, "usr/lib/systemd/boot/efi/linuxx64.efi.stub"),
  };
  const assets = path.join(work, "imager/usr/install/amd64");
  await fs.mkdir(assets, { recursive: true });
  for (const [name, file] of Object.entries(files))
    await fs.copyFile(file, path.join(assets, name));
  await push(`siderolabs/imager:${release}`, "imager");
  await push(`siderolabs/installer-base:${release}`, "installer", ["/bin/installer"]);
  await push(kubeletImage(release), "kubelet", ["/kubelet"]);
  const listed: [string, Extension][] = [];
  for (const extension of officialExtensions(release)) {
    const folder = await makeExtension(parts, release, extension);
    if (folder === undefined) continue;
    const digest = await push(extension.ref.replace("ghcr.io/", ""), folder);
    listed.push([`${extension.ref}@${digest}`, extension]);
  }
  await fs.mkdir(path.join(work, "list"));
  const told = listed.map(([line, { author, description }]) => [line, { author, description }]);
  await fs.writeFile(
    path.join(work, "list/image-digests"),
    listed.map(([line]) => `${line}\n`).join(""),
  );
  await fs.writeFile(
    path.join(work, "list/descriptions.yaml"),
    JSON.stringify(Object.fromEntries(told)),
  );
  await push(`siderolabs/extensions:${release}`, "list");
}
