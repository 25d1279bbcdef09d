import type { Cause } from "./known";

/**
 * The driver's error codes (Xids) in the kernel's log, grouped by the remedy that NVIDIA's catalogue names first
 * (docs.nvidia.com/deploy/xid-errors, analyzing-xid-catalog, column "Immediate Action", of 2025-10-29). Codes are left
 * out if they can be ignored or only follow another code.
 */
export const xids = {
  /**
   * RESTART_APP: a program caused the error, and the card keeps working. Also 43, which the catalogue ignores because
   * only the program stops.
   */
  application: [
    8, 11, 13, 25, 31, 32, 39, 40, 41, 43, 60, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85,
    86, 88, 89, 94, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 126, 127, 128, 129, 130, 131, 132,
    133, 134, 135, 139,
  ],
  /** RESET_GPU. Also 48, after which a reset makes the card usable again. */
  reset: [46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158],
  /** RESTART_BM. */
  reboot: [79],
  /** CHECK_MECHANICALS. */
  power: [54],
  /** WORKFLOW_NVLINK_ERR and WORKFLOW_NVLINK5_ERR. */
  nvlink: [74, 144, 145, 146, 147, 148, 149, 150],
} as const;

const xid = (xidGroup: keyof typeof xids): RegExp =>
  new RegExp(`NVRM: Xid \\([^()]*\\): (?:${xids[xidGroup].join("|")})\\b`);

/** An error of a program on a healthy card. */
export const programError = xid("application");

/**
 * Failures of a card, of its driver or of the fabric between cards. They appear in the log of the kernel or of a
 * service.
 */
