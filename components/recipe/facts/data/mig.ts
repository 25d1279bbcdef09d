/**
 * MIG geometries. Sources: NVIDIA MIG user guide (profiles and counts; drivers: its edition 620, "Deployment Considerations");
 * NVIDIA/mig-parted v0.15.0, deployments/systemd/config-default.yaml (`all-balanced`; every profile of H20, GH200, B300, GB200
 * and GB300, which the guide has no tables of; the devices that a configuration names, which are the same in gpu-operator v25.10.1
 * to v26.7.0, assets/state-mig-manager/0400_configmap.yaml); `nvidia-smi mig -lgip` of an H200 (its counts).
 */

/** How a card can be split. */
export interface MigGeometry {
  /** Profiles with the number of instances of one card. */
  profiles: Record<string, number>;
  /** What `all-balanced` makes of one card; undefined where mig-parted has none. */
  balanced?: Record<string, number>;
  /**
   * Of `profiles` those whose configuration in the operator's own list names other devices alone: the MIG manager reports success
   * and splits nothing. Default: none.
   */
  unlisted?: readonly string[];
  /** Oldest driver with MIG on this card. */
  minDriver: string;
  /**
   * Ampere alone: a change of the MIG mode takes a reset of the card, and then outlasts reboots. Newer cards change it at
   * once, and forget it when the driver is unloaded. Source: NVIDIA MIG user guide, "Enable MIG Mode".
   */
  modeNeedsReset?: boolean;
  /** Whether its instances may do graphics and choose their media engines: RTX PRO. Source: NVIDIA MIG user guide. */
  graphics?: boolean;
}

/** A card of seven slices by its memory in GB: of one slice, of one or two with a double share, of half a card, and of all. */
const sevenSlices = (
  one: number,
  double: number,
  half: number,
  all: number,
  rest: Omit<MigGeometry, "profiles">,
): MigGeometry => ({
  profiles: {
    ...{ [`1g.${one}gb`]: 7, [`1g.${double}gb`]: 4, [`2g.${double}gb`]: 3 },
    ...{ [`3g.${half}gb`]: 2, [`4g.${half}gb`]: 1, [`7g.${all}gb`]: 1 },
  },
  balanced: { [`1g.${one}gb`]: 2, [`2g.${double}gb`]: 1, [`3g.${half}gb`]: 1 },
  ...rest,
});

const hopper = { minDriver: "525.85.12" };
const ampere = { minDriver: "450.80.02", modeNeedsReset: true };

/** Geometries by the card that they are of, or by the first of several. */
export const migGeometries = {
  A30: {
    profiles: { "1g.6gb": 4, "2g.12gb": 2, "4g.24gb": 1 },
    balanced: { "1g.6gb": 2, "2g.12gb": 1 },
    ...ampere,
  },
  "A100-40": sevenSlices(5, 10, 20, 40, ampere),
  "A100-80": sevenSlices(10, 20, 40, 80, ampere),
  "H100-80": sevenSlices(10, 20, 40, 80, hopper),
  "H100-94": sevenSlices(12, 24, 47, 94, hopper),
  H200: sevenSlices(18, 35, 71, 141, { minDriver: "550.90.07" }),
  // all-1g.35gb names the devices of H200 SXM and GB300, 0x2335 and 0x31C2; that of H200 NVL is 0x233B.
  "H200 NVL": sevenSlices(18, 35, 71, 141, { unlisted: ["1g.35gb"], minDriver: "550.90.07" }),
  // H20, GH200 with 96 GB, H100 with 96 GB.
  "H100-96": sevenSlices(12, 24, 48, 96, hopper),
  // all-balanced does not name its device, 0x2338.
  "H100 SXM5 96GB": { profiles: sevenSlices(12, 24, 48, 96, hopper).profiles, ...hopper },
  "GH200-144": sevenSlices(18, 36, 72, 144, { minDriver: "550.90.07" }),
  B200: sevenSlices(23, 45, 90, 180, { minDriver: "570.133.20" }),
  B300: sevenSlices(34, 67, 135, 269, { minDriver: "580.82.07" }),
  // Two lists are in use for it: mig-parted's balanced one has 3g.93gb, and its single profiles name 3g.95gb and 7g.189gb, too.
  GB200: {
    profiles: {
      ...{ "1g.23gb": 7, "1g.24gb": 7, "1g.47gb": 4, "2g.47gb": 3, "3g.93gb": 2, "3g.95gb": 2 },
      ...{ "4g.93gb": 1, "4g.95gb": 1, "7g.186gb": 1, "7g.189gb": 1 },
    },
    balanced: { "1g.23gb": 2, "2g.47gb": 1, "3g.93gb": 1 },
    minDriver: "570.133.20",
  },
  // The guide has a driver of GB300 in a DGX Station alone (595.58.03); all others need that of their chip (data/chips.ts).
  GB300: sevenSlices(35, 70, 139, 278, { minDriver: "570.133.20" }),
  "RTX PRO 6000 Server": {
    profiles: { "1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1 },
    balanced: { "1g.24gb": 2, "2g.48gb": 1 },
    minDriver: "575.51.03",
    graphics: true,
  },
  // all-balanced names the Server Edition's device alone, 0x2BB5. The other profiles are those of all editions (the guide;
  // `nvidia-smi mig -lgip`).
  "RTX PRO 6000": {
    profiles: { "1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1 },
    minDriver: "575.51.03",
    graphics: true,
  },
} satisfies Record<string, MigGeometry>;

/** Name of a geometry, as the table of cards refers to it. */
export type MigGeometryName = keyof typeof migGeometries;

/** Geometry of cards that stand in the list of PCI IDs alone, by their name there. A device that mig-parted does not know has none. */
export const migOfListedCards: Readonly<Record<string, MigGeometryName>> = {
  H20: "H100-96",
  "H100 96GB": "H100-96",
  "H100 SXM5 96GB": "H100 SXM5 96GB",
  "A800-SXM4-80GB": "A100-80",
  "A800 80GB PCIe": "A100-80",
  "A800 40GB PCIe": "A100-40",
  H800: "H100-80",
  "H800 PCIe": "H100-80",
  "H800L 94GB": "H100-94",
  "GH200 120GB": "H100-96",
  "GH200 480GB": "H100-96",
  "GH200 144G HBM3e": "GH200-144",
  "B300 SXM6 AC": "B300",
  GB200: "GB200",
  GB300: "GB300",
};
