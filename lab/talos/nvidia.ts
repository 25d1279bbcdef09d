import * as fs from "node:fs/promises";
import * as path from "node:path";
import { nvidiaExtension } from "../../components/recipe/facts/extension";
import { eraOf } from "../../components/recipe/facts/talos-release";
import type { Extension } from "../factory";
import type { Parts } from "./root";

// Stand-ins for NVIDIA's extensions: names, versions, manifests, services and containerd parts are theirs (siderolabs/extensions,
// nvidia-gpu, at Talos 1.12 and 1.13); the modules and programs make what Talos and this package look at, and drive no card.

const sourceOf = (init: string, exit: string, globals = ""): string => `
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
${globals}
static int __init begin(void) { ${init} }
static void __exit end(void) { ${exit} }
module_init(begin); module_exit(end); MODULE_LICENSE("Dual MIT/GPL"); MODULE_VERSION(DRIVER);
`;
/** The first makes /proc/driver/nvidia and /sys/bus/pci/drivers/nvidia; the others need it, as the real ones do. */
const modules: Record<string, string> = {
  nvidia: sourceOf(
    `proc_mkdir("driver/nvidia", NULL); proc_create_single("driver/nvidia/version", 0444, NULL, version);
  proc_create_single("driver/nvidia/params", 0444, NULL, params); return pci_register_driver(&driver);`,
    `pci_unregister_driver(&driver); remove_proc_subtree("driver/nvidia", NULL);`,
    `static char *NVreg_RestrictProfilingToAdminUsers = "1"; module_param(NVreg_RestrictProfilingToAdminUsers, charp, 0444);
static char *NVreg_PreserveVideoMemoryAllocations = "0"; module_param(NVreg_PreserveVideoMemoryAllocations, charp, 0444);
int nvidia_stand_in(void); int nvidia_stand_in(void) { return 0; } EXPORT_SYMBOL(nvidia_stand_in);
static int version(struct seq_file *m, void *v) { seq_puts(m, "NVRM version: NVIDIA UNIX " FLAVOUR "  " DRIVER "  Release Build  (dvs-builder@lab)\\nGCC version:  gcc version 14.2.0\\n"); return 0; }
static int params(struct seq_file *m, void *v) { seq_printf(m, "RmProfilingAdminOnly: %s\\nPreserveVideoMemoryAllocations: %s\\n", NVreg_RestrictProfilingToAdminUsers, NVreg_PreserveVideoMemoryAllocations); return 0; }
static const struct pci_device_id none[] = {{0}};
static struct pci_driver driver = { .name = "nvidia", .id_table = none };`,
  ),
  ...Object.fromEntries(
    ["nvidia-uvm", "nvidia-modeset", "nvidia-drm"].map((name) => [
      name,
      sourceOf("return nvidia_stand_in();", "", "int nvidia_stand_in(void);"),
    ]),
  ),
};

const bind = (source: string, ...options: string[]): object => ({
  ...{ source, destination: source, type: "bind", options },
});
const shared = ["/lib64", "/lib", "/usr/local/glibc"].map((folder) => bind(folder, "bind", "ro"));
const own = bind("/usr/local/bin", "bind", "ro");
/** The services of the toolkit's extension, word for word but for their comments. */
const services: Record<string, object> = {
  "nvidia-persistenced": {
    name: "nvidia-persistenced",
    container: {
      entrypoint: "/usr/local/bin/nvidia-persistenced-wrapper",
      mounts: [
        bind("/dev", "rshared", "rbind", "rw"),
        ...[...shared, bind("/usr/local/lib", "bind", "ro"), bind("/var/run", "rshared", "rbind", "rw"), own],
      ],
    },
    depends: [{ service: "cri" }, { service: "udevd" }, { path: "/sys/bus/pci/drivers/nvidia" }],
    restart: "always",
  },
  "nvidia-cdi-gen": {
    name: "nvidia-cdi-gen",
    container: {
      entrypoint: "/usr/local/bin/nvidia-ctk",
      args: "cdi generate --library-search-path /usr/local/glibc/usr/lib --output /run/cdi/nvidia.yaml".split(" "),
      mounts: [
        ...[bind("/dev", "rshared", "rbind", "ro"), ...shared],
        bind("/var/run/nvidia-persistenced", "rshared", "rbind", "ro"),
        ...[own, bind("/run/cdi", "bind", "rw")],
      ],
    },
    depends: [{ service: "ext-nvidia-persistenced" }],
    restart: "untilSuccess",
  },
};
const runtime = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
  privileged_without_host_devices = false
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
    BinaryName = "/usr/local/bin/nvidia-container-runtime"
