import { type Evidence, matching } from "../evidence";
import type { Observations } from "../observations";
import type { System } from "../system";
import { type Cause, fixesOf, hasGpu } from "./known";

/** Fixes of the GPU providers. */
export const exposureFixes = fixesOf({
  privilegedNamespace: {
    does: "the release's namespace is labelled pod-security.kubernetes.io/enforce=privileged before anything is installed in it",
    symptom:
      'pods are not created: violates PodSecurity "baseline:latest": hostPath volumes, privileged',
    cause:
      "Talos enforces the baseline profile in every namespace except kube-system, and NVIDIA's pods mount host paths",
    errors: [
      'pods "…" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "…")',
    ],
    inForce:
      "run `pulumi up --refresh`, which labels the namespace again. Then run `kubectl rollout restart` for each DaemonSet or Deployment without pods, because its controller waits longer after each refused pod, up to 17 minutes",
    source:
      "siderolabs/docs, nvidia-gpu; talos, pkg/machinery/config/types/v1alpha1/generate (admission control)",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.namespaceLabels !== undefined,
    // Pods that are not created write no markers, label no node and fail no container.
    sign: (observations, { namespace }) =>
      matching(observations, /violates PodSecurity/, namespace),
    hides: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
  },
  runtimeClass: {
    does: "a RuntimeClass nvidia with the handler nvidia exists before the device plugin is installed",
    symptom: 'pods are refused: RuntimeClass "nvidia" not found',
    cause:
      "the standalone device plugin's chart has no RuntimeClass, and only containers with the handler nvidia get the driver's libraries",
    errors: ['pods "…" is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
    source: "siderolabs/docs, nvidia-gpu; k8s-device-plugin, deployments/helm/nvidia-device-plugin",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.runtimeClass.owner === "component",
    // Kubernetes refuses pods because their RuntimeClass does not exist.
    sign: runtimeClassMissing,
    hides: ["validationMarkers"],
  },
  deviceListStrategy: {
    does: "the device plugin has DEVICE_LIST_STRATEGY=envvar (singular, not envvars)",
    symptom:
      "the device plugin is in CrashLoopBackOff: invalid --device-list-strategy option: invalid strategy: envvars; the node offers no nvidia.com/gpu",
    cause:
      "the plugin knows only envvar, volume-mounts, cdi-annotations and cdi-cri, and on Talos ≤ 1.12 only envvar works. The plural envvars is a common mistake",
    source: "k8s-device-plugin, api/config/v1/consts.go and strategy.go",
    usedBy: (plan) => hasGpu(plan) && plan.injection === "legacy",
    // The device plugin's log says that it does not know the strategy.
    sign: (observations, { namespace }) =>
      matching(observations, /invalid (--device-list-strategy option|strategy)/, namespace),
  },
});

/** Causes of failures of the container runtime, the device plugin or a Helm release, regardless of their owner. */
export const exposureCauses = {
  runtimeHandler: {
    symptom:
      "pods of RuntimeClass nvidia stay in ContainerCreating, and `kubectl exec` into running pods fails",
    cause:
      "containerd has no runtime named nvidia: the container toolkit's extension is not in the machine's image, or another file of containerd's configuration overrides this runtime",
    remedy:
      "compare the machine's extensions and /etc/cri/conf.d with the stack, and run `pulumi up` again. On Talos 1.13 and older, a changed containerd configuration needs a reboot",
    errors: ['unable to get OCI runtime for sandbox "…": no runtime for "nvidia" is configured'],
    source: "containerd 2.2.3 on a node laid out as Talos 1.13",
    texts: /no runtime for "nvidia" is configured/,
  },
  driverLibraries: {
    symptom:
      "the device plugin ends or waits without devices, or containers of the nvidia runtime do not start",
    cause:
      "NVIDIA's libraries (libnvidia-ml.so.1) are not where the runtime looks: no driver is loaded, the container toolkit's extension is missing, or a pod runs without the nvidia runtime",
    remedy:
      "make sure that the machine runs the image of the stack's schematic with the driver loaded (`talosctl read /proc/driver/nvidia/version`), and that the pod has runtimeClassName: nvidia",
    errors: [
      "nvml init failed: ERROR_LIBRARY_NOT_FOUND",
      "CDI --device-list-strategy options are only supported on NVML-based systems",
      "error modifying OCI spec: failed to create the automatic CDI modifier: … ERROR_LIBRARY_NOT_FOUND",
      "could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
    ],
    source:
      "k8s-device-plugin v0.19.3, internal/plugin/factory.go and cmd/nvidia-device-plugin/main.go; go-nvlib, pkg/nvlib/info; container toolkit 1.19.1 on a node without a driver",
    texts:
      /ERROR_LIBRARY_NOT_FOUND|only supported on NVML-based systems|could not load NVML library/i,
  },
  driverRoot: {
    symptom:
      "the device plugin is in CrashLoopBackOff with a CDI strategy, or GPU pods fail because of a device under /usr/local",
    cause:
      "nvidiaDriverRoot must name a complete root file system. On Talos the libraries are under /usr/local, but the devices and the linker's cache are under /, so only / works",
    remedy:
      "set `nvidiaDriverRoot: /` or `deviceListStrategy: envvar` in the device plugin's values",
    errors: [
      "open /driver-root/etc/ld.so.cache: no such file or directory",
      'failed to stat CDI host device "/usr/local/dev/nvidia-uvm"',
    ],
    source: "k8s-device-plugin v0.19.3 with cdi-cri on an H100, laid out as Talos 1.13",
    texts:
      /open \/driver-root\/\S*: no such file or directory|failed to stat CDI host device "\/usr\/local\//,
  },
  toolkitPrograms: {
    symptom: "containers with a GPU are not created: a hook is not found",
    cause:
      "the CDI specification names a program of the container toolkit by a path that does not exist on the machine",
    remedy:
      "delete the stale CDI file that an earlier release or another program has written to /var/run/cdi, and restart the device plugin's pod",
    errors: [
      "error running createContainer hook #0: fork/exec /usr/bin/nvidia-ctk: no such file or directory",
    ],
    source: "runc 1.3.4 with a CDI specification of container toolkit 1.19.1",
    texts: /fork\/exec \S*nvidia-(ctk|cdi-hook)\S*: no such file or directory/,
  },
  mpsServer: {
    symptom: "the node shares its cards by MPS, and every CUDA program on them fails: error 805",
    cause:
      "the device plugin starts nvidia-cuda-mps-control without PATH. That program then looks for the MPS server in /bin and /usr/bin, but Talos has the server in /usr/local/bin",
    remedy: "share the cards by time slicing instead of MPS",
    errors: ["MPS client failed to connect to the MPS control daemon or the MPS server"],
    source: "k8s-device-plugin#1614; device plugin 0.18.2 and 0.19.3 on an H100",
    texts:
      /MPS client failed to connect to the MPS control daemon|cudaErrorMpsConnectionFailed|CUDA_ERROR_MPS_CONNECTION_FAILED/,
  },
  sharedRequest: {
    symptom: "a pod fails at admission: UnexpectedAdmissionError",
    cause:
      "the pod requests several slices of shared cards. A pod with two slices gets no more of a card than a pod with one slice, so the device plugin refuses the request",
    remedy: "request one slice",
    errors: ["maximum request size for shared resources is 1; found 2"],
    source: "k8s-device-plugin, internal/plugin/server.go (failRequestsGreaterThanOne)",
    texts: /maximum request size for shared resources is 1; found \d+/,
  },
  migMonitors: {
    symptom:
      "the device plugin's container is not created: NVIDIA's runtime does not let it monitor MIG devices",
    cause:
      "with a sharing configuration but without migStrategy, the chart sets NVIDIA_MIG_MONITOR_DEVICES=all. NVIDIA's runtime allows this variable only in privileged containers",
    remedy: "set `migStrategy: none` in the device plugin's values",
    errors: ["cannot set MIG_MONITOR_DEVICES in non privileged container"],
    source:
      "k8s-device-plugin v0.17.4, templates/_helpers.tpl; nvidia-container-toolkit v1.17.8, container_config.go:272; gpu-operator#322",
    texts: /cannot set MIG_MONITOR_DEVICES in non privileged container/,
  },
  releasePending: {
    symptom: "every update fails: another operation (install/upgrade/rollback) is in progress",
    cause:
      "Helm was killed in the middle of an operation, and its record of the release still shows that operation as running",
    remedy:
      "run `pulumi up`: the next update that changes the release continues from the previous revision. For a release that no stack manages, run `helm rollback RELEASE -n NAMESPACE`, or `helm uninstall` if the killed operation was the first installation",
    errors: ["another operation (install/upgrade/rollback) is in progress"],
    source: "helm, pkg/action/upgrade.go (errPending); seen after a SIGKILL of pulumi up",
    texts: /another operation \(install\/upgrade\/rollback\) is in progress/,
    signs: pendingReleases,
  },
} satisfies Record<string, Cause>;

function runtimeClassMissing(observations: Observations, system: System): Evidence[] {
  const { name, owner } = system.runtimeClass;
  if (
    owner !== "component" ||
    observations.runtimeClasses?.some((existing) => existing.name === name)
  )
    return [];
  const refusedPods = matching(
    observations,
    new RegExp(`runtimeclass(?:(?!runtimeclass)\\S)* "?${name}"? not found`, "i"),
  );
  // A missing RuntimeClass alone proves nothing: the update may not have created it yet.
  return refusedPods.length === 0 || observations.runtimeClasses === undefined
    ? refusedPods
    : [...refusedPods, `there is no RuntimeClass ${name}`];
}

function pendingReleases({ releases = [] }: Observations): string[] {
  return releases
    .filter(({ name, status }) => /^pending-/.test(status) && /gpu-operator|nvidia/.test(name))
    .map(({ namespace, name, status }) => `Helm release ${namespace}/${name} is ${status}`);
}
