import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about a machine's image. */
export const imagesMistakes: Mistakes = {
  "kernel-args": [
    {
      name: "Kernel arguments in a schematic, on a release that boots by GRUB",
      base: "rtx3090-timeslicing",
      change: yaml`
        talosVersion: v1.9.6
        machines:
          gpu-a: { kernelArgs: [iommu=pt] }
      `,
      findings: [
        {
          check: "kernel-args",
          field: "machines.gpu-a.kernelArgs",
          says: [
            "on Talos v1.9.6 without Secure Boot",
            "take effect only if the machine boots a UKI",
            "extraKernelArgs",
          ],
        },
      ],
    },
    {
      name: "Two kernel arguments in one entry",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu: { kernelArgs: [iommu=pt quiet] }
      `,
      findings: [
        {
          check: "kernel-args",
          field: "machines.talos-gpu.kernelArgs[0]",
          says: ["is not one argument"],
        },
      ],
    },
    {
      name: "A kernel argument that keeps the kernel from loading NVIDIA's module",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon: { kernelArgs: ["module_blacklist=nouveau,nvidia_uvm"] }
      `,
      findings: [
        {
          check: "kernel-args",
          field: "machines.velaryon.kernelArgs[0]",
          says: [
            "blocks the kernel module nvidia_uvm",
            "list it under drop.kernelArgs if the machine boots with it now",
          ],
        },
      ],
    },
    {
      name: "A module parameter with a blank as a kernel argument",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon: { kernelArgs: [nvidia.NVreg_RegistryDwords="a=1; quiet"] }
      `,
      findings: [
        {
          check: "kernel-args",
          field: "machines.velaryon.kernelArgs[0]",
          says: ["nvidia.NVreg_RegistryDwords has no effect"],
        },
      ],
    },
    {
      name: "The platform as a kernel argument",
      base: "one-card",
      change: yaml`
        machines:
          gpu: { kernelArgs: [talos.platform=metal] }
      `,
      findings: [
        { check: "kernel-args", field: "machines.gpu.kernelArgs[0]", says: ["sets the platform"] },
      ],
    },
    {
      name: "Parameters of NVIDIA's modules among the kernel arguments",
      base: "velaryon",
      change: yaml`
        machines: { velaryon: { kernelArgs: [nvidia_drm.modeset=1, nvidia-drm.fbdev=1] } }
      `,
      findings: [
        {
          check: "kernel-args",
          field: "machines.velaryon.kernelArgs[0]",
          severity: "warning",
          says: ["moduleParameters: `nvidia_drm: ['modeset=1']`"],
        },
        {
          check: "kernel-args",
          field: "machines.velaryon.kernelArgs[1]",
          severity: "warning",
          says: ["nvidia-drm.fbdev has no effect as a kernel argument"],
        },
      ],
    },
    {
      name: "A parameter of NVIDIA's module among those of a patch",
      base: "velaryon",
      change: yaml`
        patches: ["machine: { install: { extraKernelArgs: [nvidia_drm.modeset=1] } }"]
      `,
      findings: [
        {
          check: "kernel-args",
          field: "patches[0]",
          severity: "warning",
          says: ["nvidia_drm.modeset has no effect as a kernel argument"],
        },
      ],
    },
  ],
  "extension-name": [
    {
      name: "An extension's name without its branch",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4: { extensions: [siderolabs/nvidia-container-toolkit] }
      `,
      findings: [
        {
          check: "extension-name",
          field: "machines.k8s-worker4.extensions[0]",
          says: [
            '"siderolabs/nvidia-container-toolkit" does not name a branch',
            "the Image Factory reads this name as the lts branch, which may not fit the other extensions of the driver",
            "nvidia-container-toolkit-production",
          ],
        },
      ],
    },
    {
      name: "An extension that never existed",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon: { extensions: [siderolabs/nvidia-driver] }
      `,
      findings: [
        {
          check: "extension-name",
          field: "machines.velaryon.extensions[0]",
          says: [
            'there is no official extension "siderolabs/nvidia-driver"',
            "fails when the machine pulls",
          ],
        },
      ],
    },
    {
      name: "A misspelt extension",
      base: "modern",
      change: yaml`
        machines:
          cp-1: { extensions: [siderolabs/iscsi-tool] }
      `,
      findings: [
        {
          check: "extension-name",
          field: "machines.cp-1.extensions[0]",
          says: ['did you mean "siderolabs/iscsi-tools"?'],
        },
      ],
    },
    {
      name: "A custom extension at the public Image Factory",
      base: "one-card",
      change: yaml`
        machines:
          gpu: { extensions: [example/own-driver] }
      `,
      findings: [
        {
          check: "extension-name",
          field: "machines.gpu.extensions[0]",
          says: ['there is no official extension "example/own-driver" in any Talos version'],
        },
      ],
    },
  ],
  "extension-release": [
    {
      name: "An extension that came with a later release",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu: { extensions: [siderolabs/nvidia-gdrdrv-device] }
      `,
      findings: [
        {
          check: "extension-release",
          field: "machines.talos-gpu.extensions[0]",
          says: [
            "is not part of Talos v1.11.5",
            "list it under drop.extensions if the machine runs it now",
            "from Talos 1.12 on",
          ],
        },
      ],
    },
    {
      name: "An extension that ended with an earlier release",
      base: "frank",
      change: yaml`
        machines:
          mini-1: { extensions: [siderolabs/i915-ucode] }
      `,
      findings: [
        {
          check: "extension-release",
          field: "machines.mini-1.extensions[0]",
          says: [
            "siderolabs/i915-ucode is not part of Talos v1.12.6",
            "use a Talos version with this extension (up to Talos 1.8), or leave the extension out (and list it under drop.extensions if the machine runs it now)",
          ],
        },
      ],
    },
  ],
  "extension-without-gpu": [
    {
      name: "NVIDIA's extensions on a machine without a card",
      base: "frank",
      change: yaml`
        machines:
          mini-1: { extensions: [siderolabs/nvidia-container-toolkit-production] }
      `,
      findings: [
        {
          check: "extension-without-gpu",
          field: "machines.mini-1.extensions[0]",
          says: [
            "siderolabs/nvidia-container-toolkit-production is for a machine with a GPU, and this machine has none",
            "reboots every 70 minutes",
            "list it under drop.extensions if the machine runs it now",
          ],
        },
      ],
    },
  ],
  "image-lists": [
    {
      name: "The same extension twice",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4: { extensions: [siderolabs/iscsi-tools, siderolabs/iscsi-tools] }
      `,
      findings: [
        {
          check: "image-lists",
          field: "machines.k8s-worker4.extensions[1]",
          says: ["is listed twice", "remove one of the two, or correct its name"],
        },
      ],
    },
    {
      name: "An extension that the stack both adds and drops",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            extensions: [siderolabs/iscsi-tools]
            drop: { extensions: [iscsi-tools] }
      `,
      findings: [
        {
          check: "image-lists",
          field: "machines.k8s-worker4.drop.extensions[0]",
          says: ['"iscsi-tools" is also listed under machines.k8s-worker4.extensions'],
        },
      ],
    },
  ],
  "module-parameters": [
    {
      name: "Parameters of NVIDIA's module on a machine without a card",
      base: "frank",
      change: yaml`
        machines:
          mini-1:
            moduleParameters: { nvidia: [NVreg_A=1] }
      `,
      findings: [
        {
          check: "module-parameters",
          field: "machines.mini-1.moduleParameters.nvidia",
          says: ["remove the parameters, or list the machine's cards under `gpus`"],
        },
      ],
    },
    {
      name: "Parameters of a module that this package does not load",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon:
            moduleParameters: { nvidia_dmr: [modeset=1] }
      `,
      findings: [
        {
          check: "module-parameters",
          field: "machines.velaryon.moduleParameters.nvidia_dmr",
          says: [
            "the package does not load the module nvidia_dmr on this machine",
            'did you mean "nvidia_drm"?',
          ],
        },
      ],
    },
    {
      name: "Module parameters that a patch sets too, and two parameters in one text",
      base: "one-card",
      change: yaml`
        patches:
          - "machine: { kernel: { modules: [{ name: nvidia, parameters: [NVreg_EnableGpuFirmware=0] }] } }"
        machines:
          gpu:
            moduleParameters: { nvidia: [a=1], nvidia_uvm: [a=1 b=2] }
      `,
      findings: [
        {
          check: "module-parameters",
          field: "machines.gpu.moduleParameters.nvidia",
          says: ["patches[0] also declares nvidia"],
        },
        {
          check: "module-parameters",
          field: "machines.gpu.moduleParameters.nvidia_uvm",
          says: ['"a=1 b=2" is not one parameter'],
        },
      ],
    },
    {
      name: "Parameters of a storage module on a machine without a card",
      base: "frank",
      change: yaml`
        machines:
          mini-1:
            moduleParameters: { zfs: [zfs_arc_max=1] }
      `,
      findings: [
        {
          check: "module-parameters",
          field: "machines.mini-1.moduleParameters.zfs",
          says: [
            "the package does not load the module zfs on this machine (this machine has no GPU)",
          ],
        },
      ],
    },
  ],
  "installer-image": [
    {
      name: "A custom installer image of another release, with fields that apply only to images of the Image Factory",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            installerImage: registry.example.com/talos/installer:v1.11.0-nvidia
            kernelArgs: [pci=realloc]
            drop: { extensions: [siderolabs/iscsi-tools] }
      `,
      findings: [
        {
          check: "installer-image",
          field: "machines.k8s-worker4.installerImage",
          says: ["has the tag of v1.11.0, but the machine should run Talos v1.12.6"],
        },
        {
          check: "installer-image",
          field: "machines.k8s-worker4.kernelArgs",
          says: ["together with installerImage"],
        },
        {
          check: "installer-image",
          field: "machines.k8s-worker4.drop",
          says: ["does not know the contents of this image"],
        },
      ],
    },
    {
      name: "An installer image that names neither tag nor digest",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { installerImage: registry.example.com/talos/installer } }
      `,
      findings: [
        {
          check: "installer-image",
          field: "machines.k8s-worker4.installerImage",
          says: ["with a tag or a digest"],
        },
      ],
    },
    {
      name: "Talos' own installer for a release that no longer has one",
      base: "one-card",
      change: yaml`
        talosVersion: v1.14.1
        machines: { gpu: { installerImage: ghcr.io/siderolabs/installer:v1.14.1 } }
      `,
      findings: [
        {
          check: "installer-image",
          field: "machines.gpu.installerImage",
          says: [
            "is ghcr.io/siderolabs/installer",
            "has no image for Talos newer than 1.13",
            "leave `installerImage` out",
          ],
        },
      ],
    },
  ],
  "tpm-key": [
    {
      name: "A volume with a key in the TPM on a machine with an unsigned custom installer",
      base: "one-card",
      change: yaml`
        talosVersion: v1.12.6
        machines:
          gpu:
            installerImage: ghcr.io/siderolabs/installer:v1.12.6
            patches:
              - "{apiVersion: v1alpha1, kind: VolumeConfig, name: STATE, encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}}"
      `,
      findings: [
        {
          check: "tpm-key",
          field: "machines.gpu.patches[0]",
          says: ["encrypts the volume STATE", "set machines.gpu.installerImage to a signed image"],
        },
      ],
    },
    {
      name: "A volume with a key in the TPM on a machine without Secure Boot",
      base: "one-card",
      change: yaml`
        patches:
          - "{apiVersion: v1alpha1, kind: VolumeConfig, name: EPHEMERAL, encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}}"
      `,
      findings: [
        {
          check: "tpm-key",
          field: "patches[0]",
          says: [
            "encrypts the volume EPHEMERAL with a key in the TPM, but the image of gpu is not signed for Secure Boot",
            "could not prepare the volume",
            "set machines.gpu.secureBoot: true, or use a key of another kind",
          ],
        },
      ],
    },
    {
      name: "A system disk with a key in the TPM, in Talos' older form",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            patches:
              - "machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 1, tpm: {}}]}}}"
      `,
      findings: [
        {
          check: "tpm-key",
          field: "machines.k8s-worker4.patches[0]",
          says: ["encrypts the volume STATE", "set machines.k8s-worker4.secureBoot: true"],
        },
      ],
    },
  ],
  multipath: [
    {
      name: "multipathd configured as before Talos 1.15",
      base: "next",
      change: yaml`
        patches:
          - "{apiVersion: v1alpha1, kind: ExtensionServiceConfig, name: multipathd, configFiles: []}"
        machines:
          gpu: { extensions: [siderolabs/multipath-tools] }
      `,
      findings: [
        {
          check: "multipath",
          field: "patches[0]",
          says: [
            "from Talos 1.15 on this document makes the service wait forever, and Talos reboots a machine whose services do not start",
            "EtcFileConfig",
          ],
        },
      ],
    },
  ],
};
