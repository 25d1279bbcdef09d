import * as fs from "node:fs/promises";
import * as path from "node:path";
import { cudaOfDriver } from "../../components/recipe/facts/cuda";
import { nvidiaExtension } from "../../components/recipe/facts/extension";
import { injectionOf } from "../../components/recipe/facts/talos-release";
import type { Extension } from "../factory";
import type { Parts } from "./root";

// Stand-ins for NVIDIA's extensions. Names, versions, manifests, services and containerd parts are the real ones
// (siderolabs/extensions, nvidia-gpu, at Talos 1.12 and 1.13). The modules and programs create the files that Talos and
// this package read, and drive no card.

const sourceOf = (init: string, exit: string, globals = ""): string => `
#include <linux/dmi.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
${globals}
static int __init begin(void) { ${init} }
static void __exit end(void) { ${exit} }
module_init(begin); module_exit(end); MODULE_LICENSE("Dual MIT/GPL"); MODULE_VERSION(DRIVER);
`;
/** A kernel module that only depends on the first one. */
const standIn = sourceOf("return nvidia_stand_in();", "", "int nvidia_stand_in(void);");
/**
 * The stand-in kernel modules. The first makes /proc/driver/nvidia, /sys/bus/pci/drivers/nvidia and the cards' devices
 * in /dev; the board's asset tag begins with their number. The others depend on it, like the real ones.
 */
const modules: Record<string, string> = {
  nvidia: sourceOf(
    `proc_mkdir("driver/nvidia", NULL); proc_create_single("driver/nvidia/version", 0444, NULL, version);
  proc_create_single("driver/nvidia/params", 0444, NULL, params); nodes(); return pci_register_driver(&driver);`,
    `while (made > 0) misc_deregister(&node[--made]); pci_unregister_driver(&driver); remove_proc_subtree("driver/nvidia", NULL);`,
    `static char *NVreg_RestrictProfilingToAdminUsers = "1"; module_param(NVreg_RestrictProfilingToAdminUsers, charp, 0444);
static char *NVreg_PreserveVideoMemoryAllocations = "0"; module_param(NVreg_PreserveVideoMemoryAllocations, charp, 0444);
int nvidia_stand_in(void); int nvidia_stand_in(void) { return 0; } EXPORT_SYMBOL(nvidia_stand_in);
static int version(struct seq_file *m, void *v) { seq_puts(m, "NVRM version: NVIDIA UNIX " FLAVOUR "  " DRIVER "  Release Build  (dvs-builder@lab)\\nGCC version:  gcc version 14.2.0\\n"); return 0; }
static int params(struct seq_file *m, void *v) { seq_printf(m, "RmProfilingAdminOnly: %s\\nPreserveVideoMemoryAllocations: %s\\n", NVreg_RestrictProfilingToAdminUsers, NVreg_PreserveVideoMemoryAllocations); return 0; }
static const struct file_operations nothing = { .owner = THIS_MODULE };
static struct miscdevice node[17];
static int made;
static void nodes(void) {
  const char *tag = dmi_get_system_info(DMI_BOARD_ASSET_TAG);
  unsigned long cards = tag ? simple_strtoul(tag, NULL, 10) : 0;
  for (; made <= cards && made < 17; made++) {
    char *name = made < cards ? kasprintf(GFP_KERNEL, "nvidia%d", made) : "nvidiactl";
    node[made] = (struct miscdevice){ .minor = MISC_DYNAMIC_MINOR, .name = name, .fops = &nothing, .mode = 0666 };
    if (misc_register(&node[made])) return;
  }
}
static const struct pci_device_id none[] = {{0}};
static struct pci_driver driver = { .name = "nvidia", .id_table = none };`,
  ),
  "nvidia-uvm": standIn,
  "nvidia-modeset": standIn,
  "nvidia-drm": standIn,
};

const bind = (source: string, ...options: string[]): object => ({
  source,
  destination: source,
  type: "bind",
  options,
});
const shared = [
  bind("/lib64", "bind", "ro"),
  bind("/lib", "bind", "ro"),
  bind("/usr/local/glibc", "bind", "ro"),
];
const own = bind("/usr/local/bin", "bind", "ro");
/** The services of the toolkit's extension, copied without their comments. */
const services: Record<string, object> = {
  "nvidia-persistenced": {
    name: "nvidia-persistenced",
    container: {
      entrypoint: "/usr/local/bin/nvidia-persistenced-wrapper",
      mounts: [
        bind("/dev", "rshared", "rbind", "rw"),
        ...shared,
        bind("/usr/local/lib", "bind", "ro"),
        bind("/var/run", "rshared", "rbind", "rw"),
        own,
      ],
    },
    depends: [{ service: "cri" }, { service: "udevd" }, { path: "/sys/bus/pci/drivers/nvidia" }],
    restart: "always",
  },
  "nvidia-cdi-gen": {
    name: "nvidia-cdi-gen",
    container: {
      entrypoint: "/usr/local/bin/nvidia-ctk",
      args: [
        "cdi",
        "generate",
        "--library-search-path",
        "/usr/local/glibc/usr/lib",
        "--output",
        "/run/cdi/nvidia.yaml",
      ],
      mounts: [
        bind("/dev", "rshared", "rbind", "ro"),
        ...shared,
        bind("/var/run/nvidia-persistenced", "rshared", "rbind", "ro"),
        own,
        bind("/run/cdi", "bind", "rw"),
      ],
    },
    depends: [{ service: "ext-nvidia-persistenced" }],
    restart: "untilSuccess",
  },
};
const called = ["nvidia-ctk", "nvidia-cdi-hook", "nvidia-smi"];
const runtime = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
  privileged_without_host_devices = false
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
    BinaryName = "/usr/local/bin/nvidia-container-runtime"
