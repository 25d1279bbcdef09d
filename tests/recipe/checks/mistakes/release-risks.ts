import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about releases of the charts. */
export const releaseRisksMistakes: Mistakes = {
  "chart-release": [
    {
      name: "A plugin release between two releases of the tables",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { version: 0.18.0 }
      `,
      findings: [
        {
          check: "chart-release",
          field: "devicePlugin.version",
          severity: "note",
          says: [
            "nvidia-device-plugin 0.18.0 is not in this package's tables; the package checks the chart's values against the known releases 0.17.4 and 0.18.2; compare the values with `helm show values`",
          ],
        },
      ],
    },
  ],
  "chart-value": [
    {
      name: "A value in a release that is newer than the tables",
      base: "one-card",
      change: yaml`
        gpuOperator: { version: v99.9.0, values: { cardDoctor: { enabled: true } } }
      `,
      findings: [
        {
          check: "chart-value",
          field: "gpuOperator.values.cardDoctor",
          severity: "note",
          says: [
            "it is unknown whether gpu-operator v99.9.0 has this value; Helm silently ignores a value that the chart does not have; look for this value in `helm show values`",
          ],
        },
      ],
    },
  ],
  "operator-support": [
    {
      name: "An operator that NVIDIA no longer supports",
      base: "rtx5070ti",
      findings: [
        {
          check: "operator-support",
          field: "gpuOperator.version",
          severity: "warning",
          says: [
            "NVIDIA no longer supports the operator's release v25.10.1; NVIDIA supports 26.7, and 26.3 is deprecated (NVIDIA's platform support page, 2026-11)",
          ],
        },
      ],
    },
  ],
  "infiniband-devices": [
    {
      name: "A plugin that gives pods InfiniBand devices",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { version: 0.19.2 }
      `,
      findings: [
        {
          check: "infiniband-devices",
          field: "devicePlugin.version",
          severity: "warning",
          says: [
            "nvidia-device-plugin 0.19.2 also gives the machine's InfiniBand, GPUDirect Storage and GDRCopy devices to each GPU container; another device plugin may give the same devices to another pod; use the plugin 0.19.3 or newer",
          ],
        },
      ],
    },
  ],
  "storage-untried": [
    {
      name: "GPUDirect Storage",
      base: "one-card",
      change: yaml`
        talosVersion: v1.14.1
        gpuOperator: { values: { gds: { enabled: true } } }
      `,
      findings: [
        {
          check: "storage-untried",
          field: "gpuOperator.values.gds.enabled",
          severity: "note",
          says: [
            "this package is untested with GPUDirect Storage on Talos (the stack loads the module nvidia_fs on each machine with a card); NVIDIA supports GPUDirect Storage only with the open kernel modules. If the file system does not support GPUDirect Storage, cuFile copies through the host's memory",
            "try one machine first",
          ],
        },
      ],
    },
  ],
  "own-discovery": [
    {
      name: "A Node Feature Discovery outside of the stack",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: { values: { nfd: { enabled: false } } }
      `,
      findings: [
        {
          check: "own-discovery",
          field: "gpuOperator.values.nfd.enabled",
          severity: "warning",
          says: [
            "is false, so another Node Feature Discovery or this stack must label every GPU machine; the operator runs no pod on a node without such a label; make sure that the other Node Feature Discovery sets feature.node.kubernetes.io/pci-0300_10de.present, pci-0302_10de.present or pci-10de.present on each of these machines. Or set one of these labels to true in `labels` of each GPU machine",
          ],
        },
      ],
    },
  ],
  "driver-folder": [
    {
      name: "A folder that a DaemonSet fills with the driver",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: { values: { hostPaths: { driverInstallDir: /var/nvidia-driver } } }
      `,
      findings: [
        {
          check: "driver-folder",
          field: "gpuOperator.values.hostPaths.driverInstallDir",
          severity: "warning",
          says: [
            "is /var/nvidia-driver, and no program looks for the driver there; on Talos 1.12 and older the operator's validator does not run. Instead, a DaemonSet of this stack writes the marker files that tell the pods where the driver is; remove this value, and your own DaemonSet that fills the folder",
          ],
        },
      ],
    },
  ],
  "operator-without-cdi": [
    {
      name: "An operator without CDI on Talos 1.13",
      base: "cdi-off-on-1.13",
      findings: [
        {
          check: "operator-without-cdi",
          field: "gpuOperator.values.cdi.enabled",
          severity: "note",
          says: [
            "is false; without CDI only pods with NVIDIA's RuntimeClass get a GPU; set `runtimeClassName: nvidia` in your own pods (the stack sets it in its pods)",
          ],
        },
      ],
    },
  ],
  "strategy-without-cdi": [
    {
      name: "A strategy without CDI, while CDI is on",
      base: "one-card",
      change: yaml`
        talosVersion: v1.12.6
        gpuOperator:
          values: { devicePlugin: { env: [{ name: DEVICE_LIST_STRATEGY, value: envvar }] } }
      `,
      findings: [
        {
          check: "strategy-without-cdi",
          field: "gpuOperator.values.devicePlugin.env",
          severity: "warning",
          says: [
            "sets DEVICE_LIST_STRATEGY to a strategy without CDI, but cdi.enabled is not false; the next release of the GPU Operator refuses this combination; remove the variable. If CDI should be off, write `cdi: { enabled: false }` instead",
          ],
        },
      ],
    },
  ],
  "claims-release": [
    {
      name: "Claims in a cluster of an unknown release",
      base: "dra",
      findings: [
        {
          check: "claims-release",
          field: "kubernetesVersion",
          severity: "note",
          says: [
            "is not set, so the cluster's Kubernetes release is unknown; claims need Kubernetes 1.34 or newer; set it, or check the release with `kubectl version`",
          ],
        },
      ],
    },
  ],
};
