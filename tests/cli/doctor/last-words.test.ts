import type { CoreV1Api, V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { hearLastWords, silentContainers } from "../../../cli/doctor/last-words";

const ended = (exitCode: number, message?: string) => ({
  terminated: { exitCode, ...(message === undefined ? {} : { message }) },
});

function pod(name: string, status: Partial<V1ContainerStatus>): V1Pod {
  const container = { name: "main", image: "", imageID: "", restartCount: 0, ready: false, ...status };
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

test("asks the logs of containers that ended badly without a word, and of no other", () => {
  const asked = silentContainers(pods()).map(({ pod: name, restarted }) => [name, restarted]);
  expect(asked).toEqual([
    ["crashed", false],
    ["again", true],
    ["failed", false],
  ]);
});

test("puts what they said where a termination message would be; a log that is gone changes nothing", async () => {
  const seen = pods();
  const read = ({ name }: { name: string }): Promise<string> =>
    name === "failed" ? Promise.reject(new Error("HTTP 404")) : Promise.resolve(`${name}: CUDA error 804\n`);
  await hearLastWords(seen, { readNamespacedPodLog: read } as unknown as CoreV1Api);
  const message = (index: number): string | undefined => {
    const { state, lastState } = seen[index]!.status!.containerStatuses![0]!;
    return (state?.terminated ?? lastState?.terminated)?.message;
  };
  expect([0, 1, 2, 3].map(message)).toEqual([
    "crashed: CUDA error 804",
    "again: CUDA error 804",
    undefined,
    "no CUDA-capable device is detected",
  ]);
});
