import type { CauseId } from "../../../components/diagnosis";

/** A fault of a card in its recorded text, and the doctor's conclusion. Metrics are in ../alert-cases.ts. */
export interface CardFault {
  /** A line of the kernel's log, without talosctl's prefix. */
  kernel?: string;
  /** Last words of a Talos service or of a pod. A fault has either this or `kernel`. */
  service?: string;
  /** The known cause; null if a program caused it, which the doctor only remarks. */
  cause: CauseId | null;
  /** A part of the cause's remedy, or of the remark. */
  remedy: string;
}

export const cardFaults: CardFault[] = [
  {
    kernel:
      "NVRM: Xid (PCI:0000:9b:00): 119, pid=2114, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802016 0x4).",
    cause: "cardReset",
    remedy: "reboot the machine",
  },
  // leptonai/gpud#46
  {
    kernel:
      "NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005",
    cause: "cardReset",
    remedy: "reboot the machine",
  },
  {
    kernel:
      "NVRM: Xid (PCI:0000:0b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    cause: "cardReset",
    remedy: "reboot the machine",
  },
  {
    kernel:
      "NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, subpartition 0.",
    cause: "cardReset",
    remedy: "replace the card",
  },
  {
    kernel:
      "NVRM: Xid (PCI:0000:10:00): 95, pid=1896, name=python3, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
    cause: "cardReset",
    remedy: "replace the card",
  },
  // leptonai/gpud#46
  {
    kernel:
      "NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter",
    cause: null,
    remedy: "a program caused this error",
  },
  {
    kernel:
      "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    cause: "cardGone",
    remedy: "switch the machine off for a minute",
  },
  {
    kernel: "NVRM: fallen off the bus and is not responding to commands.",
    cause: "cardGone",
    remedy: "switch the machine off for a minute",
  },
  {
    kernel: "NVRM: Xid (PCI:0000:01:00): 54, pid=0, name=<unknown>",
    cause: "cardPower",
    remedy: "plug the power cable into the card",
  },
  {
    kernel: "NVRM: GPU 0000:98:00.0: RmInitAdapter failed! (0x62:0x65:1792)",
    cause: "cardStart",
    remedy: "pass the whole card through",
  },
  {
    kernel: "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
    cause: "cardStart",
    remedy: "switch the machine off and on",
  },
  {
    kernel: "NVRM: installed in this system is not supported by open",
    cause: "driverFlavour",
    remedy: "remove driver.flavour",
  },
  {
    kernel: "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    cause: "driverFlavour",
    remedy: "remove driver.flavour",
  },
  {
    kernel: "NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.",
    cause: "driverFlavour",
    remedy: "remove driver.flavour",
  },
  {
    kernel: "NVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please",
    cause: "driverTooNew",
    remedy: "driver.branch: lts",
  },
  {
    kernel:
      "NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    cause: "nvlink",
    remedy: "take the card out of service",
  },
  {
    kernel:
      "NVRM: Xid (PCI:0000:8a:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 2(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    cause: "nvlink",
    remedy: "reseat the NVLink bridge or the board",
  },
  {
    service:
      "/usr/bin/nv-fabricmanager: error while loading shared libraries: libz.so.1: cannot open shared object file: No such file or directory",
    cause: "fabricManagerLibrary",
    remedy: "upgrade Talos",
  },
  {
    service:
      "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
    cause: "fabricNotReady",
    remedy: "pass the NVSwitches through",
  },
  {
    service:
      'level=error msg="failed to generate CDI spec: failed to create device CDI specs: empty device edits"',
    cause: "fabricNotReady",
    remedy: "list nvidia-fabricmanager",
  },
  // ollama/ollama#11963
  {
    service: "ggml_cuda_init: failed to initialize CUDA: system not yet initialized",
    cause: "fabricNotReady",
    remedy: "list nvidia-fabricmanager",
  },
];
