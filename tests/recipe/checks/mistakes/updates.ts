import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about what an update meets. */
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
            "v1.12.40 is newer than the tables; drivers of v1.12.12 are assumed (580.126.20, 570.211.01), so only the branch of a machine's driver is verified; take a release of the tables",
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
            "are assumed (580.126.20, 570.211.01), because the Image Factory says nothing (ECONNREFUSED), so only",
          ],
        },
      ],
    },
    {
      name: "A release that is in the tables by inference",
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
            "v1.13.10 is in the tables by inference; drivers are assumed (580.178.04, 595.91.07), so",
          ],
        },
      ],
    },
    {
      name: "A release that is in the tables by inference, whose drivers the Image Factory says",
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
            "the Image Factory says that it brings drivers 580.190.10 (lts) and 595.99.10 (production), toolkit 1.19.2; nothing needs to be done",
          ],
        },
      ],
    },
    {
      name: "A machine of a release of its own that is newer than the tables",
      base: "one-card",
      change: yaml`
        machines: { gpu: { talosVersion: v1.13.99 } }
      `,
      findings: [
        {
          check: "release-drivers",
          field: "machines.gpu.talosVersion",
          severity: "note",
          says: ["v1.13.99 is newer than the tables"],
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
            "k8s-worker4: away; this update leaves a machine that is away as the last one left it; bring the stack up again once it is back",
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
            "k8s-worker4 will run Talos older than 1.13, and may wait in a boot medium of that release; from a boot medium older than Talos 1.13 the Talos provider cannot install, and tries until its time is over; start them from a boot medium of Talos 1.13 or newer, whatever release the stack installs",
          ],
        },
      ],
    },
  ],
  "era-crossing": [
    {
      name: "Machines that go to another era",
      base: "modern",
      findings: [
        {
          check: "era-crossing",
          field: "machines",
          severity: "warning",
          says: [
            "gpu-1 will go from Talos ≤ 1.12 to ≥ 1.13; no new pod gets a GPU until the last machine is upgraded; first remove what the stack did not make",
          ],
        },
      ],
    },
    {
      name: "Machines that go to another era, some of them ahead",
      base: "modern",
      change: yaml`
        upgrade: { first: [gpu-1] }
      `,
      findings: [
        {
          check: "era-crossing",
          field: "machines",
          severity: "warning",
          says: ["and until the machines of upgrade.first are"],
        },
      ],
    },
    {
      name: "Machines that go to another era under an external release",
      base: "modern",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        sharing: null
        external: { kind: devicePlugin }
      `,
      findings: [
        {
          check: "era-crossing",
          field: "machines",
          severity: "warning",
          says: [
            "between the change of the values and its upgrade, a machine gives no GPU to new pods; let its installer apply the values for the newer Talos",
          ],
        },
      ],
    },
  ],
  "next-era": [
    {
      name: "An external release that does not fit the next era",
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
          check: "next-era",
          field: "external",
          severity: "note",
          says: [
            "does not fit Talos 1.13 yet; a stack with that release would be refused; right before an upgrade to Talos 1.13: external.version: take v26.3.1 or newer",
          ],
        },
      ],
    },
  ],
};
