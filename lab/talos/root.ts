import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as semver from "semver";
import { findRelease } from "../../components/recipe/facts/talos-release";
import type { TalosPrograms } from "../tools";
import type { Debian } from "./debian";

// Talos' root filesystem and initramfs, laid out as its Dockerfile does (siderolabs/talos v1.11.1 to v1.14.1, stages
// rootfs-base-amd64 and initramfs), with Debian's builds of the same programs.

/** Sources of the parts of an image. */
export interface Parts {
  /** Talos release, e.g. `v1.14.1`. */
  release: string;
  debian: Debian;
  tools: TalosPrograms;
  /** Folders of Talos' Go module and of its machinery module. */
  sources: Record<"talos" | "machinery", string>;
  /** The kernel's release, e.g. `7.3.4+deb13-cloud-amd64`. */
  kernel: string;
  /** Folder for the results, mounted at /work. */
  work: string;
}

// runc also comes from Debian: Talos' services have seccomp profiles, and the lab's own build lacks libseccomp.
const programs = [
  "udevadm",
  "kmod",
  "runc",
  "mkfs.xfs",
  "xfs_growfs",
  "xfs_repair",
  "xfs_spaceman",
  "xfs_db",
  "mkfs.vfat",
  "fsck.vfat",
  "mkfs.ext4",
  "resize2fs",
  "e2fsck",
  "tune2fs",
  "lvm",
  "mdadm",
  "cryptsetup",
  "dmsetup",
  "nft",
  "xtables-nft-multi",
];
/** Content of the installer's image (stage installer-base-image). */
const installerPrograms = [
  "mkfs.xfs",
  "xfs_repair",
  "mkfs.vfat",
  "mkfs.ext4",
  "mcopy",
  "mmd",
  "grub-install",
  "grub-mkimage",
  "grub-probe",
];

const folders = [
  "dev",
  "proc",
  "sys",
  "run",
  "root",
  "tmp",
  "var",
  "system",
  "mnt",
  "opt/containerd/bin",
  "opt/containerd/lib",
  "opt/cni/bin",
  ".extra",
  "boot/EFI",
  "etc/iscsi",
  "etc/nvme",
  "etc/cri/conf.d/hosts",
  "etc/kubernetes/manifests",
  "etc/cni/net.d",
  "etc/ssl/certs",
  "etc/containerd",
  "etc/lvm",
  "etc/selinux/targeted/contexts/files",
  "usr/bin",
  "usr/etc",
  "usr/share/spdx",
  "usr/share/zoneinfo/Etc",
  "usr/local/share",
  "usr/lib/firmware",
  "usr/lib/modules",
  "usr/lib/udev/rules.d",
  "usr/lib/systemd/network",
  "usr/libexec/kubernetes",
  "usr/local/lib/kubelet/credentialproviders",
  "usr/share/xfsprogs/mkfs",
];
const links: Record<string, string> = {
  bin: "usr/bin",
  sbin: "usr/bin",
  lib: "usr/lib",
  lib64: "usr/lib64",
  "usr/sbin": "bin",
  "usr/lib64": "lib",
  "usr/bin/modprobe": "kmod",
  "usr/bin/systemd-udevd": "udevadm",
  // Since Talos 1.14, machined runs itself under this name as PID 1 of the sandbox that isolates workloads.
  "usr/bin/sandboxd": "init",
  "usr/bin/iptables": "xtables-nft-multi",
  "usr/bin/iptables-save": "xtables-nft-multi",
  "usr/bin/iptables-restore": "xtables-nft-multi",
  "usr/bin/ip6tables": "xtables-nft-multi",
  "usr/bin/ip6tables-save": "xtables-nft-multi",
  "usr/bin/ip6tables-restore": "xtables-nft-multi",
  "etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
  "etc/ssl/certs/ca-certificates": "ca-certificates.crt",
  "etc/pki": "/etc/ssl",
  "etc/ca-certificates": "/etc/ssl",
  "usr/share/ca-certificates": "/etc/ssl",
  "usr/local/share/ca-certificates": "/etc/ssl",
};
/** Files over which Talos mounts its own. */
const mountedOver = [
  "etc/extensions.yaml",
  "etc/selinux/targeted/contexts/files/file_contexts",
  "etc/ssl/certs/ca-certificates.crt",
];
/** Further such files on Talos < 1.14, whose /etc is not an overlay yet. */
const mountedOverBefore14 = [
  "etc/resolv.conf",
  "etc/hosts",
  "etc/machine-id",
  "etc/cri/conf.d/cri.toml",
  "etc/cri/conf.d/01-registries.part",
  "etc/cri/conf.d/20-customization.part",
  "etc/cri/conf.d/base-spec.json",
  "etc/iscsi/initiatorname.iscsi",
  "etc/nvme/hostid",
  "etc/nvme/hostnqn",
];
/** Files of Talos' module: their path in it, and their path in the root filesystem. */
const own: Record<string, string> = {
  "hack/zoneinfo/Etc/UTC": "usr/share/zoneinfo/Etc/UTC",
  "hack/nfsmount.conf": "etc/nfsmount.conf",
  "hack/containerd.toml": "etc/containerd/config.toml",
  "hack/cri-containerd.toml": "etc/cri/containerd.toml",
  "hack/cri-plugin.part": "etc/cri/conf.d/00-base.part",
  "hack/lvm.conf": "etc/lvm/lvm.conf",
};
/** Users and groups that udev's rules name. */
const groups = {
  root: 0,
  tty: 5,
  disk: 6,
  lp: 7,
  kmem: 9,
  dialout: 10,
  cdrom: 11,
  tape: 12,
  audio: 29,
  video: 44,
  input: 97,
  render: 98,
  sgx: 99,
  kvm: 100,
  nogroup: 65533,
};
const texts: Record<string, string> = {
  "etc/passwd":
    // eslint-disable-next-line prose/plain-words -- a user's name
    "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
  "etc/group": Object.entries(groups)
    .map(([name, id]) => `${name}:x:${id}:\n`)
    .join(""),
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
};
/** Drivers that are built into Talos' kernel, and modules in Debian's (hack/modules-amd64.txt has none of them). */
const builtIn = [
  "loop",
  "squashfs",
  "overlay",
  "virtio_blk",
  "virtio_net",
  "virtio_scsi",
  "virtio_rng",
  "af_packet",
  "nls_ascii",
  "nls_cp437",
  "nls_iso8859-1",
  "nls_utf8",
  "vfat",
  "xfs",
  "efivarfs",
  "configfs",
  "dm_mod",
  "br_netfilter",
  "veth",
];

