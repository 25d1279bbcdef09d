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
          says: ["an image that means harm takes over the machine; take Talos v1.10.4 or newer"],
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
            "workload isolation (SecurityProfileConfig) was not tried with a card; containerd, the kubelet and all pods then",
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
          says: ["the kernel of Talos ≥ 1.13 has branch target identification on arm64"],
        },
      ],
    },
  ],
  "nvswitch-unknown": [
    {
      name: "A fabric manager next to half a board",
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
            "it is unknown whether the machine has an NVSwitch; without one the fabric manager ends at once with NV_WARN_NOTHING_TO_DO, and the update would wait for it; leave the fabric manager out",
          ],
        },
      ],
    },
  ],
  "own-image": [
    {
      name: "An installer image of one's own",
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
            "and so is what the machine would lose with it; its owner made it, and nothing lists its contents; make sure that the image has siderolabs/nvidia-",
          ],
        },
      ],
    },
    {
      name: "An installer image of one's own, whose machine needs kernel arguments",
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
          says: [", and the kernel arguments arm64.nobti"],
        },
        {
          check: "gb10-modules",
          field: "machines.gpu.gpus",
          severity: "warning",
          says: [
            "modules were not tried by us on a GB10; Talos' documentation names the proprietary modules",
            "set machines.gpu.driver.flavour: ",
          ],
        },
      ],
    },
    {
      name: "An installer image of a machine without a card",
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
          says: ["make sure that the image has what the machine needs"],
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
            "is left to the operator; it sets the label once Node Feature Discovery has found the card; leave it out",
          ],
        },
      ],
    },
  ],
};
