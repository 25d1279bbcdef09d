import type { V1ContainerStatus, V1Node, V1Pod } from "@kubernetes/client-node";
import {
  firstContainers,
  hearLastWords,
  idlePlugins,
  silentContainers,
} from "../../../cli/doctor/observe/last-words";
import { observedPod } from "../../../components/diagnosis/observations";

const ended = (exitCode: number, message?: string) => ({
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
  pod("crashed", { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: ended(1) }),
  pod("again", { state: { running: {} }, lastState: ended(137) }),
  pod("failed", { state: ended(2) }),
  pod("told", { state: ended(2, "no CUDA-capable device is detected") }),
  pod("done", { state: ended(0) }),
  pod("well", { ready: true, state: { running: {} }, lastState: ended(1) }),
  pod("starting", { state: { waiting: { reason: "ContainerCreating" } } }),
];

test("the doctor reads the logs of containers that failed without a termination message, and no others", () => {
  const asked = silentContainers(pods()).map(({ pod: name, restarted }) => [name, restarted]);
  expect(asked).toEqual([
    ["crashed", false],
    ["again", true],
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
  const all = [
    running("nvidia-device-plugin-a", "a"),
    running("nvidia-device-plugin-b", "b"),
    running("web", "a"),
  ];
  const asked = idlePlugins(all, [node("a", "0"), node("b", "1")]);
  expect(asked.map(({ pod: name, restarted }) => [name, restarted])).toEqual([
    ["nvidia-device-plugin-a", false],
  ]);
});

test("the doctor first reads the logs of pods for which the stack's own pods wait", () => {
  const waits = pod("vllm-group-0", { state: { waiting: { reason: "PodInitializing" } } });
  waits.metadata!.labels = { "app.kubernetes.io/managed-by": "talos-gpu" };
  const fabric = {
    name: "fabric",
    image: "",
    imageID: "",
    restartCount: 0,
    ready: false,
    state: { running: {} },
  };
  waits.status!.initContainerStatuses = [fabric];
  expect(firstContainers([waits, ...pods()])).toEqual([
    { namespace: "gpu", pod: "vllm-group-0", container: "fabric", restarted: false },
  ]);
  const { initContainers } = observedPod(
    waits,
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
  const { heard, unread } = await hearLastWords(pods(), [], { text });
  expect(unread).toEqual([]);
  expect(Object.fromEntries(heard)).toEqual({
    "gpu/crashed/main":
      "/api/v1/namespaces/gpu/pods/crashed/log?container=main&previous=false&tailLines=80",
    "gpu/again/main":
      "/api/v1/namespaces/gpu/pods/again/log?container=main&previous=true&tailLines=80",
  });
});

test("a container's last words come from its log if its status has no message", () => {
  const said = (one: V1Pod): string | undefined => {
    const [container] =
      observedPod(one, new Map([[`gpu/${one.metadata!.name}/main`, "heard"]])).containers ?? [];
    return container?.message ?? container?.lastMessage ?? container?.log;
  };
  expect(pods().map(said)).toEqual([
    "heard",
    "heard",
    "heard",
    "no CUDA-capable device is detected",
    "heard",
    "heard",
    undefined,
  ]);
});
