import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { spawnChild, type Child, type ChildOptions } from "../session/process";
import { withLock } from "../tools/lock";

/** A folder with Debian's programs, and functions that run programs in it. */
export interface Debian {
  root: string;
  /**
   * Runs one of its programs, with `work` mounted at /work.
   *
   * @returns its standard output.
   * @throws Error with the last lines of the program's standard error.
   */
  inside(work: string, argv: readonly string[]): Promise<string>;
  /**
   * Starts a server, which runs until it is stopped or this process ends.
   *
   * @param env variables in addition to those of `inside`.
   */
  start(
    work: string,
    argv: readonly string[],
    options: Omit<ChildOptions, "name">,
  ): Promise<Child<unknown>>;
}

/**
 * Debian's suites: one whose userland is new enough for Talos 1.13 (xfsprogs, squashfs-tools), and one with a kernel ≥
 * 6.15, for `open_tree` on detached mounts, and its headers.
 */
const suite = "trixie";
const kernelSuite = "trixie-backports";
const packages = [
  // Programs that Talos calls (its Dockerfile, `rootfs-base-amd64`).
  "udev",
  "kmod",
  "mount",
  "runc",
  "xfsprogs",
  "dosfstools",
  "e2fsprogs",
  "mtools",
  "lvm2",
  "mdadm",
  "cryptsetup-bin",
  "nftables",
  "iptables",
  // Boot loaders.
  "systemd-boot-efi",
  "grub-common",
  "grub2-common",
  "grub-pc-bin",
  "grub-efi-amd64-bin",
  // Programs that build images and modules.
  "base-files",
  "dash",
  "bash",
  "coreutils",
  "findutils",
  "libc-bin",
  "tar",
  "grep",
  "sed",
  "mawk",
  "cpio",
  "zstd",
  "xz-utils",
  "squashfs-tools",
  "gcc",
  "libc6-dev",
  "make",
];
const kernelPackages = ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"];

const run = promisify(execFile);

/**
 * Unpacks Debian's packages into a folder of the cache, with this computer's apt and its mirror. The computer's own
 * packages do not change. The first call takes some 30 s and 700 MB.
 */
export async function provideDebian(cache: string, signal?: AbortSignal): Promise<Debian> {
  const name = createHash("sha256")
    .update(JSON.stringify([suite, kernelSuite, packages, kernelPackages]))
    .digest("hex")
    .slice(0, 16);
  const root = path.join(cache, `debian-${suite}-${name}`);
  await withLock(
    `${root}.lock`,
    () => unpack(root, signal),
    signal === undefined ? {} : { signal },
  );
  return {
    root,
    inside: (work, argv) => inside(root, work, argv),
    start: (work, argv, { env, ...options }) => {
      // Its standard input closes when this process ends; the program does not read it, but a watcher ends it then.
      const guardScript = 'exec 3<&0; { cat <&3; kill $$; } >/dev/null 2>&1 & echo {}; exec "$@"';
      const [program, args] = unshareCommand(root, work, ["sh", "-c", guardScript, "sh", ...argv]);
      const { TALOS_GPU_LAB } = process.env;
      const labMark = TALOS_GPU_LAB === undefined ? {} : { TALOS_GPU_LAB };
      return spawnChild(program, args, {
        name: argv[0]!,
        ...options,
        env: { ...environment, ...labMark, ...env },
      });
    },
  };
}

