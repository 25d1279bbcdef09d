import type { EtcdMember } from "../../../components/clients/talos/talos-machine";
import { factoryImage, failsWith, schematics } from "../fakes";
import { STAGED } from "../setup";
import { pausedBoot, rebootEndsPause } from "./paused-boot";
import { type FailingCall, runUpgrade, type UpgradeRun } from "./scenario";

// The stack has one of a cluster's three control planes.

const controlPlane: UpgradeRun["task"] = { role: "controlplane" };
const member = (id: string, urls = [`https://10.0.0.${id}:2380`]): EtcdMember => ({
  id,
  hostname: `cp-${id}`,
  learner: false,
  urls,
});
const threeMembers: UpgradeRun["machine"] = { members: [member("1"), member("2"), member("3")] };
const healthyControlPlanes: UpgradeRun["outsideStack"] = { "10.0.0.2": {}, "10.0.0.3": {} };

const callsOfUpgrade = [`pull ${factoryImage("v1.12.6")}`, "upgrade legacy"];

describe("a control plane of a new cluster, with a control plane that the stack installs later,", () => {
  const inMaintenance = {
    status: failsWith("unreachable", "x509: certificate signed by unknown authority"),
  };
  const newControlPlane: UpgradeRun["task"] = { ...controlPlane, installs: true };
  test("is upgraded if it is the only etcd member", () =>
    runUpgrade({
      task: newControlPlane,
      otherControlPlanes: { "10.0.0.2": inMaintenance },
      expect: { result: { rebooted: true }, machineCalls: callsOfUpgrade },
    }));

  test("is upgraded if etcd has two members, with a warning", () =>
    runUpgrade({
      task: newControlPlane,
      machine: { members: [member("1"), member("2")] },
      otherControlPlanes: { "10.0.0.2": { memberId: "2" }, "10.0.0.3": inMaintenance },
      expect: {
        result: { rebooted: true },
        logs: [/etcd has two members until 10\.0\.0\.3 joins, so the Kubernetes API stops/],
      },
    }));

  test("is refused if etcd has two members and an earlier update has succeeded", () =>
    runUpgrade({
      task: newControlPlane,
      previousResult: { schematicId: "0" },
      machine: { members: [member("1"), member("2")] },
      otherControlPlanes: { "10.0.0.2": { memberId: "2" }, "10.0.0.3": inMaintenance },
      expect: { error: ["etcd has two members"], changesNothing: true },
    }));

  test("is refused if the other one is an etcd member that has lost its configuration", () =>
    runUpgrade({
      task: newControlPlane,
      machine: threeMembers,
      otherControlPlanes: { "10.0.0.2": inMaintenance, "10.0.0.3": { memberId: "3" } },
      expect: { error: ["control plane 10.0.0.2 does not answer (x509: "], changesNothing: true },
    }));

  test("is refused if the stack installs no machine", () =>
    runUpgrade({
      task: controlPlane,
      otherControlPlanes: { "10.0.0.2": inMaintenance },
      expect: { error: ["control plane 10.0.0.2 does not answer (x509: "], changesNothing: true },
    }));
});

