import { isMapping, valueAt } from "../mapping";
import { absolutePath } from "../rules";
import type { ClusterSpec } from "../spec/index";
import type { Found } from "./check";

/** What a value of a chart may be. */
interface Taken {
  of: "gpuOperator" | "devicePlugin";
  path: string;
  takes: (value: unknown) => boolean;
  /** In words, after "must be". */
  is: string;
  why: string;
  /** Whether the chart's own value is told by `null`. */
  nullIsDefault: boolean;
}

const words = (of: Taken["of"], path: string, ...all: string[]): Taken => ({
  ...{ of, path, is: `one of ${all.join(", ")}`, why: "NVIDIA's program refuses anything else", nullIsDefault: true },
  takes: (value) => all.includes(value as string),
});

/** The template asks for the type, and passes over anything else in silence (k8s-device-plugin, templates/daemonset-device-plugin.yml). */
const switchOf = (path: string): Taken => ({
  ...{ of: "devicePlugin", path, is: "true or false", nullIsDefault: true },
  why: "the chart passes over anything else in silence, a text too",
  takes: (value) => typeof value === "boolean",
});

const pathOf = (of: Taken["of"], path: string): Taken => ({
  ...{ of, path, is: "an absolute path", nullIsDefault: true },
  why: "the kubelet mounts no other, and the pods do not start",
  takes: (value) => typeof value === "string" && absolutePath(value) === undefined,
});

/** Values whose word matters. Sources: k8s-device-plugin, api/config/v1/consts.go; gpu-operator, api/nvidia/v1/clusterpolicy_types.go. */
const table: Taken[] = [
  words("gpuOperator", "mig.strategy", "none", "single", "mixed"),
  words("gpuOperator", "daemonsets.updateStrategy", "RollingUpdate", "OnDelete"),
  words("devicePlugin", "migStrategy", "none", "single", "mixed"),
  words("devicePlugin", "deviceIDStrategy", "uuid", "index"),
  ...["failOnInitError", "compatWithCPUManager", "gdsEnabled", "mofedEnabled", "noTimestamp", "gfd.noTimestamp"].map(
    switchOf,
  ),
  {
    ...{ of: "gpuOperator", path: "operator.runtimeClass", is: "nvidia", nullIsDefault: true },
    why: "Talos' extension calls its runtime so, and what runs on the GPUs names this RuntimeClass",
    takes: (value) => value === "nvidia",
  },
  {
    ...{ of: "gpuOperator", path: "sandboxWorkloads.defaultWorkload", is: "container", nullIsDefault: true },
    why: "the operator would run no device plugin on the machines, which then offer no GPU (controllers/state_manager.go)",
    takes: (value) => value === "container",
  },
  {
    ...{ of: "gpuOperator", path: "gds.enabled", is: "false", nullIsDefault: true },
    why: "it waits for the kernel module nvidia_fs, which no extension of Talos has",
    takes: (value) => value === false,
  },
  ...["nvidiaDriverRoot", "cdi.nvidiaHookPath", "mps.root"].map((path) => pathOf("devicePlugin", path)),
  ...["hostPaths.rootFS", "hostPaths.driverInstallDir", "hostPaths.kubeletRootDir", "toolkit.installDir"].map((path) =>
    pathOf("gpuOperator", path),
  ),
  {
    ...{ of: "devicePlugin", path: "updateStrategy", is: "a mapping", nullIsDefault: true },
    why: "Kubernetes refuses the DaemonSet",
    takes: isMapping,
  },
  words("devicePlugin", "updateStrategy.type", "RollingUpdate", "OnDelete"),
];

/** Values whose word is wrong. `external`: of somebody else's release, whose namespace and RuntimeClass are not the stack's. */
export function wrongWords(spec: ClusterSpec, of: Taken["of"], external = false): Found {
  const values = spec[of]?.values;
  const wrong = [...table, ...(external ? [] : elsewhere(spec))].filter(({ of: chart, path, takes, nullIsDefault }) => {
    const said = valueAt(values, ...path.split("."));
    return chart === of && said !== undefined && !(said === null && nullIsDefault) && !takes(said);
  });
  return wrong.map(({ path, is, why }) => ({
    field: `${of}.values.${path}`,
    problem: `must be ${is}`,
    why,
    remedy: "write that, or leave it out",
  }));
}

/** Values that hang on the rest of the stack. */
function elsewhere({ machines, devicePlugin }: ClusterSpec): Taken[] {
  const byDefault = Object.values(machines)
    .filter(({ gpus = [] }) => gpus.length > 0)
    .every(({ containerd }) => containerd?.nvidiaDefaultRuntime === true);
  const namespace = devicePlugin?.namespace ?? "nvidia-device-plugin";
  return [
    {
      ...{ of: "devicePlugin", path: "runtimeClassName", is: "nvidia", nullIsDefault: false },
      why: "with another runtime the plugin has no driver libraries and finds no card (not needed on machines with nvidiaDefaultRuntime)",
      takes: (value) => value === "nvidia" || (byDefault && (value === null || value === "")),
    },
    {
      ...{ of: "devicePlugin", path: "namespaceOverride", is: namespace, nullIsDefault: true },
      why: "the namespace of the release is the one that lets NVIDIA's pods in (Pod Security)",
      takes: (value) => value === "" || value === namespace,
    },
  ];
}