async function unpack(root: string, signal: AbortSignal | undefined): Promise<void> {
  if (await isThere(root)) return;
  const draft = `${root}.unfinished`;
  await fs.rm(draft, { recursive: true, force: true });
  for (const folder of ["apt/lists/partial", "apt/cache/archives/partial", "apt/sources", "root"])
    await fs.mkdir(path.join(draft, folder), { recursive: true });
  const apt = path.join(draft, "apt");
  await fs.writeFile(path.join(apt, "status"), "");
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  await fs.writeFile(
    path.join(apt, "sources/debian.sources"),
    `Types: deb\nURIs: ${await mirror()}\nSuites: ${suite} ${kernelSuite}\nComponents: main\nSigned-By: ${keyring}\n`,
  );
  const settings: Record<string, string> = {
    "Dir::State": apt,
    "Dir::State::status": path.join(apt, "status"),
    "Dir::Cache": path.join(apt, "cache"),
    "Dir::Etc::sourcelist": "/dev/null",
    "Dir::Etc::sourceparts": path.join(apt, "sources"),
    "Dir::Etc::preferencesparts": "/dev/null",
    "APT::Architecture": "amd64",
    "APT::Install-Recommends": "false",
    "APT::Sandbox::User": "",
    "Acquire::Languages": "none",
    "Debug::NoLocking": "true",
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  const execOptions = { maxBuffer: 1 << 26, ...(signal === undefined ? {} : { signal }) };
  await run("apt-get", [...options, "update", "-q"], execOptions);
  const packageNames = [...packages, ...kernelPackages.map((name) => `${name}/${kernelSuite}`)];
  await run(
    "apt-get",
    [...options, "install", "-q", "-y", "--download-only", ...packageNames],
    execOptions,
  );
  const archives = path.join(apt, "cache/archives");
  const files = (await fs.readdir(archives)).filter((file) => file.endsWith(".deb"));
  // base-files first: it has the links from /bin to /usr/bin, which other packages' files need.
  files.sort((a, b) => Number(b.startsWith("base-files_")) - Number(a.startsWith("base-files_")));
  for (const file of files)
    await run("dpkg-deb", ["-x", path.join(archives, file), path.join(draft, "root")], execOptions);
  await fs.mkdir(path.join(draft, "root/work"));
  // Where the imager reads in which order modules are looked for, as in Talos' own image of it
  // (hack/extra-modules.conf); and a name that a package's script would give.
  await fs.mkdir(path.join(draft, "root/etc/modules.d"), { recursive: true });
  await fs.writeFile(
    path.join(draft, "root/etc/modules.d/10-extra-modules.conf"),
    "search extras built-in\n",
  );
  await fs.symlink("mawk", path.join(draft, "root/usr/bin/awk"));
  // The imager formats GRUB's partition with mkfs settings for Talos 1.13's kernel. Debian's newest settings are for
  // the kernel series before.
  const xfs = path.join(draft, "root/usr/share/xfsprogs/mkfs");
  await fs.copyFile(path.join(xfs, "lts_6.12.conf"), path.join(xfs, "lts_6.18.conf"));
  await fs.rename(path.join(draft, "root"), root);
  await fs.rm(draft, { recursive: true, force: true });
}

/** The Debian mirror of this computer's apt; Debian's public address if apt has none. */
async function mirror(): Promise<string> {
  const args = ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"];
  const lines = await run("apt-get", args).then(({ stdout }) => stdout.split("\n"));
  const debianMirror = lines.find((line) => /^Debian \S+\/debian\/?$/.test(line))?.split(" ")[1];
  return debianMirror ?? "http://deb.debian.org/debian";
}

const environment = {
  PATH: "/work/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/",
  LC_ALL: "C",
};

/**
 * Command that runs a program in its own mount namespace, whose mounts end with the program. Without root it also uses
 * a user namespace.
 */
function unshareCommand(root: string, work: string, argv: readonly string[]): [string, string[]] {
  const mounts =
    'mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && mount --bind "$1" "$0/work" && cd / && root=$0 && shift && exec chroot "$root" "$@"';
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  return ["unshare", ["--mount", ...user, "sh", "-c", mounts, root, work, ...argv]];
}

async function inside(root: string, work: string, argv: readonly string[]): Promise<string> {
  const [program, args] = unshareCommand(root, work, argv);
  const child = spawn(program, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  if (code !== 0) {
    const lastOutput = Buffer.concat([...stderr, ...stdout])
      .toString("utf8")
      .slice(-2000);
    throw new Error(
      `${argv.slice(0, 3).join(" ")}: ended with status ${code} while images of Talos were made:\n${lastOutput}`,
    );
  }
  return Buffer.concat(stdout).toString("utf8");
}

/** Whether a file or folder exists. */
export const isThere = (file: string): Promise<boolean> =>
  fs.access(file).then(
    () => true,
    () => false,
  );
