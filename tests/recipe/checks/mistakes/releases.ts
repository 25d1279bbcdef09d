import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about releases of Talos and Kubernetes. */
export const releasesMistakes: Mistakes = {
  "talos-version": [
    {
      name: "A Talos version without a patch number",
      base: "aarhus-h100",
      change: yaml`
        talosVersion: "1.11"
      `,
      findings: [
        {
          check: "talos-version",
          field: "talosVersion",
          says: ['"1.11" is not a Talos version', "v1.12.6"],
        },
      ],
    },
    {
      name: "A Talos version without its v",
      base: "aarhus-h100",
      change: yaml`
        talosVersion: 1.11.5
      `,
      findings: [
        {
          check: "talos-version",
          field: "talosVersion",
          says: ["lacks the leading v", "write v1.11.5"],
        },
      ],
    },
    {
      name: "A release that the Image Factory does not have",
      base: "three-generations",
      change: yaml`
        talosVersion: v1.13.77
        releaseFacts: { talosVersion: v1.13.77, missing: true }
      `,
      findings: [
        {
          check: "talos-version",
          field: "talosVersion",
          says: ["the Image Factory has no Talos version v1.13.77"],
        },
      ],
    },
    {
      name: "An unknown minor of Talos",
      base: "one-card",
      change: yaml`
        talosVersion: v1.99.0
        gpuOperator: { version: v26.7.0 }
      `,
      findings: [
        {
          check: "talos-version",
          field: "talosVersion",
          says: ["Talos 1.99 is not in this package's tables (known: 1.8 to 1.15)"],
        },
      ],
    },
    {
      name: "A pre-release name that Talos does not use",
      base: "one-card",
      change: yaml`
        talosVersion: v1.13.9-home.1
      `,
      findings: [
        {
          check: "talos-version",
          field: "talosVersion",
          says: ['"v1.13.9-home.1" is not an official Talos version'],
        },
      ],
    },
  ],
  "machine-release": [
    {
      name: "Machines of Talos 1.14 and of Talos 1.15",
      base: "next",
      change: yaml`
        machines: { gpu: { talosVersion: v1.14.6 } }
      `,
      findings: [
        {
          check: "machine-release",
          field: "machines.gpu.talosVersion",
          says: [
            "is v1.14.6, but the stack's Talos version is v1.15.0-beta.0",
            "from Talos 1.15 on",
          ],
        },
      ],
    },
    {
      name: "Machines of Talos 1.12 and of Talos 1.13",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { talosVersion: v1.13.0 } }
      `,
      findings: [
        {
          check: "machine-release",
          field: "machines.k8s-worker4.talosVersion",
          says: [
            "is v1.13.0, but the stack's Talos version is v1.12.6",
            "use only versions before 1.13 or only 1.13 and newer, or upgrade all machines together (docs/operations.md#upgrades)",
            "only 1.13 and newer",
          ],
        },
      ],
    },
  ],
  "kubernetes-version": [
    {
      name: "A Kubernetes release that this Talos does not run",
      base: "rtx5070ti",
      change: yaml`
        kubernetesVersion: v1.36.0
      `,
      findings: [
        {
          check: "kubernetes-version",
          field: "kubernetesVersion",
          says: ["Kubernetes 1.36 does not run on Talos 1.12", "1.30 to 1.35"],
        },
      ],
    },
    {
      name: "A Kubernetes release that the Talos of one machine does not run",
      base: "modern",
      change: yaml`
        kubernetesVersion: v1.31.0
        machines: { gpu-2: { talosVersion: v1.14.1 } }
      `,
      findings: [
        {
          check: "kubernetes-version",
          field: "kubernetesVersion",
          says: ["Kubernetes 1.31 does not run on Talos 1.14", "1.32 to 1.37"],
        },
      ],
    },
    {
      name: "A Kubernetes release without a patch number",
      base: "modern",
      change: yaml`
        kubernetesVersion: v1.36
      `,
      findings: [
        {
          check: "kubernetes-version",
          field: "kubernetesVersion",
          says: ['"v1.36" is not a version'],
        },
      ],
    },
  ],
  "upgrade-step": [
    {
      name: "An upgrade over two minors with a Kubernetes release that the minor between them does not support",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { runningVersion: v1.10.4 } }
      `,
      findings: [
        {
          check: "upgrade-step",
          field: "machines.k8s-worker4.runningVersion",
          says: [
            "the upgrade from v1.10.4 to v1.12.6 goes over v1.11.6, but Kubernetes 1.35 does not run on v1.11.6",
            "in this update, set kubernetesVersion to a release from 1.30 to 1.34",
          ],
        },
      ],
    },
    {
      name: "An upgrade over two minors in an Omni cluster",
      base: "frank",
      change: yaml`
        clusterName: frank
        machines:
          gpu-1:
            configuration: omni
            uuid: 919108f7-52d1-4320-9bac-f847db4148a8
            runningVersion: v1.10.9
      `,
      findings: [
        {
          check: "upgrade-step",
          field: "machines.gpu-1.runningVersion",
          says: ["goes over v1.11.6, but Omni upgrades in one step", "make 2 updates"],
        },
      ],
    },
    {
      name: "An upgrade from a minor that the tables do not have",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { runningVersion: v1.6.8 } }
      `,
      findings: [
        {
          check: "upgrade-step",
          field: "machines.k8s-worker4.runningVersion",
          says: ["6 minor releases", "upgrade to the last v1.7 release first"],
        },
      ],
    },
    {
      name: "A downgrade to an earlier patch release",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { runningVersion: v1.12.7 } }
      `,
      findings: [
        {
          check: "upgrade-step",
          field: "machines.k8s-worker4.runningVersion",
          says: [
            "the machine runs v1.12.7, newer than the wanted v1.12.6",
            "set talosVersion to v1.12.7 or newer",
          ],
        },
      ],
    },
    {
      name: "A downgrade to an earlier minor",
      base: "velaryon",
      change: yaml`
        machines: { velaryon: { runningVersion: v1.12.1 } }
      `,
      findings: [
        {
          check: "upgrade-step",
          field: "machines.velaryon.runningVersion",
          says: ["the machine runs v1.12.1, newer than the wanted v1.11.6"],
        },
      ],
    },
    {
      name: "Running versions that are not Talos versions",
      base: "three-generations",
      change: yaml`
        machines:
          blackwell: { runningVersion: latest }
          pascal: { runningVersion: 1.13.9 }
      `,
      findings: [
        {
          check: "upgrade-step",
          field: "machines.blackwell.runningVersion",
          says: ['"latest" is not a Talos version'],
        },
        {
          check: "upgrade-step",
          field: "machines.pascal.runningVersion",
          says: ['"1.13.9" lacks the leading v'],
        },
      ],
    },
  ],
  "upgrade-first": [
    {
      name: "An unknown worker in upgrade.first",
      base: "modern",
      change: yaml`
        upgrade: { first: [gpu-3] }
      `,
      findings: [
        {
          check: "upgrade-first",
          field: "upgrade.first[0]",
          says: ['"gpu-3" is not a machine of this stack', 'did you mean "gpu-1"'],
        },
      ],
    },
    {
      name: "A control plane in upgrade.first",
      base: "modern",
      change: yaml`
        upgrade: { first: [cp-2] }
      `,
      findings: [
        { check: "upgrade-first", field: "upgrade.first[0]", says: ['"cp-2" is a control plane'] },
      ],
    },
    {
      name: "A worker twice in upgrade.first",
      base: "modern",
      change: yaml`
        upgrade: { first: [gpu-1, gpu-1] }
      `,
      findings: [{ check: "upgrade-first", field: "upgrade.first[1]", says: ["is named twice"] }],
    },
    {
      name: "A worker without a card in upgrade.first",
      base: "frank",
      change: yaml`
        upgrade: { first: [mini-1] }
      `,
      findings: [
        { check: "upgrade-first", field: "upgrade.first[0]", says: ['"mini-1" has no GPU'] },
      ],
    },
    {
      name: "A worker in upgrade.first that is away",
      base: "modern",
      change: yaml`
        away: [gpu-1]
        machines: { gpu-1: { mayBeAway: true } }
        upgrade: { first: [gpu-1] }
      `,
      findings: [
        {
          check: "upgrade-first",
          field: "upgrade.first[0]",
          says: ['"gpu-1" is away', "switch the machine on, or remove it from this list"],
        },
      ],
    },
  ],
  "may-be-away": [
    {
      name: "A control plane with mayBeAway, and an away machine without it",
      base: "modern",
      change: yaml`
        away: [gpu-1]
        machines: { cp-2: { mayBeAway: true } }
      `,
      findings: [
        {
          check: "may-be-away",
          field: "machines.cp-2.mayBeAway",
          says: ["is true for a control plane"],
        },
        {
          check: "may-be-away",
          field: "away[0]",
          says: ['"gpu-1" is not a machine with mayBeAway'],
        },
      ],
    },
  ],
  "version-contract": [
    {
      name: "A version contract that is not a release",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { versionContract: twelve } }
      `,
      findings: [
        {
          check: "version-contract",
          field: "machines.k8s-worker4.versionContract",
          says: ['"twelve" is not a Talos version'],
        },
      ],
    },
    {
      name: "A version contract newer than the machine's Talos",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { versionContract: v1.14 } }
      `,
      findings: [
        {
          check: "version-contract",
          field: "machines.k8s-worker4.versionContract",
          says: ["is newer than Talos v1.12.6"],
        },
      ],
    },
  ],
};