`;

/** Lays out what an extension's image holds; gives the folder's name below `work`. Undefined where nothing stands in for that extension. */
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
  if (known.kind === "modules") await modulesOf({ work, ...parts }, root, driver, known.flavour === "open");
  else await toolkitOf(parts.tools, root, release, driver);
  const metadata = {
    name: folder,
    version,
    author,
    description,
    compatibility: { talos: { version: `>= ${release}` } },
  };
  await fs.writeFile(path.join(work, folder, "manifest.yaml"), JSON.stringify({ version: "v1alpha1", metadata }));
  return folder;
}

async function modulesOf({ debian, kernel, work }: Parts, root: string, driver: string, open: boolean): Promise<void> {
  const folder = path.join(work, "modules");
  await fs.mkdir(folder, { recursive: true });
  for (const [name, source] of Object.entries(modules)) await fs.writeFile(path.join(folder, `${name}.c`), source);
  const objects = Object.keys(modules).map((name) => `${name}.o`);
  const flavour = open ? "Open Kernel Module for x86_64" : "x86_64 Kernel Module";
  const flags = `-DDRIVER='"${driver}"' -DFLAVOUR='"${flavour}"'`;
  await fs.writeFile(path.join(folder, "Makefile"), `obj-m := ${objects.join(" ")}\nccflags-y := ${flags}\n`);
  const build = `make -C /usr/lib/modules/${kernel}/build M=/work/modules modules`;
  await debian.inside(work, ["sh", "-c", build]);
  const target = path.join(root, `usr/lib/modules/${kernel}/extras/nvidia`);
  await fs.mkdir(target, { recursive: true });
  for (const name of Object.keys(modules))
    await fs.copyFile(path.join(folder, `${name}.ko`), path.join(target, `${name}.ko`));
  await fs.rm(folder, { recursive: true });
}

async function toolkitOf(tools: Parts["tools"], root: string, release: string, driver: string): Promise<void> {
  const hasCdi = eraOf(release) === "cdi";
  const file = async (name: string, text: string): Promise<void> => {
    await fs.mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await fs.writeFile(path.join(root, name), text);
  };
  await file("etc/cri/conf.d/10-nvidia-container-runtime.part", runtime);
  await file(`usr/local/${hasCdi ? "" : "glibc/usr/"}lib/libnvidia-ml.so.${driver}`, "a stand-in\n");
  await fs.mkdir(path.join(root, "usr/local/glibc/usr/lib"), { recursive: true });
  await fs.mkdir(path.join(root, "usr/local/bin"));
  for (const name of ["nvidia-persistenced-wrapper", "nvidia-ctk", "nvidia-container-runtime", "nvidia-smi"]) {
    await fs.copyFile(path.join(tools["talos-programs"], "service"), path.join(root, "usr/local/bin", name));
    await fs.chmod(path.join(root, "usr/local/bin", name), 0o755);
  }
  for (const [name, service] of Object.entries(services)) {
    if (name === "nvidia-cdi-gen" && !hasCdi) continue;
    await file(`usr/local/etc/containers/${name}.yaml`, JSON.stringify(service));
    await fs.mkdir(path.join(root, "usr/local/lib/containers", name), { recursive: true });
  }
}
