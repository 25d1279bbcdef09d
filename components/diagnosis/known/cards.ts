import type { CauseId } from "./known";

/**
 * Codes of the driver's error reports in the kernel's log, by what NVIDIA has one do first (docs.nvidia.com/deploy/xid-errors,
 * analyzing-xid-catalog, column "Immediate Action", of 2025-10-29). Codes to be ignored, and those that only follow others, are in none.
 */
export const xids = {
  /** RESTART_APP: the program did it, and the card goes on. 43 is one, too: the catalogue ignores it, as nothing else comes of it. */
  application: [
    8, 11, 13, 25, 31, 32, 39, 40, 41, 43, 60, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85,
    86, 88, 89, 94, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 126, 127, 128, 129, 130, 131, 132,
    133, 134, 135, 139,
  ],
  /** RESET_GPU, and 48, which a reset ends. */
  reset: [46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158],
  /** RESTART_BM. */
  reboot: [79],
  /** CHECK_MECHANICALS. */
  power: [54],
  /** WORKFLOW_NVLINK_ERR and WORKFLOW_NVLINK5_ERR. */
  nvlink: [74, 144, 145, 146, 147, 148, 149, 150],
} as const;

const xid = (which: keyof typeof xids): RegExp =>
  new RegExp(`NVRM: Xid \\([^()]*\\): (?:${xids[which].join("|")})\\b`);

/** A report of what a program did wrong on a card that is well. */
export const programError = xid("application");

/** What a card, its driver or its fabric complains of, in the kernel's log or in that of a service. */
export const cardTexts = {
  cardReset: new RegExp(
    `${xid("reset").source}|Xid \\([^()]*\\): 154, (?:(?!Xid ).)*(?:Reset|Reboot) Required\\)`,
  ),
  cardGone: new RegExp(`${xid("reboot").source}|NVRM: (?:(?!NVRM: ).)*fallen off the bus`),
  cardPower: xid("power"),
  cardStart: /NVRM: (?:(?!NVRM: ).)*RmInitAdapter(?: failed|: Cannot)/,
  driverFlavour:
    /NVRM: (?:(?!NVRM: ).)*(?:is not supported by open|requires use of the NVIDIA open|Open nvidia\.ko is only ready for use on Data Center)/,
  driverTooNew: /NVRM: (?:(?!NVRM: ).)*supported through the NVIDIA \S+ Legacy drivers/,
  nvlink: xid("nvlink"),
  fabricManagerLibrary:
    /nv-fabricmanager(?:(?!nv-fabricmanager).)*libz\.so\.1|libz\.so\.1: cannot open shared object file/,
  fabricNotReady:
    /empty device edits|NV_WARN_NOTHING_TO_DO|CUDA\b(?:(?!CUDA\b).)*: system not yet initialized/,
} satisfies Partial<Record<CauseId, RegExp>>;
