import type { Observations, ObservedEvent } from "../../../components/diagnosis";
import { type CauseCase } from "./case";

const oldUntoleratedEvent: Observations = {
  nodes: [{ name: "velaryon", labels: {}, taints: ["gpu=true:NoSchedule"] }],
  events: [
    {
      namespace: "nvidia-device-plugin",
      object: "Pod/gpu-smoke-test-x",
      reason: "FailedScheduling",
      message: "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}.",
    },
  ],
};
const untoleratedEvents: ObservedEvent[] = [
  {
    namespace: "nvidia-device-plugin",
    object: "Pod/gpu-smoke-test-x",
    reason: "FailedScheduling",
    message: "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
  },
];

/** Nodes with taints that pods do not tolerate, and nodes without their taint. */
export const taintCases: CauseCase[] = [
  {
    name: "a pod that does not tolerate the taint, in the scheduler's former wording",
    observations: oldUntoleratedEvent,
    stacks: ["velaryon"],
    causes: ["tolerations"],
  },
  {
    name: "a pod that does not tolerate the taint",
    observations: { ...oldUntoleratedEvent, events: untoleratedEvents },
    stacks: ["velaryon"],
    causes: ["tolerations"],
  },
  {
    name: "a pod that does not tolerate another owner's taint",
    observations: {
      nodes: [
        {
          name: "velaryon",
          labels: {},
          taints: ["gpu=true:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"],
        },
      ],
      events: untoleratedEvents,
    },
    stacks: ["velaryon"],
    causes: [],
  },
  {
    name: "a node without its taint",
    observations: { nodes: [{ name: "velaryon", labels: {}, taints: ["other:NoSchedule"] }] },
    stacks: ["velaryon"],
    causes: [{ cause: "taintThroughApi", evidence: ["node velaryon lacks gpu=true:NoSchedule"] }],
  },
  {
    name: "a node with its taint",
    observations: { nodes: [{ name: "velaryon", labels: {}, taints: ["gpu=true:NoSchedule"] }] },
    stacks: ["velaryon"],
    causes: [],
  },
];
