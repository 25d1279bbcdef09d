import { type Fixes, hasGpu } from "./fix";

/** What is in the image: release, schematic, driver. */
export const imageFixes = {
  schematic: {
    does: "a machine is upgraded when its release or its schematic is not the wanted one",
    symptom:
      "the machine runs the wanted Talos release, but no driver: kernel modules not loaded, no NVIDIA extension in `talosctl get extensions`",
    cause:
      "extensions are part of the image: a machine with the same Talos release but another schematic does not have them, and an upgrade that compares only the release finds nothing to do",
    errors: ["kernel modules not loaded: nvidia, nvidia_uvm, nvidia_drm, nvidia_modeset", "no NVIDIA driver is loaded"],
    inForce:
      "run `pulumi up`, which compares the schematic too; by hand: `talosctl upgrade` with the installer image that machine.install.image names",
    source:
      "talos, Image Factory and system extensions: extensions are part of the boot image (siderolabs/docs, system-extensions)",
    // Omni compares and upgrades its machines itself.
    usedBy: ({ machines }) => machines.some(({ gpuCount, configuration }) => gpuCount > 0 && configuration !== "omni"),
  },
  driverBranches: {
    does: "kernel modules and container toolkit are taken from one branch, lts or production",
    symptom:
      "GPU containers do not start: nvml error: driver/library version mismatch (API mismatch in the kernel's log)",
    cause:
      "the driver's libraries are in the container toolkit's extension, and their version must be exactly that of the kernel modules",
    errors: [
      "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
      "Failed to initialize NVML: Driver/library version mismatch",
      "NVRM: API mismatch",
    ],
    inForce: "take NVIDIA's extensions out of machines.<name>.extensions: driver.branch then chooses both",
    source:
      "siderolabs/extensions, nvidia-gpu; NVIDIA/open-gpu-kernel-modules, README (user-space components must match)",
    usedBy: hasGpu,
    check: "driver-branches",
  },
} satisfies Fixes;
