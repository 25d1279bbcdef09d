import { DriverBranch, ModuleFlavour } from "../spec/index";

/**
 * Part of NVIDIA's software that an extension contains. The toolkit's extension also contains the driver's user-space
 * libraries, so a machine's modules and toolkit must have the same branch. Source: siderolabs/extensions, nvidia-gpu.
 */
export interface NvidiaExtension {
  kind: "modules" | "toolkit" | "fabricmanager" | "gdrdrv";
  branch?: DriverBranch;
  flavour?: ModuleFlavour;
}

const named = new Map<string, NvidiaExtension>([
  ["siderolabs/nvidia-gdrdrv-device", { kind: "gdrdrv" }],
]);
for (const branch of Object.values(DriverBranch)) {
  for (const flavour of Object.values(ModuleFlavour))
    named.set(modulesExtension(flavour, branch), { kind: "modules", branch, flavour });
  named.set(toolkitExtension(branch), { kind: "toolkit", branch });
  named.set(fabricManagerExtension(branch), { kind: "fabricmanager", branch });
}

/** Extension with the kernel modules. */
export function modulesExtension(flavour: ModuleFlavour, branch: DriverBranch): string {
  return flavour === "open"
    ? `siderolabs/nvidia-open-gpu-kernel-modules-${branch}`
    : `siderolabs/nonfree-kmod-nvidia-${branch}`;
}

/** Extension with the container toolkit and the driver's libraries. */
export function toolkitExtension(branch: DriverBranch): string {
  return `siderolabs/nvidia-container-toolkit-${branch}`;
}

/** Extension with the fabric manager of NVSwitch systems. */
export function fabricManagerExtension(branch: DriverBranch): string {
  return `siderolabs/nvidia-fabricmanager-${branch}`;
}

/** Part of NVIDIA's software in the extension with this exact name; undefined for other extensions. */
export const nvidiaExtension = (name: string): NvidiaExtension | undefined => named.get(name);

/** Whether a Talos service belongs to an NVIDIA extension, by the service's name, e.g. `ext-nvidia-persistenced`. */
export const isNvidiaService = (name: string): boolean => name.startsWith("ext-nvidia-");

/**
 * Names that the Image Factory silently reads as the `-lts` extension, each with the names to write instead. Source:
 * image-factory, internal/profile, ExtensionNameAlias.
 */
export const unsuffixedNames: Record<string, string[]> = {
  "siderolabs/nonfree-kmod-nvidia": branched((branch) => modulesExtension("proprietary", branch)),
  "siderolabs/nvidia-open-gpu-kernel-modules": branched((branch) =>
    modulesExtension("open", branch),
  ),
  "siderolabs/nvidia-container-toolkit": branched(toolkitExtension),
  "siderolabs/nvidia-fabricmanager": branched(fabricManagerExtension),
  "siderolabs/nvidia-fabric-manager": branched(fabricManagerExtension),
};

function branched(nameOf: (branch: DriverBranch) => string): string[] {
  return Object.values(DriverBranch).map(nameOf);
}

/**
 * The name that the Image Factory uses for an NVIDIA extension whose name lacks the branch. Any other name stays the
 * same.
 */
export const branchedName = (name: string): string =>
  Object.hasOwn(unsuffixedNames, name) ? unsuffixedNames[name]![0]! : name;

/** Whether an extension's name contains `nvidia`, even if no official extension has this name. */
export const soundsLikeNvidia = (name: string): boolean => name.includes("nvidia");
