import type { V1ContainerStatus, V1Node, V1Pod } from "@kubernetes/client-node";
import {
  initContainersOfStack,
  readLastLogs,
  idlePlugins,
  silentContainers,
} from "../../../cli/doctor/observe/last-words";
import { observedPod } from "../../../components/diagnosis/observations";

const terminatedWith = (exitCode: number, message?: string) => ({
  terminated: { exitCode, ...(message === undefined ? {} : { message }) },
});

function pod(name: string, status: Partial<V1ContainerStatus>): V1Pod {
  const container = {
    name: "main",
    image: "",
    imageID: "",
    restartCount: 0,
    ready: false,
    ...status,
  };
  return { metadata: { namespace: "gpu", name }, status: { containerStatuses: [container] } };
}

const pods = (): V1Pod[] => [
  pod("crashed", {
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: terminatedWith(1),
  }),
  pod("restarted", { state: { running: {} }, lastState: terminatedWith(137) }),
  pod("failed", { state: terminatedWith(2) }),
  pod("message", { state: terminatedWith(2, "no CUDA-capable device is detected") }),
  pod("done", { state: terminatedWith(0) }),
  pod("healthy", { ready: true, state: { running: {} }, lastState: terminatedWith(1) }),
  pod("starting", { state: { waiting: { reason: "ContainerCreating" } } }),
];

test("the doctor reads the logs of containers that failed without a termination message, and no others", () => {
  const logRequests = silentContainers(pods()).map(({ pod: name, restarted }) => [name, restarted]);
  expect(logRequests).toEqual([
    ["crashed", false],
    ["restarted", true],
    ["failed", false],
  ]);
});

test("the doctor reads the logs of running device plugins on nodes without GPUs, and no others", () => {
  const running = (name: string, node: string): V1Pod => ({
    ...pod(name, { ready: true, state: { running: {} } }),
    spec: { containers: [], nodeName: node },
  });
  const node = (name: string, gpus: string): V1Node => ({
    metadata: { name },
    status: { allocatable: { "nvidia.com/gpu": gpus } },
  });
  const runningPods = [
    running("nvidia-device-plugin-a", "a"),
    running("nvidia-device-plugin-b", "b"),
    running("web", "a"),
  ];
  const logRequests = idlePlugins(runningPods, [node("a", "0"), node("b", "1")]);
  expect(logRequests.map(({ pod: name, restarted }) => [name, restarted])).toEqual([
    ["nvidia-device-plugin-a", false],
  ]);
});

test("the doctor reads the log of the init container for which a pod of the stack waits", () => {
  const waitingPod = pod("vllm-group-0", { state: { waiting: { reason: "PodInitializing" } } });
  waitingPod.metadata!.labels = { "app.kubernetes.io/managed-by": "talos-gpu" };
  const fabric = {
    name: "fabric",
    image: "",
    imageID: "",
    restartCount: 0,
    ready: false,
    state: { running: {} },
  };
  waitingPod.status!.initContainerStatuses = [fabric];
  expect(initContainersOfStack([waitingPod, ...pods()])).toEqual([
    { namespace: "gpu", pod: "vllm-group-0", container: "fabric", restarted: false },
  ]);
  const { initContainers } = observedPod(
    waitingPod,
    new Map([["gpu/vllm-group-0/fabric", "below the floor"]]),
  );
  expect(initContainers).toEqual([
    { name: "fabric", ready: false, state: "running", log: "below the floor" },
  ]);
});

test("the doctor reports the last log lines of failed containers, except of those whose log is gone", async () => {
  const text = (_: string, path: string): Promise<string> =>
    path.includes("/failed/")
      ? Promise.reject(new Error("HTTP 404"))
      : Promise.resolve(`${path}\n`);
  const { logs: heard, unread } = await readLastLogs(pods(), [], { text });
  expect(unread).toEqual([]);
  expect(Object.fromEntries(heard)).toEqual({
    "gpu/crashed/main":
      "/api/v1/namespaces/gpu/pods/crashed/log?container=main&previous=false&tailLines=80",
    "gpu/restarted/main":
      "/api/v1/namespaces/gpu/pods/restarted/log?container=main&previous=true&tailLines=80",
  });
});

test("a container's last message comes from its log if its status has none", () => {
  const lastWordsOf = (crashedPod: V1Pod): string | undefined => {
    const logs = new Map([[`gpu/${crashedPod.metadata!.name}/main`, "log line"]]);
    const [container] = observedPod(crashedPod, logs).containers ?? [];
    return container?.message ?? container?.lastMessage ?? container?.log;
  };
  const lastWords = pods().map((crashedPod) => [
    crashedPod.metadata!.name,
    lastWordsOf(crashedPod),
  ]);
  expect(Object.fromEntries(lastWords)).toStrictEqual({
    crashed: "log line",
    restarted: "log line",
    failed: "log line",
    message: "no CUDA-capable device is detected",
    done: "log line",
    healthy: "log line",
    starting: undefined,
  });
});
