import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about the effect of an update. */
export const updatesMistakes: Mistakes = {
  "release-drivers": [
    {
      name: "A release that is newer than the tables",
      base: "rtx5070ti",
      change: yaml`
        talosVersion: v1.12.40
      `,
      findings: [
        {
          check: "release-drivers",
          field: "talosVersion",
          severity: "note",
          says: [
            "v1.12.40 is newer than this package's tables; the package assumes the drivers of v1.12.12 (580.126.20, 570.211.01). The update then verifies only the branch of each driver, not its version; use a Talos version whose drivers these tables state, so that the update also verifies the driver's version",
          ],
        },
      ],
    },
    {
      name: "A release that is newer than the tables, and unknown to the Image Factory",
      base: "rtx5070ti",
      change: yaml`
        talosVersion: v1.12.40
        releaseFacts: { talosVersion: v1.12.40, silent: ECONNREFUSED }
      `,
      findings: [
        {
          check: "release-drivers",
          field: "talosVersion",
          severity: "note",
          says: [
            "the package assumes the drivers of v1.12.12 (580.126.20, 570.211.01), because the Image Factory did not answer (ECONNREFUSED). The update then verifies only the branch of each driver, not its version",
          ],
        },
      ],
    },
    {
      name: "A release that the tables infer",
      base: "one-card",
      change: yaml`
        talosVersion: v1.13.10
      `,
      findings: [
        {
          check: "release-drivers",
          field: "talosVersion",
          severity: "note",
          says: [
            "the drivers of v1.13.10 in this package's tables are only assumptions; the package assumes the drivers (580.178.04, 595.91.07). The update then verifies only the branch of each driver, not its version",
          ],
        },
      ],
    },
    {
      name: "A release that the tables infer, with drivers from the Image Factory",
      base: "one-card",
      change: yaml`
        talosVersion: v1.13.10
        releaseFacts:
          talosVersion: v1.13.10
          lts: 580.190.10
          production: 595.99.10
          toolkit: 1.19.2
      `,
      findings: [
        {
          check: "release-drivers",
          field: "talosVersion",
          severity: "note",
          says: [
            "the Image Factory reports the drivers 580.190.10 (lts) and 595.99.10 (production), toolkit 1.19.2; nothing needs to be done",
          ],
        },
      ],
    },
    {
      name: "A machine with its own release, which is newer than the tables",
      base: "one-card",
      change: yaml`
        machines: { gpu: { talosVersion: v1.13.99 } }
      `,
      findings: [
        {
          check: "release-drivers",
          field: "machines.gpu.talosVersion",
          severity: "note",
          says: ["v1.13.99 is newer than this package's tables"],
        },
      ],
    },
  ],
  "machine-away": [
    {
      name: "A machine that is away",
      base: "rtx5070ti",
      change: yaml`
        away: [k8s-worker4]
        machines: { k8s-worker4: { mayBeAway: true } }
      `,
      findings: [
        {
          check: "machine-away",
          field: "machines",
          severity: "warning",
          says: [
            "this update skips the machines that are away: k8s-worker4; the update cannot reach them, so they keep their previous state; run `pulumi up` again once they are back",
          ],
        },
      ],
    },
  ],
  "away-unknown": [
    {
      name: "A worker that may be away, in a cluster that the stack makes",
      base: "tainted",
      change: yaml`
        machines: { gpu: { mayBeAway: true } }
      `,
      findings: [
        {
          check: "away-unknown",
          field: "machines.gpu.mayBeAway",
          severity: "warning",
          says: [
            "an update of this stack does not find out whether the machine is off; with `bootstrap: true` no preview knows the kubeconfig, with which it could ask for the machine's node. If the machine is off, the update fails; write the machine's name in `away` while the machine is off",
          ],
        },
      ],
    },
  ],
  "boot-medium": [
    {
      name: "A new cluster of Talos ≤ 1.12",
      base: "rtx5070ti",
      change: yaml`
        talosVersion: v1.12.4
        bootstrap: true
        machines: { k8s-worker4: { role: controlplane } }
      `,
      findings: [
        {
          check: "boot-medium",
          field: "bootstrap",
          severity: "warning",
          says: [
            "k8s-worker4 will run Talos older than 1.13, and may have booted from an equally old medium; the Talos provider cannot install from a boot medium older than Talos 1.13, and tries until its timeout; boot these machines from a medium of Talos 1.13 or newer, even if the stack installs an older version",
          ],
        },
      ],
    },
  ],
  "injection-change": [
    {
      name: "Machines that cross Talos 1.13 or 1.15",
      base: "modern",
      findings: [
        {
          check: "injection-change",
          field: "machines",
          severity: "warning",
          says: [
            'gpu-1 will go from Talos ≤ 1.12 to ≥ 1.13; no new pod gets a GPU until the update has upgraded the last machine; if the cluster has a device plugin or a RuntimeClass "nvidia" that the stack did not create, remove it first (docs/operations.md#upgrades)',
          ],
        },
      ],
    },
    {
      name: "Machines that cross Talos 1.13 or 1.15, with upgrade.first",
      base: "modern",
      change: yaml`
        upgrade: { first: [gpu-1] }
      `,
      findings: [
        {
          check: "injection-change",
          field: "machines",
          severity: "warning",
          says: [
            "a machine gives no GPU to new pods until the update has upgraded this machine and the machines of upgrade.first",
          ],
        },
      ],
    },
    {
      name: "Machines that cross Talos 1.13 or 1.15, with an external release",
      base: "modern",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        sharing: null
        external: { kind: devicePlugin }
      `,
      findings: [
        {
          check: "injection-change",
          field: "machines",
          severity: "warning",
          says: [
            "between the change of the values and the machine's upgrade, a machine gives no GPU to new pods; right before this update, apply the values for the newer Talos with the tool that installs the release, and write the same values under external",
          ],
        },
      ],
    },
  ],
  "next-injection": [
    {
      name: "An external release that does not fit Talos 1.13, in a stack with Talos 1.12",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        external:
          kind: gpuOperator
          version: v25.10.1
          values:
            driver: { enabled: false }
            toolkit: { enabled: false }
            cdi: { enabled: false }
            devicePlugin: { env: [{ name: DEVICE_LIST_STRATEGY, value: envvar }] }
      `,
      findings: [
        {
          check: "next-injection",
          field: "external",
          severity: "note",
          says: [
            "does not fit Talos 1.13 yet; the checks would refuse a stack with Talos 1.13; right before an upgrade to Talos 1.13, change external.version (use v26.3.1 or newer)",
          ],
        },
      ],
    },
  ],
};
