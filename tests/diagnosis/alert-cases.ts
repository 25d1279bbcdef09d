// Metrics of the DCGM exporter, and the alerts that follow from them. Labels and values are recorded ones:
// DCGM_FI_DEV_XID_ERRORS of dcgm-exporter#326 and DCGM#235, DCGM_EXP_CLOCK_EVENTS_COUNT of dcgm-exporter#261, the
// names of all others of dcgm-exporter#317. If a card's failure was not recorded, the value is the one that the
// exporter's source gives: 1 for a flag, the code for an Xid.

/** Labels of a metric or of an alert. */
export type Labels = Record<string, string>;

/** One metric with its labels over time. */
interface Series {
  metric: string;
  labels: Labels;
  /**
   * A value per minute, in the notation of promtool: `0x3 1x3` is four times 0, then four times 1; `_` is no
   * value.
   */
  values: string;
}

/** The alerts that Prometheus has at a time. */
interface AlertsAt {
  /** Minutes after the begin. */
  minute: number;
  /** Selector of the alerts that are compared. Default: all of them. */
  where?: string;
  /** Labels of each alert. Labels that are missing here are not compared, but there must be no other alert. */
  alerts: Labels[];
}

/** One alert with all of its labels and texts. */
interface WholeAlert {
  minute: number;
  alert: string;
  /** All labels and texts; undefined if the alert must not fire. */
  fires?: { labels: Labels; summary: string; description: string };
}

/** Metrics of the exporter, and the alerts that must follow from them. */
export interface AlertCase {
  name: string;
  reports: Series[];
  at?: AlertsAt[];
  whole?: WholeAlert[];
}

const A30: Labels = { device: "nvidia0", modelName: "NVIDIA A30", Hostname: "gpu-1" };

/** First card of the machine gpu-1, which has two. */
const first: Labels = { gpu: "0", UUID: "GPU-265c9814-6156-355b-e589-ff2064894f16", ...A30 };
/** Second card of the machine gpu-1. */
const second: Labels = { gpu: "1", UUID: "GPU-2d20791a-b4a6-ba59-97f1-e95b99fe5b49", ...A30 };
/** The only card of the machine laptop, which may be away. */
const ofLaptop: Labels = {
  gpu: "0",
  UUID: "GPU-96be9fff-fdfd-9b87-88d4-fe5b9a012148",
  device: "nvidia0",
  modelName: "NVIDIA GeForce RTX 3090",
  Hostname: "laptop",
};

const metric = (name: string, card: Labels, values: string): Series => ({
  metric: name,
  labels: card,
  values,
});

/** The driver's last Xid error of a card. */
const xid = (card: Labels, code: number, words: string, values: string): Series => ({
  metric: "DCGM_FI_DEV_XID_ERRORS",
  labels: { ...card, err_code: String(code), err_msg: words },
  values,
});

/** How often a card's clock was reduced for a reason within five minutes. */
const clockEvents = (card: Labels, reason: string, values: string): Series => ({
  metric: "DCGM_EXP_CLOCK_EVENTS_COUNT",
  labels: { ...card, clock_event: reason, window_size_in_ms: "300000" },
  values,
});

