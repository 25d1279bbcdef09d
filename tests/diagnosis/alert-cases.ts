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
interface ExpectedAlerts {
  /** Minutes after the begin. */
  minute: number;
  /** Selector of the alerts that are compared. Default: all of them. */
  selector?: string;
  /** Labels of each alert. Labels that are missing here are not compared, but there must be no other alert. */
  alerts: Labels[];
}

/** One alert with all of its labels and texts. */
interface DetailedAlert {
  minute: number;
  alert: string;
  /** All labels and texts; undefined if the alert must not fire. */
  expected?: { labels: Labels; summary: string; description: string };
}

/** Metrics of the exporter, and the alerts that must follow from them. */
export interface AlertCase {
  name: string;
  series: Series[];
  alertsAt?: ExpectedAlerts[];
  detailedAlerts?: DetailedAlert[];
}

const A30: Labels = { device: "nvidia0", modelName: "NVIDIA A30", Hostname: "gpu-1" };

/** First card of the machine gpu-1, which has two. */
const firstCard: Labels = { gpu: "0", UUID: "GPU-265c9814-6156-355b-e589-ff2064894f16", ...A30 };
/** Second card of the machine gpu-1. */
const secondCard: Labels = { gpu: "1", UUID: "GPU-2d20791a-b4a6-ba59-97f1-e95b99fe5b49", ...A30 };
/** The only card of the machine laptop, which may be away. */
const laptopCard: Labels = {
  gpu: "0",
  UUID: "GPU-96be9fff-fdfd-9b87-88d4-fe5b9a012148",
  device: "nvidia0",
  modelName: "NVIDIA GeForce RTX 3090",
  Hostname: "laptop",
};

const seriesOf = (name: string, card: Labels, values: string): Series => ({
  metric: name,
  labels: card,
  values,
});

/** The driver's last Xid error of a card. */
const xidSeries = (card: Labels, code: number, message: string, values: string): Series => ({
  metric: "DCGM_FI_DEV_XID_ERRORS",
  labels: { ...card, err_code: String(code), err_msg: message },
  values,
});

/** How often a card's clock was reduced for a reason within five minutes. */
const clockEventSeries = (card: Labels, reason: string, values: string): Series => ({
  metric: "DCGM_EXP_CLOCK_EVENTS_COUNT",
  labels: { ...card, clock_event: reason, window_size_in_ms: "300000" },
  values,
});

export const alertCases: AlertCase[] = [
  {
    name: "a healthy card, and one whose program ended",
    series: [
      xidSeries(firstCard, 0, "Unknown Error", "0x30"),
      xidSeries(
        secondCard,
        45,
        "Preemptive cleanup, due to previous errors -- Most likely to see when running multiple cuda",
        "45x30",
      ),
      seriesOf("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", firstCard, "0x30"),
      seriesOf("DCGM_FI_DEV_ROW_REMAP_FAILURE", firstCard, "0x30"),
      seriesOf("DCGM_FI_DEV_ROW_REMAP_PENDING", firstCard, "0x30"),
      clockEventSeries(firstCard, "gpu_idle", "2x30"),
      clockEventSeries(firstCard, "power_cap", "9x30"),
      seriesOf("DCGM_FI_DEV_GPU_TEMP", firstCard, "41x30"),
      seriesOf("DCGM_FI_DEV_GPU_TEMP", secondCard, "41x30"),
    ],
    alertsAt: [{ minute: 30, alerts: [] }],
  },
  {
    name: "a card that fell off the bus, and the report of a program after it",
    series: [
      xidSeries(firstCard, 79, "GPU has fallen off the bus", "79x5 stale"),
      xidSeries(firstCard, 43, "GPU stopped processing", "_x5 43x30"),
    ],
    alertsAt: [
      {
        minute: 12,
        selector: 'alertname=~"NvidiaXid.*"',
        alerts: [{ alertname: "NvidiaXidGone", Hostname: "gpu-1", gpu: "0" }],
      },
      { minute: 30, selector: 'alertname=~"NvidiaXid.*"', alerts: [] },
    ],
  },
  {
    name: "a card whose firmware hangs, one without its power cable, and a link between cards",
    series: [
      xidSeries(firstCard, 119, "GSP RPC Timeout", "119x5"),
      xidSeries(secondCard, 54, "Auxiliary power is not connected to the GPU board", "54x5"),
      xidSeries(laptopCard, 74, "NVLINK Error", "74x5"),
    ],
    alertsAt: [
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
    series: [
      seriesOf("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", firstCard, "0x3 1x3"),
      seriesOf("DCGM_FI_DEV_ROW_REMAP_PENDING", firstCard, "0x3 1x3"),
      seriesOf("DCGM_FI_DEV_ROW_REMAP_FAILURE", secondCard, "0x3 1x3"),
    ],
    alertsAt: [
      {
        minute: 5,
        selector: 'alertstate="firing"',
        alerts: [
          { alertname: "NvidiaMemoryError", severity: "warning", gpu: "0" },
          { alertname: "NvidiaRowRemapPending", severity: "warning", gpu: "0" },
          { alertname: "NvidiaRowRemapFailed", severity: "critical", gpu: "1" },
        ],
      },
    ],
    detailedAlerts: [
      {
        minute: 5,
        alert: "NvidiaRowRemapFailed",
        expected: {
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
    name: "a card that is too hot, one that the power supply slows down, and one that was too hot only for a moment",
    series: [
      clockEventSeries(firstCard, "hw_thermal", "1x30"),
      clockEventSeries(secondCard, "sw_thermal", "1x5 0x25"),
      clockEventSeries(laptopCard, "hw_power_brake", "1x30"),
    ],
    alertsAt: [
      {
        minute: 20,
        selector: 'alertstate="firing",alertname!="NvidiaCardMissing"',
        alerts: [
          { alertname: "NvidiaHot", Hostname: "gpu-1", gpu: "0" },
          { alertname: "NvidiaPowerBrake", Hostname: "laptop", gpu: "0" },
        ],
      },
    ],
  },
  {
    name: "one of two cards, and the card of a machine that may be away, are no longer reported",
    series: [
      seriesOf("DCGM_FI_DEV_GPU_TEMP", firstCard, "41x60"),
      seriesOf("DCGM_FI_DEV_GPU_TEMP", secondCard, "41x10 stale"),
      seriesOf("DCGM_FI_DEV_GPU_TEMP", laptopCard, "41x10 stale"),
    ],
    detailedAlerts: [
      { minute: 10, alert: "NvidiaCardMissing" },
      {
        minute: 40,
        alert: "NvidiaCardMissing",
        expected: {
          labels: { node: "gpu-1", severity: "critical" },
          summary: "gpu-1 shows 1 of its 2 GPUs",
          description:
            "`npx talos-gpu doctor` shows the reason: the machine is off, its driver or exporter does not run, or a card does not answer on the bus",
        },
      },
    ],
  },
  {
    name: "nothing reports a machine's cards",
    series: [],
    alertsAt: [
      {
        minute: 20,
        selector: 'alertstate="firing"',
        alerts: [{ alertname: "NvidiaCardMissing", node: "gpu-1" }],
      },
    ],
  },
];
