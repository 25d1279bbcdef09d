import { upgradeTask, type UpgradeTask } from "../../../components/program/task";

export const schematics = { plain: "3".repeat(64), gpu: "a".repeat(64), other: "b".repeat(64) };
/** The Image Factory's installer image of a schematic. Default: the schematic with the driver. */
export const factoryImage = (talosVersion: string, schematicId = schematics.gpu): string =>
  `factory.talos.dev/metal-installer/${schematicId}:${talosVersion}`;
/** Kernel modules of NVIDIA's driver. */
export const NVIDIA_MODULES = ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"];

/** A task that upgrades the fake machine from a plain v1.12.4 to v1.12.6 with NVIDIA's driver. */
export function createUpgradeTask(fields: Partial<UpgradeTask> = {}): UpgradeTask {
  const talosVersion = fields.talosVersion ?? "v1.12.6";
  const schematicId = fields.schematicId ?? schematics.gpu;
  return upgradeTask.parse({
    machine: "gpu-1",
    address: "10.0.0.1",
    role: "worker",
    talosVersion,
    schematicId,
    installerImage: factoryImage(talosVersion, schematicId),
    image: {
      extensions: [
        "siderolabs/nvidia-container-toolkit-production",
        "siderolabs/nvidia-open-gpu-kernel-modules-production",
      ],
      kernelArgs: [],
    },
    configurationHash: "1",
    modules: NVIDIA_MODULES,
    driverVersion: "570.211.01",
    extensionServices: [{ name: "ext-nvidia-persistenced", state: "Running" }],
    drain: true,
    otherControlPlanes: [],
    timeouts: { pull: "10m", drain: "5m", reboot: "30m", verify: "5m" },
    ...fields,
  });
}