`;

/**
 * Lays out the content of an extension's image. Gives the folder's name below `work`; undefined if the extension has no
 * stand-in.
 */
export async function makeExtension(
  { work, ...parts }: Parts,
  release: string,
  { name, ref, author, description }: Extension,
): Promise<string | undefined> {
  const known = nvidiaExtension(name);
  if (known?.kind !== "modules" && known?.kind !== "toolkit") return undefined;
  const version = ref.split(":").at(-1)!;
  const folder = path.basename(name);
  const root = path.join(work, folder, "rootfs");
  await fs.mkdir(root, { recursive: true });
  const [driver] = version.split("-") as [string];
  if (known.kind === "modules")
    await modulesOf({ work, ...parts }, root, driver, known.flavour === "open");
  else await toolkitOf({ work, ...parts }, root, release, driver);
  const metadata = {
    name: folder,
    version,
    author,
    description,
    compatibility: { talos: { version: `>= ${release}` } },
  };
  await fs.writeFile(
    path.join(work, folder, "manifest.yaml"),
    JSON.stringify({ version: "v1alpha1", metadata }),
  );
  return folder;
}

async function modulesOf(
  { debian, kernel, work }: Parts,
  root: string,
  driver: string,
  open: boolean,
): Promise<void> {
  const folder = path.join(work, "modules");
  await fs.mkdir(folder, { recursive: true });
  for (const [name, source] of Object.entries(modules))
    await fs.writeFile(path.join(folder, `${name}.c`), source);
  const objects = Object.keys(modules).map((name) => `${name}.o`);
  const flavour = open ? "Open Kernel Module for x86_64" : "x86_64 Kernel Module";
  const flags = `-DDRIVER='"${driver}"' -DFLAVOUR='"${flavour}"'`;
  await fs.writeFile(
    path.join(folder, "Makefile"),
    `obj-m := ${objects.join(" ")}\nccflags-y := ${flags}\n`,
  );
  const build = `make -C /usr/lib/modules/${kernel}/build M=/work/modules modules`;
  await debian.inside(work, ["sh", "-c", build]);
  const target = path.join(root, `usr/lib/modules/${kernel}/extras/nvidia`);
  await fs.mkdir(target, { recursive: true });
  for (const name of Object.keys(modules))
    await fs.copyFile(path.join(folder, `${name}.ko`), path.join(target, `${name}.ko`));
  await fs.rm(folder, { recursive: true });
}

/** The stand-in for NVML that NVIDIA's programs in pods use: the one of the real node. */
export const nvml = path.join(__dirname, "../machines/internal/realnode/driver/native/nvml.c");

async function toolkitOf(
  { debian, tools, work }: Parts,
  root: string,
  release: string,
  driver: string,
): Promise<void> {
  const hasCdi = injectionOf(release) === "cdi";
  const file = async (name: string, text: string): Promise<void> => {
    await fs.mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await fs.writeFile(path.join(root, name), text);
  };
  await file("etc/cri/conf.d/10-nvidia-container-runtime.part", runtime);
  const inside = path.join("/work", path.relative(work, root));
  const libraries = `usr/local/${hasCdi ? "" : "glibc/usr/"}lib`;
  const library = `libnvidia-ml.so.${driver}`;
  const [major, minor = 0] = cudaOfDriver(driver).split(".").map(Number);
  await fs.copyFile(nvml, path.join(work, "nvml.c"));
  const macros = [`-DDRIVER_VERSION="${driver}"`, `-DCUDA_VERSION=${major! * 1000 + minor * 10}`];
  const flags = ["-shared", "-fPIC", "-O1", ...macros, "-Wl,-soname,libnvidia-ml.so.1"];
  await fs.mkdir(path.join(root, libraries), { recursive: true });
  await debian.inside(work, [
    "gcc",
    ...flags,
    "-o",
    path.join(inside, libraries, library),
    "/work/nvml.c",
  ]);
  await fs.symlink(library, path.join(root, libraries, "libnvidia-ml.so.1"));
  await fs.mkdir(path.join(root, "usr/local/glibc/usr/lib"), { recursive: true });
  const bin = path.join(root, "usr/local/bin");
  await fs.mkdir(bin);
  for (const name of ["nvidia-persistenced-wrapper", "nvidia-container-runtime", ...called]) {
    await fs.copyFile(path.join(tools["talos-programs"], "service"), path.join(bin, name));
    await fs.chmod(path.join(bin, name), 0o755);
  }
  // Below the machine's root, where programs of pods look (siderolabs/talos v1.13.0, pkg/machinery/extensions: AllowedPaths).
  if (hasCdi) {
    await fs.mkdir(path.join(root, "usr/bin"));
    for (const name of called)
      await fs.symlink(`../local/bin/${name}`, path.join(root, "usr/bin", name));
    await fs.symlink("lib", path.join(root, "usr/local/lib64"));
    await fs.copyFile(
      path.join(debian.root, "usr/sbin/ldconfig"),
      path.join(root, "usr/bin/ldconfig"),
    );
    await file("etc/ld.so.conf", "/usr/local/lib\n");
    await debian.inside(work, ["ldconfig", "-r", inside]);
  }
  for (const [name, service] of Object.entries(services)) {
    if (name === "nvidia-cdi-gen" && !hasCdi) continue;
    await file(`usr/local/etc/containers/${name}.yaml`, JSON.stringify(service));
    await fs.mkdir(path.join(root, "usr/local/lib/containers", name), { recursive: true });
  }
}
