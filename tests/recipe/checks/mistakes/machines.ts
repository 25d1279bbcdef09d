import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about machines. */
export const machinesMistakes: Mistakes = {
  "owned-machine": [
    {
      name: "An owned machine of a cluster without a name and an endpoint",
      base: "rtx5070ti",
      change: yaml`
        clusterName: null
        clusterEndpoint: null
      `,
      findings: [
        {
          check: "owned-machine",
          field: "clusterName",
          says: ["is missing, and the stack owns k8s-worker4"],
        },
        {
          check: "owned-machine",
          field: "clusterEndpoint",
          says: ["is missing", "configuration: adopted"],
        },
      ],
    },
  ],
  "machine-name": [
    {
      name: "A machine's name that cannot be a node's name",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu: null
          GPU_1:
            address: 10.10.0.20
            role: controlplane
            configuration: adopted
            gpus: [{ model: H100 NVL, count: 2 }]
            runningVersion: v1.11.5
      `,
      findings: [
        {
          check: "machine-name",
          field: "machines.GPU_1",
          says: ["cannot be the name of a node", "kubectl get nodes"],
        },
      ],
    },
    {
      name: "An owned machine's name with a domain, which Talos cuts off",
      base: "owned-with-domain",
      change: yaml`
        patches: []
      `,
      findings: [
        {
          check: "machine-name",
          field: "machines.gpu-1.home.example",
          says: [
            '"gpu-1.home.example" has a domain, but Talos names the node gpu-1',
            '"gpu-1.home.example" has a domain, but Talos names the node gpu-1',
            "registerWithFQDN",
          ],
        },
      ],
    },
  ],
  "machine-address": [
    {
      name: "Two machines with one address",
      base: "frank",
      change: yaml`
        machines: { mini-1: { address: 10.8.0.1 } }
      `,
      findings: [
        {
          check: "machine-address",
          field: "machines.mini-1.address",
          says: [
            "10.8.0.1 is also the address of gpu-1",
            "configure, upgrade and reboot one machine",
          ],
        },
      ],
    },
    {
      name: "Two machines at one address, with two Talos versions",
      base: "frank",
      change: yaml`
        machines: { mini-1: { address: 10.8.0.1, talosVersion: v1.12.5 } }
      `,
      findings: [
        {
          check: "machine-address",
          field: "machines.mini-1.address",
          says: ["10.8.0.1 is also the address of gpu-1"],
        },
      ],
    },
    {
      name: "An address with a scheme or a port",
      base: "aarhus-h100",
      change: yaml`
        machines: { talos-gpu: { address: https://10.10.0.20:50000 } }
      `,
      findings: [
        {
          check: "machine-address",
          field: "machines.talos-gpu.address",
          says: ["is not an address", "without scheme, port"],
        },
      ],
    },
  ],
  platform: [
    {
      name: "A platform that the Image Factory does not have",
      base: "aarhus-h100",
      change: yaml`
        machines: { talos-gpu: { platform: proxmox } }
      `,
      findings: [
        {
          check: "platform",
          field: "machines.talos-gpu.platform",
          says: ['"proxmox" is not a platform', "nocloud"],
        },
      ],
    },
  ],
  "omni-machine": [
    {
      name: "An Omni machine without its UUID",
      base: "omni",
      change: yaml`
        machines: { gpu-1: { uuid: null } }
      `,
      findings: [
        {
          check: "omni-machine",
          field: "machines.gpu-1.uuid",
          says: ["is missing, but Omni manages gpu-1", "omnictl get machines"],
        },
      ],
    },
    {
      name: "An Omni machine's UUID in capitals",
      base: "omni",
      change: yaml`
        machines: { gpu-1: { uuid: CE4D0D52-6C10-BDC9-746C-88AEDD67681B } }
      `,
      findings: [
        {
          check: "omni-machine",
          field: "machines.gpu-1.uuid",
          says: ["is not a UUID in lower case"],
        },
      ],
    },
    {
      name: "A UUID on a machine that Omni does not manage",
      base: "omni",
      change: yaml`
        machines: { gpu-1: { configuration: adopted } }
      `,
      findings: [
        {
          check: "omni-machine",
          field: "machines.gpu-1.uuid",
          says: ["is set, but gpu-1 is adopted"],
        },
      ],
    },
    {
      name: "An Omni machine without the name of its cluster",
      base: "omni",
      change: yaml`
        clusterName: null
      `,
      findings: [
        {
          check: "omni-machine",
          field: "clusterName",
          says: ["is missing, but Omni manages gpu-1"],
        },
      ],
    },
    {
      name: "Two machines with one UUID",
      base: "omni",
      change: yaml`
        machines:
          mini-1:
            address: 192.0.2.32
            role: worker
            configuration: omni
            uuid: 919108f7-52d1-4320-9bac-f847db4148a8
      `,
      findings: [
        {
          check: "omni-machine",
          field: "machines.mini-1.uuid",
          says: ["is also the UUID of gpu-1"],
        },
      ],
    },
    {
      name: "Fields that Omni decides by itself",
      base: "omni",
      change: yaml`
        machines:
          gpu-1:
            platform: nocloud
            secureBoot: true
            installerImage: registry.example.com/talos/installer:v1.13.6
      `,
      findings: [
        {
          check: "omni-machine",
          field: "machines.gpu-1.platform",
          says: ["Omni builds the image"],
        },
        { check: "omni-machine", field: "machines.gpu-1.secureBoot", says: ["leave it out"] },
        {
          check: "omni-machine",
          field: "machines.gpu-1.installerImage",
          says: ["Omni builds the image"],
        },
      ],
    },
    {
      name: "Kernel arguments on an old Talos, and a cluster name that Omni refuses",
      base: "omni",
      change: yaml`
        talosVersion: v1.11.6
        clusterName: my cluster
        machines:
          gpu-1: { kernelArgs: [quiet] }
      `,
      findings: [
        {
          check: "omni-machine",
          field: "clusterName",
          says: ['"my cluster" cannot be the name of a cluster in Omni'],
        },
        {
          check: "omni-machine",
          field: "talosVersion",
          says: ["is older than v1.12, but Omni manages gpu-1"],
        },
        {
          check: "omni-machine",
          field: "machines.gpu-1.kernelArgs",
          says: ["is set, but Omni manages gpu-1"],
        },
      ],
    },
  ],
  bootstrap: [
    {
      name: "A new cluster without a control plane",
      base: "rtx5070ti",
      change: yaml`
        bootstrap: true
      `,
      findings: [
        {
          check: "bootstrap",
          field: "bootstrap",
          says: ["no machine of the stack is a control plane", "role: controlplane"],
        },
      ],
    },
    {
      name: "A new cluster with an adopted machine",
      base: "modern",
      change: yaml`
        machines: { cp-3: { configuration: adopted } }
        bootstrap: true
      `,
      findings: [
        {
          check: "bootstrap",
          field: "machines.cp-3.configuration",
          says: ["is adopted, but the stack bootstraps its cluster", "configuration: owned"],
        },
      ],
    },
  ],
};