/** Lays out the root filesystem in `work/root`, then makes `work/vmlinuz` and `work/initramfs.xz`. */
export async function layOutRoot(parts: Parts): Promise<void> {
  const { debian, tools, sources, work } = parts;
  const root = path.join(work, "root");
  await skeleton(root, folders, links);
  const before14 = semver.lt(parts.release, "1.14.0");
  for (const file of [...mountedOver, ...(before14 ? mountedOverBefore14 : [])])
    await fs.writeFile(path.join(root, file), "");
  for (const [file, text] of Object.entries(texts)) await fs.writeFile(path.join(root, file), text);
  for (const [from, to] of Object.entries(own))
    await put(path.join(sources.talos, from), path.join(root, to), 0o644);
  const udev = path.join(sources.talos, "hack/udevd");
  for (const file of await fs.readdir(udev)) {
    const folder = file.endsWith(".link") ? "systemd/network" : "udev/rules.d";
    await put(path.join(udev, file), path.join(root, "usr/lib", folder, file), 0o644);
  }
  await put(
    path.join(sources.machinery, "version/os-release"),
    path.join(root, "etc/os-release"),
    0o644,
  );
  const plugins = "/usr/lib/x86_64-linux-gnu/xtables";
  const tables = (await fs.readdir(debian.root + plugins)).map((file) => `${plugins}/${file}`);
  const helpers = ["/usr/lib/udev/ata_id", "/usr/lib/udev/scsi_id", "/usr/lib/udev/cdrom_id"];
  const libraries = [
    "/usr/lib/x86_64-linux-gnu/libnss_files.so.2",
    "/usr/lib/x86_64-linux-gnu/libnss_dns.so.2",
    "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
  ];
  await copyPrograms(debian, work, root, programs, [...tables, ...helpers, ...libraries]);
  const rules = path.join(debian.root, "usr/lib/udev/rules.d");
  for (const file of await fs.readdir(rules))
    if (/-(default|block|persistent-storage.*|serial|drivers|dm|dm-notify|lvm)\.rules$/.test(file))
      await put(path.join(rules, file), path.join(root, "usr/lib/udev/rules.d", file), 0o644);
  // Talos ≥ 1.14 copies it to a path that udev may write, and does not start without it
  // (v1alpha2/udev_writable_paths.go).
  await debian.inside(work, ["systemd-hwdb", "update", "--usr"]);
  const hardware = "usr/lib/udev/hwdb.bin";
  await put(path.join(debian.root, hardware), path.join(root, hardware), 0o644);
  await xfsSettings(debian, root);
  for (const name of ["containerd", "containerd-shim-runc-v2"])
    await put(path.join(tools.containerd, name), path.join(root, "usr/bin", name));
  for (const name of await fs.readdir(tools.cni))
    await put(path.join(tools.cni, name), path.join(root, "opt/cni/bin", name));
  await put(path.join(tools.talos, "machined"), path.join(root, "usr/bin/init"));
  for (const name of ["poweroff", "shutdown", "reboot", "dashboard"])
    await fs.link(path.join(root, "usr/bin/init"), path.join(root, "usr/bin", name));
  await modules(parts, root);
  await debian.inside(work, [
    "mksquashfs",
    "/work/root",
    "/work/rootfs.sqsh",
    "-all-root",
    "-noappend",
    "-comp",
    "zstd",
    "-Xcompression-level",
    "3",
    "-no-progress",
    "-quiet",
  ]);
  await initramfs(parts);
}