export const alertCases: AlertCase[] = [
  {
    name: "a card that is well, and one whose program ended",
    reports: [
      xid(first, 0, "Unknown Error", "0x30"),
      xid(
        second,
        45,
        "Preemptive cleanup, due to previous errors -- Most likely to see when running multiple cuda",
        "45x30",
      ),
      metric("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", first, "0x30"),
      metric("DCGM_FI_DEV_ROW_REMAP_FAILURE", first, "0x30"),
      metric("DCGM_FI_DEV_ROW_REMAP_PENDING", first, "0x30"),
      clockEvents(first, "gpu_idle", "2x30"),
      clockEvents(first, "power_cap", "9x30"),
      metric("DCGM_FI_DEV_GPU_TEMP", first, "41x30"),
      metric("DCGM_FI_DEV_GPU_TEMP", second, "41x30"),
    ],
    at: [{ minute: 30, alerts: [] }],
  },
  {
    name: "a card that fell off the bus, and the report of a program after it",
    reports: [
      xid(first, 79, "GPU has fallen off the bus", "79x5 stale"),
      xid(first, 43, "GPU stopped processing", "_x5 43x30"),
    ],
    at: [
      {
        minute: 12,
        where: 'alertname=~"NvidiaXid.*"',
        alerts: [{ alertname: "NvidiaXidGone", Hostname: "gpu-1", gpu: "0" }],
      },
      { minute: 30, where: 'alertname=~"NvidiaXid.*"', alerts: [] },
    ],
  },
  {
    name: "a card whose firmware hangs, one without its power cable, and a link between cards",
    reports: [
      xid(first, 119, "GSP RPC Timeout", "119x5"),
      xid(second, 54, "Auxiliary power is not connected to the GPU board", "54x5"),
      xid(ofLaptop, 74, "NVLINK Error", "74x5"),
    ],
    at: [
      {
        minute: 5,
        alerts: [
          { alertname: "NvidiaXidReset", Hostname: "gpu-1", gpu: "0" },
          { alertname: "NvidiaXidPower", Hostname: "gpu-1", gpu: "1" },
          { alertname: "NvidiaXidNvlink", Hostname: "laptop", gpu: "0" },
          { alertname: "NvidiaCardMissing" },
        ],
      },
    ],
  },
  {
    name: "memory that fails",
    reports: [
      metric("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", first, "0x3 1x3"),
      metric("DCGM_FI_DEV_ROW_REMAP_PENDING", first, "0x3 1x3"),
      metric("DCGM_FI_DEV_ROW_REMAP_FAILURE", second, "0x3 1x3"),
    ],
    at: [
      {
        minute: 5,
        where: 'alertstate="firing"',
        alerts: [
          { alertname: "NvidiaMemoryError", severity: "warning", gpu: "0" },
          { alertname: "NvidiaRowRemapPending", severity: "warning", gpu: "0" },
          { alertname: "NvidiaRowRemapFailed", severity: "critical", gpu: "1" },
        ],
      },
    ],
    whole: [
      {
        minute: 5,
        alert: "NvidiaRowRemapFailed",
        fires: {
          labels: {
            Hostname: "gpu-1",
            gpu: "1",
            UUID: "GPU-2d20791a-b4a6-ba59-97f1-e95b99fe5b49",
            modelName: "NVIDIA A30",
            severity: "critical",
          },
          summary:
            "GPU 1 (NVIDIA A30) of gpu-1: the card could not replace a bad row of its memory",
          description:
            "the card has no spare row left, and a reboot does not help. Cordon the node, and replace the card",
        },
      },
    ],
  },
  {
    name: "a card that is too hot, and one that the supply slows down; a moment of either makes no alert",
    reports: [
      clockEvents(first, "hw_thermal", "1x30"),
      clockEvents(second, "sw_thermal", "1x5 0x25"),
      clockEvents(ofLaptop, "hw_power_brake", "1x30"),
    ],
    at: [
      {
        minute: 20,
        where: 'alertstate="firing",alertname!="NvidiaCardMissing"',
        alerts: [
          { alertname: "NvidiaHot", Hostname: "gpu-1", gpu: "0" },
          { alertname: "NvidiaPowerBrake", Hostname: "laptop", gpu: "0" },
        ],
      },
    ],
  },
  {
    name: "one of two cards is reported no more, and so is a machine that may be away",
    reports: [
      metric("DCGM_FI_DEV_GPU_TEMP", first, "41x60"),
      metric("DCGM_FI_DEV_GPU_TEMP", second, "41x10 stale"),
      metric("DCGM_FI_DEV_GPU_TEMP", ofLaptop, "41x10 stale"),
    ],
    whole: [
      { minute: 10, alert: "NvidiaCardMissing" },
      {
        minute: 40,
        alert: "NvidiaCardMissing",
        fires: {
          labels: { node: "gpu-1", severity: "critical" },
          summary: "gpu-1 shows 1 of its 2 GPUs",
          description:
            "`npx talos-gpu doctor` shows whether the machine is off, its driver or exporter does not run, or a card does not answer on the bus",
        },
      },
    ],
  },
  {
    name: "nothing reports a machine's cards",
    reports: [],
    at: [
      {
        minute: 20,
        where: 'alertstate="firing"',
        alerts: [{ alertname: "NvidiaCardMissing", node: "gpu-1" }],
      },
    ],
  },
];
