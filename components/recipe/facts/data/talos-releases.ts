/**
 * What each Talos release brings: NVIDIA's drivers and container toolkit, containerd, and the Kubernetes releases it runs.
 * A new release is a new line here. Sources:
 * drivers and toolkit: siderolabs/extensions, nvidia-gpu/vars.yaml, read at every tag v1.8.0 to v1.14.0-rc.1, which 1.14.0
 * (2026-09-03) brings unchanged (siderolabs/extensions#1228). Later ones by their announcements in siderolabs/extensions, which
 * list what changed: 1.12.12 (discussion 1236), 1.13.11 (1276), 1.13.12 (1314), 1.14.1 (1254), 1.14.3 (1303) and 1.14.4 (1307)
 * name no driver, 1.14.6 (1348) names both. Those of 1.13.10, 1.14.2 and 1.14.5 were not to be had: they and what builds on them are
 * `inferred`. No announcement names a toolkit, so it is that of the release before;
 * containerd: siderolabs/talos, pkg/machinery/constants/constants.go (DefaultContainerdVersion), read at every tag v1.8.0 to
 * v1.13.9, and at v1.14.0-rc.1; then the announcements: 2.2.7 of 1.12.12 (siderolabs/talos discussion 14250) and 1.13.9 (14072),
 * unchanged in 1.13.10 (14240), 2.2.10 of 1.13.12 (extensions 1314), 2.3.5 of 1.14.1 (talos 14384), 2.3.7 of 1.14.3 (extensions
 * 1303), and none in 1.14.6 (extensions 1348);
 * Kubernetes: siderolabs/talos v1.14.0-rc.1, pkg/machinery/compatibility/talos1NN.
 */

/** One range of patch releases with the same NVIDIA drivers. */
export interface DriverRow {
  /** Minor of Talos, e.g. 12 for 1.12. */
  minor: number;
  /** First patch release of the range. */
  from: number;
  /** Last patch release of the range that was read. */
  to: number;
  lts: string;
  production: string;
  /** Version of the NVIDIA container toolkit. */
  toolkit: string;
  /** Concluded from the releases around it: the Factory's word goes before it, and of a driver only the branch is verified. */
  inferred?: boolean;
}

/** Drivers of every release that was read, by minor and patch. */
export const driverRows: DriverRow[] = [
  { minor: 8, from: 0, to: 4, lts: "535.183.06", production: "550.90.07", toolkit: "1.16.1" },
  { minor: 9, from: 0, to: 2, lts: "535.216.03", production: "550.127.08", toolkit: "1.17.2" },
  { minor: 9, from: 3, to: 6, lts: "535.230.02", production: "550.144.03", toolkit: "1.17.3" },
  { minor: 10, from: 0, to: 1, lts: "535.230.02", production: "570.124.06", toolkit: "1.17.5" },
  { minor: 10, from: 2, to: 3, lts: "535.247.01", production: "570.133.20", toolkit: "1.17.6" },
  { minor: 10, from: 4, to: 9, lts: "535.247.01", production: "570.148.08", toolkit: "1.17.8" },
  { minor: 11, from: 0, to: 6, lts: "535.247.01", production: "570.172.08", toolkit: "1.17.8" },
  { minor: 12, from: 0, to: 1, lts: "580.105.08", production: "570.195.03", toolkit: "1.18.1" },
  { minor: 12, from: 2, to: 2, lts: "580.126.09", production: "570.211.01", toolkit: "1.18.1" },
  { minor: 12, from: 3, to: 3, lts: "580.126.09", production: "570.211.01", toolkit: "1.18.2" },
  { minor: 12, from: 4, to: 5, lts: "580.126.16", production: "570.211.01", toolkit: "1.18.2" },
  { minor: 12, from: 6, to: 12, lts: "580.126.20", production: "570.211.01", toolkit: "1.18.2" },
  { minor: 13, from: 0, to: 0, lts: "580.126.20", production: "595.58.03", toolkit: "1.19.0" },
  { minor: 13, from: 1, to: 2, lts: "580.159.03", production: "595.71.05", toolkit: "1.19.0" },
  { minor: 13, from: 3, to: 3, lts: "580.159.04", production: "595.71.05", toolkit: "1.19.0" },
  { minor: 13, from: 4, to: 4, lts: "580.159.04", production: "595.71.05", toolkit: "1.19.1" },
  { minor: 13, from: 5, to: 6, lts: "580.167.08", production: "595.71.05", toolkit: "1.19.1" },
  { minor: 13, from: 7, to: 8, lts: "580.173.02", production: "595.71.05", toolkit: "1.19.1" },
  { minor: 13, from: 9, to: 9, lts: "580.178.04", production: "595.91.07", toolkit: "1.19.1" },
  { minor: 13, from: 10, to: 12, lts: "580.178.04", production: "595.91.07", toolkit: "1.19.1", inferred: true },
  { minor: 14, from: 0, to: 1, lts: "580.178.04", production: "595.91.07", toolkit: "1.19.1" },
  { minor: 14, from: 2, to: 5, lts: "580.178.04", production: "595.91.07", toolkit: "1.19.1", inferred: true },
  { minor: 14, from: 6, to: 6, lts: "580.196.07", production: "595.112.07", toolkit: "1.19.1" },
];

/** One range of patch releases with the same minor of containerd. */
export interface ContainerdRow {
  /** First patch release of the range, and the last one that was read. */
  from: number;
  to: number;
  /** containerd of the first release of the range. */
  version: string;
}

/** What holds for all releases of a minor. */
export interface MinorRow {
  minor: number;
  /** containerd, by the minor's patch releases; oldest first. */
  containerd: ContainerdRow[];
  /** First and last Kubernetes minor that this Talos runs. */
  kubernetes: { from: number; to: number };
}

/** Every minor that this package knows, oldest first. */
export const minorRows: MinorRow[] = [
  { minor: 8, containerd: [{ from: 0, to: 4, version: "2.0.0-rc.4" }], kubernetes: { from: 26, to: 31 } },
  { minor: 9, containerd: [{ from: 0, to: 6, version: "2.0.1" }], kubernetes: { from: 27, to: 32 } },
  { minor: 10, containerd: [{ from: 0, to: 9, version: "2.0.5" }], kubernetes: { from: 28, to: 33 } },
  { minor: 11, containerd: [{ from: 0, to: 6, version: "2.1.4" }], kubernetes: { from: 29, to: 34 } },
  {
    minor: 12,
    containerd: [
      { from: 0, to: 7, version: "2.1.6" },
      { from: 8, to: 12, version: "2.2.4" },
    ],
    kubernetes: { from: 30, to: 35 },
  },
  { minor: 13, containerd: [{ from: 0, to: 12, version: "2.2.3" }], kubernetes: { from: 31, to: 36 } },
  { minor: 14, containerd: [{ from: 0, to: 6, version: "2.3.3" }], kubernetes: { from: 32, to: 37 } },
];

/** Talos minor from which NVIDIA's libraries have the standard layout and devices come by CDI: the `cdi` era. */
export const firstCdiMinor = 13;
