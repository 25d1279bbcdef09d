import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about drivers. */
export const driversMistakes: Mistakes = {
  "module-flavour": [
    {
      name: "Proprietary kernel modules on Blackwell",
      base: "rtx5070ti",
      change: yaml`
        driver: { flavour: proprietary }
      `,
      findings: [
        {
          check: "module-flavour",
          field: "driver.flavour",
          says: [
            "proprietary kernel modules do not support the RTX 5070 Ti (Blackwell) of k8s-worker4",
            "find no devices",
            "leave driver.flavour out, or set it to open",
          ],
        },
      ],
    },
    {
      name: "Extensions with proprietary kernel modules on Blackwell",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            extensions:
              - siderolabs/nonfree-kmod-nvidia-production
              - siderolabs/nvidia-container-toolkit-production
      `,
      findings: [
        {
          check: "module-flavour",
          field: "machines.k8s-worker4.extensions",
          says: [
            "proprietary kernel modules do not support the RTX 5070 Ti (Blackwell) of k8s-worker4",
            "leave NVIDIA's extensions out, or list those of the open modules",
          ],
        },
      ],
    },
    {
      name: "Proprietary kernel modules on Grace Hopper",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            gpus: [{ model: GH200 480GB }]
        driver: { flavour: proprietary }
      `,
      findings: [
        {
          check: "module-flavour",
          field: "driver.flavour",
          says: [
            "proprietary kernel modules do not support the GH200 480GB (Hopper) of talos-gpu",
            "with the open modules only",
            "leave driver.flavour out, or set it to open",
          ],
        },
      ],
    },
    {
      name: "Open kernel modules on Pascal",
      base: "three-generations",
      change: yaml`
        machines: { blackwell: null, spark: null, titan: null }
        driver: { flavour: open }
      `,
      findings: [
        {
          check: "module-flavour",
          field: "driver.flavour",
          says: [
            "open kernel modules do not support the GTX 1080 Ti (Pascal) of pascal",
            "the open modules load but find no devices, because they need the GSP processor, which only Turing and newer cards have",
            "leave driver.flavour out, or set it to proprietary",
          ],
        },
      ],
    },
  ],
  "open-modules-card": [
    {
      name: "Open kernel modules of driver 535 on a GeForce card",
      base: "velaryon",
      change: yaml`
        driver: { flavour: open }
      `,
      findings: [
        {
          check: "open-modules-card",
          field: "driver.flavour",
          says: [
            "the open kernel modules of driver 535.247.01 do not support the RTX 2070 SUPER of velaryon",
            "NVreg_OpenRmEnableUnsupportedGpus=1",
            "leave driver.flavour out (its default is proprietary here), or set driver.branch to production",
          ],
        },
      ],
    },
  ],
  "driver-too-old": [
    {
      name: "The lts driver of Talos 1.11 is too old for Blackwell",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon:
            gpus: [{ model: RTX 5090 }]
      `,
      findings: [
        {
          check: "driver-too-old",
          field: "driver.branch",
          says: [
            "is 535.247.01, but the RTX 5090 of velaryon needs 570.86.10 or newer",
            "set driver.branch to production (570.172.08)",
          ],
        },
      ],
    },
    {
      name: "No driver of Talos 1.9 knows Blackwell",
      base: "rtx3090-timeslicing",
      change: yaml`
        sharing: null
        talosVersion: v1.9.6
        machines:
          gpu-a:
            powerLimit: null
            gpus: [{ model: RTX 5090 }]
        workloads: { pods: { two: null } }
      `,
      findings: [
        {
          check: "driver-too-old",
          field: "talosVersion",
          says: ["needs 570.86.10 or newer", "use a newer Talos version"],
        },
      ],
    },
  ],
  "driver-too-new": [
    {
      name: "The production driver of Talos 1.13 dropped Volta",
      base: "three-generations",
      change: yaml`
        machines: { blackwell: null, pascal: null, spark: null }
        driver: { branch: production }
      `,
      findings: [
        {
          check: "driver-too-new",
          field: "driver.branch",
          says: [
            "the production driver of Talos v1.13.9 is 595.91.07, but the TITAN V of titan (Volta) is supported only up to branch 580",
            "set driver.branch to lts (580.178.04)",
          ],
        },
      ],
    },
    {
      name: "A Pascal card on a Talos version whose drivers all dropped it",
      base: "three-generations",
      change: yaml`
        talosVersion: v1.13.99
        releaseFacts: { talosVersion: v1.13.99, lts: 590.48.01, production: 595.91.07 }
        machines: { blackwell: null, spark: null, titan: null }
      `,
      findings: [
        {
          check: "driver-too-new",
          field: "talosVersion",
          says: [
            "the production driver of Talos v1.13.99 is 595.91.07",
            "the production driver of Talos v1.13.99 is 595.91.07, but the GTX 1080 Ti of pascal (Pascal) is supported only up to branch 580",
          ],
        },
      ],
    },
  ],
  "driver-branches": [
    {
      name: "Kernel modules of one branch, container toolkit of the other",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            extensions:
              - siderolabs/nvidia-open-gpu-kernel-modules-production
              - siderolabs/nvidia-container-toolkit-lts
      `,
      findings: [
        {
          check: "driver-branches",
          field: "machines.k8s-worker4.extensions",
          says: [
            "the kernel modules are of branch production, and the container toolkit is of branch lts",
            "version mismatch",
            "driver.branch",
          ],
        },
      ],
    },
    {
      name: "A driver flavour and extensions of the other flavour",
      base: "rtx5070ti",
      change: yaml`
        driver: { flavour: proprietary }
        machines:
          k8s-worker4:
            extensions: [siderolabs/nvidia-open-gpu-kernel-modules-production]
      `,
      findings: [
        {
          check: "driver-branches",
          field: "machines.k8s-worker4.extensions",
          says: ["lists open kernel modules, but the field `driver` sets proprietary"],
        },
      ],
    },
  ],
  "fabricmanager-branch": [
    {
      name: "A fabric manager of another branch than the driver",
      base: "hgx",
      change: yaml`
        machines:
          hgx-1: { extensions: [siderolabs/nvidia-fabricmanager-lts] }
      `,
      findings: [
        {
          check: "fabricmanager-branch",
          field: "machines.hgx-1.extensions",
          says: [
            "the fabric manager is of branch lts, but the kernel modules are of branch production",
            "nvidia-fabricmanager-production",
          ],
        },
      ],
    },
    {
      name: "A fabric manager for cards without an NVSwitch",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4: { extensions: [siderolabs/nvidia-fabricmanager-production] }
      `,
      findings: [
        {
          check: "fabricmanager-branch",
          field: "machines.k8s-worker4.extensions",
          says: [
            "lists the fabric manager, but a machine with the RTX 5070 Ti has no NVSwitch",
            "NV_WARN_NOTHING_TO_DO",
          ],
        },
      ],
    },
  ],
  "kernel-modules-once": [
    {
      name: "Both flavours of the kernel modules in one image",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon:
            extensions:
              - siderolabs/nonfree-kmod-nvidia-production
              - siderolabs/nvidia-open-gpu-kernel-modules-production
        driver: { branch: production }
      `,
      findings: [
        {
          check: "kernel-modules-once",
          field: "machines.velaryon.extensions",
          says: ["only one can be in the kernel"],
        },
      ],
    },
  ],
  "driver-branch": [
    {
      name: "A driver branch of Talos 1.15 on Talos 1.14",
      base: "next",
      change: yaml`
        talosVersion: v1.14.6
        driver: { branch: new-feature }
      `,
      findings: [
        {
          check: "driver-branch",
          field: "driver.branch",
          says: [
            "branch new-feature on gpu needs the extension siderolabs/nvidia-container-toolkit-new-feature, which Talos v1.14.6 does not have",
            "Talos v1.14.6 does not have",
            "set another branch",
          ],
        },
      ],
    },
    {
      name: "A flavour that the driver branch does not have",
      base: "next",
      change: yaml`
        driver: { branch: new-feature, flavour: proprietary }
        machines:
          gpu:
            gpus: [{ model: RTX 3090 }]
      `,
      findings: [
        {
          check: "driver-branch",
          field: "driver.branch",
          says: [
            "siderolabs/nonfree-kmod-nvidia-new-feature",
            "set another branch, or set driver.flavour to open",
          ],
        },
      ],
    },
  ],
  "driver-unnamed": [
    {
      name: "A driver field that an import left empty",
      base: "velaryon",
      change: yaml`
        driver: null
        machines: { velaryon: { driver: {} } }
      `,
      findings: [
        {
          check: "driver-unnamed",
          field: "machines.velaryon.driver",
          severity: "warning",
          says: [
            "if the machine runs another driver today, the update stops before it reboots the machine; write the branch and the flavour that `talosctl -n 10.4.0.30 get extensions` shows",
          ],
        },
      ],
    },
  ],
};
