import { causeIds } from "../../components/diagnosis/causes/index";
import { diagnose, type Observations } from "../../components/diagnosis";
/** What real programs print, word for word, and the known cause that it tells of. */
const texts: [string, string][] = [
  [
    "runtimeHandler",
    'Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox "c5dc0309bb13": no runtime for "nvidia" is configured',
  ],
  ["driverLibraries", "nvml init failed: ERROR_LIBRARY_NOT_FOUND"],
  [
    "driverLibraries",
    'E1121 12:00:00.000000 1 main.go:183] "Error running nvidia-device-plugin" err="CDI --device-list-strategy options are only supported on NVML-based systems"',
  ],
  [
    "driverLibraries",
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: error modifying OCI spec: failed to create the automatic CDI modifier: failed to generate CDI spec: ERROR_LIBRARY_NOT_FOUND",
  ],
  [
    "driverLibraries",
    "could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
  ],
  [
    "driverLibraries",
    'OCI runtime create failed: could not apply required modification to OCI specification: error modifying OCI spec: failed to create the automatic CDI modifier: failed to generate CDI spec for mode "auto": failed to construct device spec generators: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND',
  ],
  [
    "driverRoot",
    'level=warning msg="Failed to load ldcache: open /driver-root/etc/ld.so.cache: no such file or directory"',
  ],
  ["deviceListStrategy", "invalid --device-list-strategy option: invalid strategy: volumes"],
  [
    "driverRoot",
    "error starting plugins: unable to create cdi spec file: failed to open /driver-root/etc/ld.so.cache: open /driver-root/etc/ld.so.cache: no such file or directory",
  ],
  [
    "driverRoot",
    'CDI device injection failed: failed to stat CDI host device "/usr/local/dev/nvidia-uvm": no such file',
  ],
  [
    "toolkitPrograms",
    "runc create failed: unable to start container process: error running createContainer hook #0: fork/exec /usr/bin/nvidia-ctk: no such file or directory",
  ],
  ["mpsServer", "CUDA error 805: MPS client failed to connect to the MPS control daemon or the MPS server"],
  [
    "sharedRequest",
    "Allocate failed due to rpc error: code = Unknown desc = invalid request: maximum request size for shared resources is 1; found 2, which is unexpected",
  ],
  ["migMonitors", "nvidia-container-cli.real: cannot set MIG_MONITOR_DEVICES in non privileged container: unknown"],
  [
    "releasePending",
    "error: helm release nvidia-device-plugin: another operation (install/upgrade/rollback) is in progress",
  ],
  ["runtimeClass", 'pods "gpu" is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
];

const saying = (message: string): Observations => ({ events: [{ namespace: "gpu", object: "Pod/x", message }] });

test.each(texts)("%s: %s", (cause, text) => {
  expect(diagnose(saying(text)).map(({ fix }) => fix)).toEqual([cause]);
});

test("every known cause has a text", () => {
  expect(causeIds.filter((id) => !texts.some(([cause]) => cause === id))).toEqual([]);
});

test("without a driver, what pods say of its libraries follows from that", () => {
  const machines = [{ name: "a", modules: ["drm"], driverVersion: null }];
  const nodes = [{ name: "a", labels: { "extensions.talos.dev/nvidia-open-gpu-kernel-modules-lts": "1" } }];
  const seen = { ...saying("nvml init failed: ERROR_LIBRARY_NOT_FOUND"), machines, nodes };
  expect(diagnose(seen).map(({ fix }) => fix)).toEqual(["kernelModules"]);
});

test("a release that Helm was killed in is told without any text", () => {
  const releases = [{ namespace: "gpu", name: "gpu-operator", status: "pending-upgrade", revision: 2 }];
  expect(diagnose({ releases })).toMatchObject([
    { fix: "releasePending", evidence: ["Helm release gpu/gpu-operator is pending-upgrade"] },
  ]);
});
