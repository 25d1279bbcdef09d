import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about machines. */
export const machineRisksMistakes: Mistakes = {
  "container-escape": [
    {
      name: "A toolkit with published container escapes",
      base: "one-card",
      change: yaml`
        talosVersion: v1.10.3
        gpuOperator: { version: v25.10.1 }
      `,
      findings: [
        {
          check: "container-escape",
          field: "machines.gpu",
          severity: "warning",
          says: [
            "a malicious container image can take over the machine; use Talos v1.10.4 or newer, which has a toolkit without these vulnerabilities",
          ],
        },
      ],
    },
  ],
  "workload-isolation": [
    {
      name: "Workload isolation",
      base: "one-card",
      change: yaml`
        talosVersion: v1.14.1
        patches:
          - |
            apiVersion: v1alpha1
            kind: SecurityProfileConfig
            workloadIsolation: true
      `,
      findings: [
        {
          check: "workload-isolation",
          field: "machines.gpu",
          severity: "warning",
          says: [
            "no real card has been tried with workload isolation (SecurityProfileConfig); containerd, the kubelet and all pods then run in separate process and mount namespaces. On Talos 1.14.1 whole stacks ran with it, but only in virtual machines with stand-ins for cards and kernel modules",
          ],
        },
      ],
    },
  ],
  "branch-targets": [
    {
      name: "A card in a slot of an arm64 machine",
      base: "one-card",
      change: yaml`
        talosVersion: v1.14.1
        machines: { gpu: { overlay: { image: siderolabs/sbc-raspberrypi, name: rpi_generic } } }
      `,
      findings: [
        {
          check: "branch-targets",
          field: "machines.gpu.kernelArgs",
          severity: "warning",
          says: [
            "from Talos 1.13 on the arm64 kernel uses branch target identification, which makes NVIDIA's modules crash on a GB10",
          ],
        },
      ],
    },
  ],
  "nvswitch-unknown": [
    {
      name: "A fabric manager on a machine with only half of an HGX board",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            gpus: [{ model: H100 80GB HBM3, count: 4 }]
            extensions: [siderolabs/nvidia-fabricmanager-production]
      `,
      findings: [
        {
          check: "nvswitch-unknown",
          field: "machines.gpu.extensions",
          severity: "warning",
          says: [
            "it is unknown whether the machine has an NVSwitch; without an NVSwitch the fabric manager exits at once with NV_WARN_NOTHING_TO_DO, and the update would wait for it; if the machine has no NVSwitch, leave the fabric manager out (SXM boards of four cards have no NVSwitch)",
          ],
        },
      ],
    },
  ],
  "own-image": [
    {
      name: "A custom installer image",
      base: "one-card",
      change: yaml`
        machines: { gpu: { installerImage: registry.example.com/talos/installer:v1.13.9-nvidia } }
      `,
      findings: [
        {
          check: "own-image",
          field: "machines.gpu.installerImage",
          severity: "warning",
          says: [
            "the contents of the image are unknown, so the update cannot warn of extensions that the machine would lose; the image is your own, and no list of its contents exists; make sure that the image has siderolabs/nvidia-container-toolkit-production, siderolabs/nvidia-open-gpu-kernel-modules-production (or your builds of them: open modules, branch production)",
          ],
        },
      ],
    },
    {
      name: "A custom installer image of a machine that needs kernel arguments",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            gpus: [{ model: GB10 }]
            installerImage: registry.example.com/talos/installer:v1.13.9-nvidia
      `,
      findings: [
        {
          check: "own-image",
          field: "machines.gpu.installerImage",
          severity: "warning",
          says: [", and the kernel argument arm64.nobti"],
        },
        {
          check: "gb10-modules",
          field: "machines.gpu.gpus",
          severity: "warning",
          says: [
            "this package is untested with the proprietary modules on a GB10; Talos' documentation recommends the proprietary modules for this card, but users report Xid 169 with the proprietary modules of driver 580.173.02",
            "set machines.gpu.driver.flavour: ",
          ],
        },
      ],
    },
    {
      name: "A custom installer image of a machine without a card",
      base: "one-card",
      change: yaml`
        machines:
          other:
            address: 10.0.0.2
            role: worker
            configuration: adopted
            installerImage: registry.example.com/talos/installer:v1.13.9
      `,
      findings: [
        {
          check: "own-image",
          field: "machines.other.installerImage",
          severity: "warning",
          says: ["make sure that the image has everything that the machine needs"],
        },
      ],
    },
  ],
  "operators-label": [
    {
      name: "The operator's label, set by the stack",
      base: "one-card",
      change: yaml`
        machines: { gpu: { labels: { nvidia.com/gpu.present: "true" } } }
      `,
      findings: [
        {
          check: "operators-label",
          field: "machines.gpu.labels.nvidia.com/gpu.present",
          severity: "note",
          says: [
            "has no effect: only the operator sets this label; the stack leaves this label to the operator, which sets it once Node Feature Discovery has found the card; leave it out",
          ],
        },
      ],
    },
  ],
};