describe("control planes that are not in the stack", () => {
  test("are checked, and the run goes on if they are healthy", () =>
    runUpgrade({
      task: controlPlane,
      machine: threeMembers,
      outsideStack: healthyControlPlanes,
      expect: {
        result: { rebooted: true },
        machineCalls: callsOfUpgrade,
        logsNever: ["not in the stack"],
      },
    }));

  test("stop the run before any change if one is down", () =>
    runUpgrade({
      task: controlPlane,
      machine: threeMembers,
      outsideStack: { "10.0.0.2": {}, "10.0.0.3": { isDown: true } },
      expect: {
        error: [
          "machines.gpu-1: control plane 10.0.0.3 (etcd member cp-3, not in the stack) does not answer " +
            "(connection refused); if two control planes are down at the same time, etcd may lose its quorum; " +
            "start that control plane and run again. If it will not return",
        ],
        changesNothing: true,
      },
    }));

  test("stop the run if one is being upgraded", () =>
    runUpgrade({
      task: controlPlane,
      machine: threeMembers,
      outsideStack: { "10.0.0.2": {}, "10.0.0.3": { stageName: "upgrading" } },
      expect: {
        error: ["10.0.0.3 (etcd member cp-3, not in the stack) is in stage upgrading"],
        changesNothing: true,
      },
    }));

  test("stop the run if one has an etcd alarm", () =>
    runUpgrade({
      task: controlPlane,
      machine: threeMembers,
      outsideStack: { "10.0.0.2": {}, "10.0.0.3": { reportedEtcdProblems: ["NOSPACE"] } },
      expect: {
        error: ["10.0.0.3 (etcd member cp-3, not in the stack) reports: NOSPACE"],
        changesNothing: true,
      },
    }));

  test("stop the run if one has no etcd", () =>
    runUpgrade({
      task: controlPlane,
      machine: threeMembers,
      outsideStack: {
        "10.0.0.2": {},
        "10.0.0.3": { etcdProblems: failsWith("unimplemented", "etcdProblems: unimplemented") },
      },
      expect: { error: ["reports: etcdProblems: unimplemented"], changesNothing: true },
    }));

  test("are logged and do not stop the run if their health is unknown", () =>
    runUpgrade({
      task: controlPlane,
      machine: {
        members: [member("1"), member("2"), member("3", ["https://:2380"]), member("4", [])],
      },
      outsideStack: {
        "10.0.0.2": { status: failsWith("refused", "status: refused") },
        "10.0.0.3": {},
      },
      expect: {
        result: { rebooted: true },
        logs: [
          "precheck: etcd member cp-2, not in the stack: its health is unknown, because the request failed " +
            "(status: refused)",
          "precheck: etcd member cp-3, not in the stack: its health is unknown, because it has no address " +
            "(https://:2380)",
          "precheck: etcd member cp-4, not in the stack: its health is unknown, because it has no address (no URL)",
        ],
      },
    }));

  test("are checked at their next address if the first does not answer", () =>
    runUpgrade({
      task: controlPlane,
      machine: {
        members: [
          member("1"),
          member("2"),
          member("3", ["https://192.0.2.3:2380", "https://10.0.0.3:2380", "https://10.0.0.3:2379"]),
        ],
      },
      outsideStack: healthyControlPlanes,
      expect: {
        result: { rebooted: true },
        machineCalls: callsOfUpgrade,
        logsNever: ["not in the stack"],
      },
    }));

  test("do not include the stack's control planes, even if etcd has other addresses for them", () =>
    runUpgrade({
      task: controlPlane,
      machine: {
        members: [
          member("1", ["https://192.0.2.1:2380"]),
          member("2", ["https://[fd00::2]:2380"]),
          member("3", ["https://192.0.2.3:2380"]),
        ],
      },
      otherControlPlanes: { "fd00:0:0::2": { memberId: "2" }, "cp-3.example": { memberId: "3" } },
      expect: {
        result: { rebooted: true },
        machineCalls: callsOfUpgrade,
        logsNever: ["not in the stack"],
      },
    }));
});

describe("a control plane whose boot is paused", () => {
  const pausedControlPlane: UpgradeRun["machine"] = {
    ...pausedBoot,
    ...threeMembers,
    persistent: STAGED,
    etcdState: "Waiting",
  };
  const etcdDoesNotAnswer: FailingCall[] = [
    { call: "etcdMembers", problem: "unreachable", times: 999 },
    { call: "etcdProblems", problem: "unreachable", times: 999 },
  ];
  test("is rebooted into its staged configuration even if its etcd is not up", () =>
    runUpgrade({
      task: controlPlane,
      machine: pausedControlPlane,
      outsideStack: healthyControlPlanes,
      cluster: { isOnlyNode: true },
      otherControlPlanes: { "10.0.0.2": {} },
      failingCalls: etcdDoesNotAnswer,
      events: rebootEndsPause,
      expect: { result: { rebooted: true }, machineCalls: ["reboot"], minutes: { lessThan: 5 } },
    }));

  test("is left alone if another control plane is down", () =>
    runUpgrade({
      task: controlPlane,
      machine: pausedControlPlane,
      outsideStack: healthyControlPlanes,
      cluster: { isOnlyNode: true },
      otherControlPlanes: { "10.0.0.2": { isDown: true } },
      failingCalls: etcdDoesNotAnswer,
      expect: { error: ["control plane 10.0.0.2 does not answer"], machineCalls: [] },
    }));

  test("is not rebooted if its etcd is up and another etcd member is down", () =>
    runUpgrade({
      task: controlPlane,
      machine: {
        ...pausedControlPlane,
        etcdState: "Running",
        active: "machine: {}\n",
        bootProblems: [],
      },
      outsideStack: { "10.0.0.2": {}, "10.0.0.3": { isDown: true } },
      cluster: { isOnlyNode: true },
      otherControlPlanes: { "10.0.0.2": {} },
      expect: {
        error: ["10.0.0.3 (etcd member cp-3, not in the stack) does not answer"],
        machineCalls: [],
      },
    }));
});

describe("one of two etcd members whose configuration changes", () => {
  const changed: UpgradeRun = {
    task: {
      ...controlPlane,
      otherControlPlanes: ["10.0.0.2"],
      modules: [],
      driverVersion: undefined,
      extensionServices: [],
      schematicId: schematics.plain,
    },
    machine: { talosVersion: "v1.12.6", members: [member("1"), member("2")] },
    otherControlPlanes: { "10.0.0.2": { memberId: "2" } },
    expect: {},
  };
  test("gets the change if it needs no reboot, since etcd keeps its quorum", () =>
    runUpgrade({ ...changed, expect: { result: { rebooted: false } } }));

  test("is refused before the drain if Talos needs a reboot for the change", () =>
    runUpgrade({
      ...changed,
      failingCalls: [{ call: "activate", problem: "refused" }],
      expect: { error: ["etcd has two members"], machineCalls: ["activate"] },
    }));
});
