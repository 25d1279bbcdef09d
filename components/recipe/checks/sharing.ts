import type { Check } from "./check";

/**
 * Sharing has numbers that the device plugin takes, and is not by MPS: its control daemon is started with an environment of its pipe's
 * folders alone, and so without PATH, and nvidia-cuda-mps-control then looks for its server in /bin and /usr/bin.
 */
export const sharing: Check = {
  id: "sharing",
  source:
    'k8s-device-plugin v0.20.0, api/config/v1/replicas.go, README "Shared Access to GPUs", cmd/mps-control-daemon/mps/daemon.go (Start); device plugin 0.18.2 and 0.19.3 on an H100',
  find: ({ spec }) => {
    const { timeSlicing, mps } = spec.sharing ?? {};
    return [
      timeSlicing !== undefined &&
        timeSlicing.replicas < 2 && {
          field: "sharing.timeSlicing.replicas",
          problem: `is ${timeSlicing.replicas}`,
          why: "the device plugin refuses its configuration, and the node offers no GPU",
          remedy: "write 2 or more, or leave timeSlicing out",
        },
      mps !== undefined && {
        field: "sharing.mps",
        problem: "does not work on Talos with any release of the device plugin that we know",
        why: "the plugin starts nvidia-cuda-mps-control without PATH, which then does not find its server in Talos' /usr/local/bin: the node offers units, and every program on them ends with CUDA error 805",
        remedy:
          "share by timeSlicing; the plugin has to be mended (NVIDIA/k8s-device-plugin#1614, docs/upstream/mps-server-path.md)",
      },
    ].filter((complaint) => complaint !== false);
  },
};
