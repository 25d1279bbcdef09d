import type * as k8s from "@kubernetes/client-node";
import { livingEvents, livingPods, type Objects } from "../../../cli/doctor/observe/living";

const now = new Date("2026-11-21T12:00:00Z");
const event = (uid: string, minutesAgo: number, kind = "Pod"): k8s.CoreV1Event => ({
  metadata: {},
  involvedObject: { kind, uid, name: uid },
  message: uid,
  lastTimestamp: new Date(now.getTime() - minutesAgo * 60_000),
});
const pod = (uid: string, ready: boolean, phase = "Running"): k8s.V1Pod => ({
  metadata: { uid },
  status: { phase, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});

test("events of healthy objects and of deleted objects do not count", () => {
  const daemonSets = [
    {
      metadata: { uid: "set-healthy", name: "set-healthy" },
      status: { desiredNumberScheduled: 1, numberReady: 1 },
    },
    {
      metadata: { uid: "set-idle", name: "set-idle" },
      status: { desiredNumberScheduled: 0, numberReady: 0 },
    },
  ] as k8s.V1DaemonSet[];
  const pods = [pod("healthy", true), pod("failing", false), pod("done", false, "Succeeded")];
  const uids = ["healthy", "failing", "done", "set-healthy", "set-idle", "deleted"];
  const events = [...uids.map((uid) => event(uid, 1)), event("failing", 50)];
  const messagesOf = (objects: Objects): string[] =>
    livingEvents(events, objects, now).map(({ message }) => message ?? "");
  const objects = { pods, daemonSets, deployments: [] };
  expect(messagesOf({ ...objects, jobs: [] })).toEqual(["failing", "set-idle", "failing"]);
  // Without the right to list Jobs, the doctor cannot know whether the object was deleted.
  expect(messagesOf(objects)).toEqual(["failing", "set-idle", "deleted", "failing"]);
});

test("events of objects that the doctor does not list count only if they are recent", () => {
  const events = [event("talos-1", 1, "Node"), event("talos-2", 20, "Node")];
  expect(
    livingEvents(events, { pods: [], daemonSets: [], deployments: [], jobs: [] }, now),
  ).toEqual([events[0]]);
});

test("events of a healthy object's former pods do not count", () => {
  const eventAbout = (name: string, namespace = "llm"): k8s.CoreV1Event => ({
    metadata: {},
    involvedObject: { uid: `deleted-${name}`, name, namespace },
    message: `${namespace}/${name}`,
    lastTimestamp: now,
  });
  const deployment = (name: string, readyReplicas: number): k8s.V1Deployment => ({
    metadata: { uid: name, name, namespace: "llm", generation: 2 },
    spec: { replicas: 1, selector: {}, template: {} },
    status: { observedGeneration: 2, updatedReplicas: 1, readyReplicas },
  });
  const objects = { deployments: [deployment("ollama", 1), deployment("ollama-proxy", 0)] };
  const events = [
    eventAbout("ollama-79b944df7b-xxmjm"),
    eventAbout("ollama-79b944df7b"),
    eventAbout("ollama-proxy-5d9c7f8b6-abcde"),
    eventAbout("ollama-79b944df7b-xxmjm", "elsewhere"),
  ];
  expect(livingEvents(events, objects, now).map(({ message }) => message)).toEqual([
    "llm/ollama-proxy-5d9c7f8b6-abcde",
    "elsewhere/ollama-79b944df7b-xxmjm",
  ]);
});

test("events of replaced pods do not count", () => {
  const eventAbout = (uid: string, name: string): k8s.CoreV1Event => ({
    metadata: {},
    involvedObject: { kind: "Pod", uid, name, namespace: "gpu" },
    message: uid,
    lastTimestamp: now,
  });
  const daemonSet = (name: string): k8s.V1DaemonSet =>
    ({
      metadata: { uid: name, name, namespace: "gpu" },
      status: { desiredNumberScheduled: 2, numberReady: 1 },
    }) as k8s.V1DaemonSet;
  const events = [
    eventAbout("replaced", "plugin-aaaaa"),
    eventAbout("existing", "plugin-bbbbb"),
    eventAbout("without-successor", "limit-ccccc"),
  ];
  const existingPod: k8s.V1Pod = {
    metadata: { uid: "existing", name: "plugin-bbbbb", namespace: "gpu" },
  };
  const objects = {
    pods: [existingPod],
    daemonSets: [daemonSet("plugin"), daemonSet("limit")],
    deployments: [],
    jobs: [],
  };
  expect(livingEvents(events, objects, now).map(({ message }) => message)).toEqual([
    "existing",
    "without-successor",
  ]);
});

test("events of pods do not count if their DaemonSet now wants no pods", () => {
  const eventAbout = (uid: string, name: string, kind = "Pod"): k8s.CoreV1Event => ({
    metadata: {},
    involvedObject: { kind, uid, name, namespace: "gpu" },
    message: name,
    lastTimestamp: now,
  });
  const daemonSet = (desired: number): k8s.V1DaemonSet =>
    ({
      metadata: { uid: "set", name: "plugin", namespace: "gpu" },
      status: { desiredNumberScheduled: desired, numberReady: 0 },
    }) as k8s.V1DaemonSet;
  const events = [eventAbout("deleted", "plugin-mn6ff"), eventAbout("set", "plugin", "DaemonSet")];
  const messagesFor = (desired: number): string[] =>
    livingEvents(
      events,
      { pods: [], daemonSets: [daemonSet(desired)], deployments: [], jobs: [] },
      now,
    ).map(({ message }) => message ?? "");
  expect(messagesFor(0)).toEqual(["plugin"]);
  expect(messagesFor(1)).toEqual(["plugin-mn6ff", "plugin"]);
});

test("failed pods count only if their Job did not succeed", () => {
  const podOfJob = (uid: string, job: string): k8s.V1Pod => ({
    metadata: {
      uid,
      ownerReferences: [{ uid: job, kind: "Job", name: job, apiVersion: "batch/v1" }],
    },
    status: { phase: "Failed" },
  });
  const jobs = [
    { metadata: { uid: "good" }, status: { succeeded: 1 } },
    { metadata: { uid: "bad" }, status: { failed: 1 } },
  ];
  expect(
    livingPods([podOfJob("a", "good"), podOfJob("b", "bad")], jobs).map(
      ({ metadata }) => metadata?.uid,
    ),
  ).toEqual(["b"]);
});