export const cardCauses = {
  cardReset: {
    symptom: "programs on one card hang or end with CUDA errors until the machine is rebooted",
    cause:
      "the card or its firmware is in a state that only a reset ends (NVIDIA's catalogue: RESET_GPU)",
    remedy:
      "reboot the machine with `npx talos-gpu reboot MACHINE --stack NAME`, which first drains the node and afterwards verifies the driver. Talos has no shell in which one card could be reset. If Xid 48, 64 or 95 returns, the card's memory is failing: replace the card",
    errors: [
      "NVRM: Xid (PCI:…): 119, … Timeout after 6s of waiting for RPC response from GPU0 GSP!",
      "NVRM: Xid (PCI:…): 48, … An uncorrectable double bit error (DBE) has been detected on GPU",
      "NVRM: Xid (PCI:…): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    ],
    source:
      "docs.nvidia.com/deploy/xid-errors; NVIDIA/open-gpu-kernel-modules#446, in Talos' own log",
    texts: new RegExp(
      `${xid("reset").source}|Xid \\([^()]*\\): 154, (?:(?!Xid ).)*(?:Reset|Reboot) Required\\)`,
    ),
  },
  cardGone: {
    symptom: "a card has disappeared: the node offers one GPU less, and nvidia-smi cannot reach it",
    cause:
      "the card does not answer on the PCI bus. Possible reasons: its power, its riser or slot, heat, or a broken card",
    remedy:
      "drain the node and switch the machine off for a minute: a reboot alone may not bring the card back. If the card disappears again, check power supply, cables, riser and temperature, then try another slot",
    errors: [
      "NVRM: Xid (PCI:…): 79, GPU has fallen off the bus.",
      "NVRM: fallen off the bus and is not responding to commands.",
    ],
    source:
      "docs.nvidia.com/deploy/xid-errors (79); NVIDIA/NVSentinel#155; NVIDIA/open-gpu-kernel-modules#507",
    texts: new RegExp(`${xid("reboot").source}|NVRM: (?:(?!NVRM: ).)*fallen off the bus`),
  },
  cardPower: {
    symptom: "a card does not come up, or stays slow",
    cause: "the card's auxiliary power cable is not connected",
    remedy: "switch the machine off, and plug the power cable into the card",
    errors: ["NVRM: Xid (PCI:…): 54"],
    source: "docs.nvidia.com/deploy/xid-errors (54)",
    texts: xid("power"),
  },
  cardStart: {
    symptom: "the driver is loaded, but a card is not among its devices: No devices were found",
    cause:
      "the driver could not start the card, because of its firmware, its power, or an incomplete passthrough by the hypervisor",
    remedy:
      "look at the lines above this error in `talosctl dmesg`, and switch the machine off and on. In a virtual machine, pass the whole card through (all functions, a large BAR, no vGPU). If the error stays, try another driver.branch",
    errors: [
      "NVRM: GPU 0000:…: RmInitAdapter failed! (0x62:0x65:1792)",
      "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
    ],
    source: "NVIDIA/open-gpu-kernel-modules#326, #789",
    texts: /NVRM: (?:(?!NVRM: ).)*RmInitAdapter(?: failed|: Cannot)/,
  },
  driverFlavour: {
    symptom: "the kernel modules are loaded, but a card is not among the driver's devices",
    cause:
      "the card needs the other flavour of kernel modules: open from Blackwell on, proprietary before Turing",
    remedy:
      "remove driver.flavour: the package then chooses the flavour that the card needs. Without a stack, replace the extension in the schematic",
    errors: [
      "NVRM: installed in this system is not supported by open",
      "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
      "NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.",
    ],
    source: "NVIDIA/open-gpu-kernel-modules#322, #230; its README",
    texts:
      /NVRM: (?:(?!NVRM: ).)*(?:is not supported by open|requires use of the NVIDIA open|Open nvidia\.ko is only ready for use on Data Center)/,
  },
  driverTooNew: {
    symptom: "the kernel modules are loaded, but an old card is not among the driver's devices",
    cause: "the loaded branch of the driver no longer supports the card",
    remedy:
      "set `driver.branch: lts`. On Talos ≥ 1.13 it is enough to remove driver.branch: the package then chooses lts for Maxwell, Pascal and Volta",
    errors: ["NVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please"],
    source:
      "NVIDIA's driver, nv-pci.c (the rest: The … NVIDIA driver will ignore this GPU); allenporter/k8s-gitops#2518",
    texts: /NVRM: (?:(?!NVRM: ).)*supported through the NVIDIA \S+ Legacy drivers/,
  },
  nvlink: {
    symptom: "programs that use several cards end or hang, but programs on one card run",
    cause: "a link between two cards, or between a card and a switch, has failed",
    remedy:
      "reboot the machine (`npx talos-gpu reboot MACHINE --stack NAME`). If the error returns, reseat the NVLink bridge or the board, or take the card out of service",
    errors: [
      "NVRM: Xid (PCI:…): 74, … NVLink: fatal error detected on link 2",
      "NVRM: Xid (PCI:…): 149, NETIR_LINK_EVT",
    ],
    source: "docs.nvidia.com/deploy/xid-errors (74, 144 to 150)",
    texts: xid("nvlink"),
  },
  fabricManagerLibrary: {
    symptom:
      "ext-nvidia-fabricmanager starts again and again, and CUDA says: system not yet initialized",
    cause:
      "the fabric manager's extension for Talos 1.13.0 lacks the library libz.so.1, which the fabric manager needs",
    remedy: "upgrade Talos to 1.13.1 or newer, whose fabric manager extension contains libz.so.1",
    errors: ["libz.so.1: cannot open shared object file: No such file or directory"],
    source: "siderolabs/extensions#1073, #1074",
    texts:
      /nv-fabricmanager(?:(?!nv-fabricmanager).)*libz\.so\.1|libz\.so\.1: cannot open shared object file/,
  },
  fabricNotReady: {
    symptom:
      "ext-nvidia-cdi-gen or ext-nvidia-fabricmanager fails and starts again; no pod sees a card of an SXM board",
    cause:
      "cards on an NVSwitch board compute only after the fabric manager has set up the switches. Here the fabric manager finds no switches, or does not run. Possible reasons: the switches are not passed through to this virtual machine, the fabric manager's extension is missing, or the machine has no such board",
    remedy:
      "with an SXM board of eight cards, pass the NVSwitches through together with the cards, and list nvidia-fabricmanager in the stack's extensions. A virtual machine with only some of the cards needs the fabric manager of its host. Without such a board, remove nvidia-fabricmanager",
    errors: [
      "empty device edits",
      "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
    ],
    source: "siderolabs/talos#14015; NVIDIA/gpu-operator#610",
    texts:
      /empty device edits|NV_WARN_NOTHING_TO_DO|CUDA\b(?:(?!CUDA\b).)*: system not yet initialized/,
  },
} satisfies Record<string, Cause>;
