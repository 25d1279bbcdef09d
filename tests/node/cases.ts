import type { Found } from "../e2e/support/kubernetes";

/** A pod that is run on both nodes, and what is looked at when. */
export interface Case {
  /** What is different of a pod whose one container `main` runs `busybox:1.37`. */
  pod: (node: string) => { spec?: Found; container?: Found };
  /** Whether the pod has come to where it is compared. Default: at once. */
  come?: (pod: Found) => boolean;
  /**
   * Whether the pod is changed meanwhile, so that the kubelet looks at it: else one of v1.36 tells that a container waits when it
   * is about to start it again (kubernetes v1.36.3, pkg/kubelet/pod_workers.go, completeWork).
   */
  nudged?: boolean;
  /** Reasons of the events whose texts are compared; all of them have to come. */
  events: string[];
}

const sh = (script: string): Found => ({ command: ["sh", "-c", script] });
const phase = (wanted: string) => (pod: Found) => pod.status?.phase === wanted;
const waits = (reason: string) => (pod: Found) => mainOf(pod)?.state?.waiting?.reason === reason;
const never = { restartPolicy: "Never" };
const files = { volumeMounts: [{ name: "files", mountPath: "/files" }] };
const http = { httpGet: { path: "/", port: 81 }, periodSeconds: 1, failureThreshold: 1 };

/** Status of the container that a case is about. */
export const mainOf = ({ status }: Found): Found =>
  status?.containerStatuses?.find(({ name }: Found) => name === "main");

/** A RuntimeClass whose handler no containerd has, and the handler. */
export const noHandler = "nope";

/** What happens to pods every day. */
export const cases: Record<string, Case> = {
  completes: {
    // An image of its own: where another case's pod has pulled it before, it is there.
    pod: () => ({ spec: never, container: { image: "debian:12", ...sh("true") } }),
    come: phase("Succeeded"),
    events: ["Pulling", "Pulled", "Created", "Started"],
  },
  fails: { pod: () => ({ spec: never, container: sh("echo no; exit 3") }), come: phase("Failed"), events: ["Started"] },
  "crash loop": {
    pod: () => ({ container: sh("exit 1") }),
    come: waits("CrashLoopBackOff"),
    nudged: true,
    events: ["BackOff"],
  },
  "no such program": {
    pod: () => ({ spec: never, container: { command: ["nope"] } }),
    come: phase("Failed"),
    events: ["Failed"],
  },
  "no such image": {
    pod: () => ({ container: { image: "example.org/no/such:1" } }),
    come: waits("ImagePullBackOff"),
    nudged: true,
    events: ["Failed", "BackOff"],
  },
  "no such ConfigMap as environment": {
    pod: () => ({ container: { envFrom: [{ configMapRef: { name: "nope" } }] } }),
    come: waits("CreateContainerConfigError"),
    nudged: true,
    events: ["Failed"],
  },
  "no such ConfigMap as volume": {
    pod: () => ({ spec: { volumes: [{ name: "files", configMap: { name: "nope" } }] }, container: files }),
    come: waits("ContainerCreating"),
    events: ["FailedMount"],
  },
  "no such folder on the host": {
    pod: () => ({
      spec: { volumes: [{ name: "files", hostPath: { path: "/nope", type: "Directory" } }] },
      container: files,
    }),
    come: waits("ContainerCreating"),
    events: ["FailedMount"],
  },
  "root where none may be": {
    pod: () => ({ container: { securityContext: { runAsNonRoot: true } } }),
    come: waits("CreateContainerConfigError"),
    nudged: true,
    events: ["Failed"],
  },
  "an init container fails": {
    pod: () => ({
      spec: { ...never, initContainers: [{ name: "first", image: "busybox:1.37", ...sh("exit 2") }] },
    }),
    come: phase("Failed"),
    events: ["Started"],
  },
  "not ready": {
    pod: () => ({
      container: { ...sh("sleep 600"), readinessProbe: { exec: { command: ["sh", "-c", "echo not yet; exit 1"] } } },
    }),
    come: phase("Running"), // a busy kubelet tells of its probe before it writes its pod's status
    events: ["Unhealthy"],
  },
  "not alive": {
    pod: () => ({ spec: never, container: { ...sh("sleep 600"), livenessProbe: { ...http } } }),
    come: phase("Failed"),
    events: ["Killing"],
  },
  "its time is over": {
    pod: () => ({ spec: { ...never, activeDeadlineSeconds: 2 }, container: sh("sleep 600") }),
    come: phase("Failed"),
    events: ["Killing", "DeadlineExceeded"],
  },
  "no such handler": {
    pod: () => ({ spec: { runtimeClassName: noHandler } }),
    come: waits("ContainerCreating"),
    events: ["FailedCreatePodSandBox"],
  },
  "a card of its own": {
    pod: () => ({
      spec: { ...never, runtimeClassName: "nvidia" },
      container: { ...sh("nvidia-smi -L"), resources: { limits: { "nvidia.com/gpu": "1" } } },
    }),
    come: phase("Succeeded"),
    events: ["Started"],
  },
  "two units of a shared card": {
    pod: () => ({
      spec: { ...never, runtimeClassName: "nvidia" },
      container: { resources: { limits: { "nvidia.com/gpu": "2" } } },
    }),
    come: phase("Failed"),
    events: ["UnexpectedAdmissionError"],
  },
};
