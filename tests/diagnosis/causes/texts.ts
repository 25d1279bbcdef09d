import type { CauseId, FixId } from "../../../components/diagnosis";

/** Exact output of real programs, by the cause that it shows. */
export const textsOfCauses: Partial<Record<CauseId | FixId, string[]>> = {
  runtimeHandler: [
    'Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox "c5dc0309bb13": no runtime for "nvidia" is configured',
  ],
  driverLibraries: [
    "nvml init failed: ERROR_LIBRARY_NOT_FOUND",
    'E1121 12:00:00.000000 1 main.go:183] "Error running nvidia-device-plugin" err="CDI --device-list-strategy options are only supported on NVML-based systems"',
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: error modifying OCI spec: failed to create the automatic CDI modifier: failed to generate CDI spec: ERROR_LIBRARY_NOT_FOUND",
    "could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
    'OCI runtime create failed: could not apply required modification to OCI specification: error modifying OCI spec: failed to create the automatic CDI modifier: failed to generate CDI spec for mode "auto": failed to construct device spec generators: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND',
  ],
  driverRoot: [
    'level=warning msg="Failed to load ldcache: open /driver-root/etc/ld.so.cache: no such file or directory"',
    "error starting plugins: unable to create cdi spec file: failed to open /driver-root/etc/ld.so.cache: open /driver-root/etc/ld.so.cache: no such file or directory",
    'CDI device injection failed: failed to stat CDI host device "/usr/local/dev/nvidia-uvm": no such file',
  ],
  fabricSlow: [
    "fabric: all-reduce over 2 machines, 2 cards: 2.7 GB/s, below the floor of 900 GB/s",
  ],
  fabricApart: [
    "fabric: not all of the 2 machines connected to localhost within 6 s: Timed out after 7 seconds waiting for clients. 1/2 clients joined.",
    "Bootstrap : no socket interface found",
  ],
  groupWebhooks: [
    'Internal error occurred: failed calling webhook "mleaderworkerset.kb.io": failed to call webhook: Post "https://lws-webhook-service.lws-system.svc:443/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset?timeout=10s": no endpoints available for service "lws-webhook-service"',
  ],
  deviceListStrategy: ["invalid --device-list-strategy option: invalid strategy: volumes"],
  toolkitPrograms: [
    "runc create failed: unable to start container process: error running createContainer hook #0: fork/exec /usr/bin/nvidia-ctk: no such file or directory",
  ],
  mpsServer: [
    "CUDA error 805: MPS client failed to connect to the MPS control daemon or the MPS server",
  ],
  sharedRequest: [
    "Allocate failed due to rpc error: code = Unknown desc = invalid request: maximum request size for shared resources is 1; found 2, which is unexpected",
  ],
  migMonitors: [
    "nvidia-container-cli.real: cannot set MIG_MONITOR_DEVICES in non privileged container: unknown",
  ],
  releasePending: [
    "error: helm release nvidia-device-plugin: another operation (install/upgrade/rollback) is in progress",
  ],
  runtimeClass: ['pods "gpu" is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
};