/** Lays out the installer's image in `work/installer`: the programs that Talos runs from it on the machine. */
export async function layOutInstaller({ debian, tools, work }: Parts): Promise<void> {
  const root = path.join(work, "installer");
  const { "usr/sbin": sbin, "usr/lib64": lib64, bin, sbin: top, lib, lib64: top64 } = links;
  await skeleton(
    root,
    [
      "dev",
      "proc",
      "sys",
      "run",
      "tmp",
      "etc",
      "usr/bin",
      "usr/lib",
      "usr/share",
      "usr/install/amd64",
      "usr/share/xfsprogs/mkfs",
    ],
    {
      "usr/sbin": sbin!,
      "usr/lib64": lib64!,
      bin: bin!,
      sbin: top!,
      lib: lib!,
      lib64: top64!,
      "usr/bin/imager": "installer",
    },
  );
  await copyPrograms(debian, work, root, installerPrograms, []);
  await xfsSettings(debian, root);
  await put(path.join(tools.talos, "installer"), path.join(root, "usr/bin/installer"));
  const grub = "usr/lib/grub";
  await fs.cp(path.join(debian.root, grub), path.join(root, grub), { recursive: true });
}

/** Paths of Debian's programs, and of every library that they or `more` load. */
async function copyPrograms(
  debian: Debian,
  work: string,
  root: string,
  names: readonly string[],
  more: readonly string[],
): Promise<void> {
  const files = (
    await debian.inside(work, [
      "sh",
      "-c",
      `for name in ${names.join(" ")}; do command -v $name || exit 1; done`,
    ])
  )
    .trim()
    .split("\n");
  const loaded = await debian.inside(work, ["ldd", ...files, ...more]);
  const libraries = new Set([...loaded.matchAll(/(\/\S+) \(0x/g)].map(([, file]) => file!));
  for (const file of [...files, ...more, ...libraries]) {
    const real = (await debian.inside(work, ["readlink", "-f", file])).trim();
    // Talos searches only /usr/lib and /usr/bin. Debian's loader also searches its own folder.
    const folder = files.includes(file)
      ? "/usr/bin"
      : path
          .dirname(file)
          .replace(/^\/lib/, "/usr/lib")
          .replace("/usr/lib64", "/usr/lib");
    await put(debian.root + real, path.join(root, folder, path.basename(file)));
  }
}

/**
 * Settings of mkfs.xfs (`-c`), which Talos selects by the series of its own kernel (internal/pkg/partition): 6.12, and
 * 6.18 from Talos 1.13 on.
 */
async function xfsSettings(debian: Debian, root: string): Promise<void> {
  const folder = "usr/share/xfsprogs/mkfs";
  for (const file of ["lts_6.12.conf", "lts_6.18.conf"])
    await put(path.join(debian.root, folder, file), path.join(root, folder, file), 0o644);
}

async function modules({ debian, kernel, work }: Parts, root: string): Promise<void> {
  const folder = `usr/lib/modules/${kernel}`;
  await fs.cp(path.join(debian.root, folder), path.join(root, folder), {
    recursive: true,
    filter: (file) => !/\/(build|source|vmlinuz|config|System\.map)$/.test(file),
  });
  // Uncompressed modules, as in Talos, and Talos' order: an extension's modules come before the kernel's.
  const unpack = `find /work/root/${folder} -name '*.ko.xz' -print0 | xargs -0 -r -n 64 -P 4 xz -d && depmod -b /work/root/usr ${kernel}`;
  await debian.inside(work, ["sh", "-c", unpack]);
}

async function initramfs({ debian, tools, kernel, work }: Parts): Promise<void> {
  const folder = path.join(work, "initramfs");
  await fs.mkdir(path.join(folder, "modules"), { recursive: true });
  await fs.rename(path.join(work, "rootfs.sqsh"), path.join(folder, "rootfs.sqsh"));
  await put(path.join(tools.talos, "init"), path.join(folder, "init.talos"));
  await put(path.join(tools["talos-programs"], "preinit"), path.join(folder, "init"));
  const order = new Set<string>();
  for (const name of builtIn) {
    const shown = await debian.inside(work, [
      "modprobe",
      "-S",
      kernel,
      "-d",
      "/work/root/usr",
      "--show-depends",
      name,
    ]);
    for (const [, file] of shown.matchAll(/^insmod \/work\/(\S+)/gm)) {
      order.add(path.basename(file!));
      await put(path.join(work, file!), path.join(folder, "modules", path.basename(file!)), 0o644);
    }
  }
  await fs.writeFile(path.join(folder, "modules/order"), [...order].join("\n"));
  const pack =
    "cd /work/initramfs && find . | LC_ALL=C sort | cpio --reproducible --quiet -R +0:+0 -H newc -o | zstd -q -T0 -3 > /work/initramfs.xz";
  await debian.inside(work, ["bash", "-o", "pipefail", "-c", pack]);
  await put(
    path.join(debian.root, `usr/lib/modules/${kernel}/vmlinuz`),
    path.join(work, "vmlinuz"),
    0o644,
  );
}

/**
 * Name of the kubelet's image in a lab's registry. Its tag is the newest release that Talos accepts; the kubelet in it
 * is v1.36.3.
 */
export const kubeletImage = (release: string): string =>
  `siderolabs/kubelet:v1.${findRelease(release)!.minor.kubernetes.to}.0`;

/** Lays out the kubelet's image in `work/kubelet`: the kubelet, and the programs that it calls. */
export async function layOutKubelet({ debian, tools, work }: Parts): Promise<void> {
  const root = path.join(work, "kubelet");
  await skeleton(
    root,
    ["dev", "proc", "sys", "run", "tmp", "etc", "var", "usr/bin", "usr/lib", "usr/local/bin"],
    {
      bin: "usr/bin",
      sbin: "usr/bin",
      lib: "usr/lib",
      lib64: "usr/lib",
      "usr/lib64": "lib",
      "var/run": "/run",
    },
  );
  await copyPrograms(debian, work, root, ["mount", "umount"], []);
  for (const file of ["etc/passwd", "etc/group", "etc/nsswitch.conf"])
    await fs.writeFile(path.join(root, file), texts[file]!);
  await put(path.join(tools.kubelet, "kubelet"), path.join(root, "usr/local/bin/kubelet"));
}

async function skeleton(
  root: string,
  names: readonly string[],
  to: Record<string, string>,
): Promise<void> {
  for (const folder of names) await fs.mkdir(path.join(root, folder), { recursive: true });
  await fs.chmod(path.join(root, "tmp"), 0o1777);
  for (const [link, target] of Object.entries(to)) await fs.symlink(target, path.join(root, link));
}

async function put(from: string, to: string, mode = 0o755): Promise<void> {
  await fs.mkdir(path.dirname(to), { recursive: true });
  await fs.copyFile(from, to);
  await fs.chmod(to, mode);
}
