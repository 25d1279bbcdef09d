import { diagnose, type Diagnosis, type Observations } from "../../components/diagnosis";
import { planCluster, type Plan } from "../../components/recipe/index";
import { validStack } from "../recipe/stacks";

export const planOf = (name: string): Plan => planCluster(validStack(name));
export const found = (seen: Observations, plan: Plan): Diagnosis["fix"][] =>
  diagnose(seen, plan).map((diagnosis) => diagnosis.fix);

export const operator = "nvidia-gpu-operator";
type Pod = NonNullable<Observations["pods"]>[number];

/** A pod of the operator's that waits in one of its init containers. */
export const waiting = (name: string, container: string): Pod => ({
  namespace: operator,
  name,
  phase: "Pending",
  node: "k8s-worker4",
  initContainers: [{ name: container, state: "running", ready: false }],
  containers: [{ name: "main", state: "waiting", ready: false, reason: "PodInitializing" }],
});

/** A pod that crashes again and again; `node` is undefined where it is on none. */
export const failing = (name: string, node: string | undefined, lastMessage: string): Pod => ({
  namespace: "ollama",
  name,
  phase: "Running",
  ...(node === undefined ? {} : { node }),
  containers: [{ name: "main", state: "waiting", ready: false, reason: "CrashLoopBackOff", lastMessage }],
});

/** What is seen on the operator's stack while the plugin waits: it looks alike with and without a driver. */
export const stuck: Observations = {
  pods: [
    waiting("nvidia-device-plugin-daemonset-x", "toolkit-validation"),
    waiting("gpu-feature-discovery-x", "toolkit-validation"),
    waiting("nvidia-operator-validator-x", "driver-validation"),
  ],
  daemonSets: [{ namespace: operator, name: "nvidia-device-plugin-daemonset", desired: 1, ready: 0 }],
  nodes: [{ name: "k8s-worker4", labels: { "nvidia.com/gpu.present": "true" }, allocatable: {}, ready: true }],
  machines: [
    {
      name: "k8s-worker4",
      modules: ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"],
      driverVersion: "570.211.01",
      services: { "ext-nvidia-persistenced": "Running" },
    },
  ],
  runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
};

export const noDriver: Observations["machines"] = [
  {
    name: "k8s-worker4",
    modules: ["drm"],
    driverVersion: null,
    services: { "ext-nvidia-persistenced": "Waiting" },
    errors: [],
  },
];
