/**
 * Metrics that the DCGM exporter exports unless told otherwise, as far as a dashboard wants them.
 * Source: NVIDIA/dcgm-exporter, etc/default-counters.csv.
 */
export const dcgmMetrics = {
  power: "DCGM_FI_DEV_POWER_USAGE",
  utilization: "DCGM_FI_DEV_GPU_UTIL",
  memoryUsed: "DCGM_FI_DEV_FB_USED",
  memoryFree: "DCGM_FI_DEV_FB_FREE",
  temperature: "DCGM_FI_DEV_GPU_TEMP",
  smClock: "DCGM_FI_DEV_SM_CLOCK",
  xid: "DCGM_FI_DEV_XID_ERRORS",
} as const;
