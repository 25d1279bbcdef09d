import { CallError } from "../../../components/clients/failure";
import { factoryImage, failing, type FakeMachine, nodeState, pod, schematics } from "../fakes";
import { STAGED } from "../setup";
import { play, type UpgradeRun } from "./scenario";

// Runs of the upgrade program that meet a fault.

const budget = "Cannot evict pod as it would violate the pod's disruption budget.";
const pullCall = `pull ${factoryImage("v1.12.6")}`;

describe("a run that meets a fault", () => {
  test("a pod that a disruption budget holds stops the run before the upgrade, with the node left cordoned", () =>
    play({
      cluster: { podList: [pod("db"), pod("app")], budgets: { db: budget } },
      expect: {
        error: [`pod default/db did not end within 5m: ${budget}`, "node gpu-1 stays cordoned"],
        errorLacks: ["default/app"],
        machineCalls: [pullCall],
        node: { annotations: { "talos-gpu/cordoned-by": schematics.gpu } },
        minutes: { lessThan: 6 },
      },
    }));

  test("a pod on a node that is not ready counts as gone once its eviction was accepted", () =>
    play({
      cluster: { state: nodeState({ ready: false }), podList: [pod("app")] },
      events: [{ afterCall: "upgrade", seconds: 180, node: { ready: true } }],
      expect: { result: { rebooted: true }, kubernetesCalls: ["cordon", "evict app", "uncordon"] },
    }));

  test("a pod that a budget holds stops the run also on a node that is not ready", () =>
    play({
      cluster: {
        state: nodeState({ ready: false }),
        podList: [pod("db")],
        budgets: { db: "Cannot evict pod" },
      },
      expect: { error: ["pod default/db did not end within 5m: Cannot evict pod"] },
    }));

  test("the drain waits for the volumes of the evicted pods", () =>
    play({
      cluster: { volumes: ["pvc-1"] },
      events: [{ atSecond: 60, cluster: { volumes: [] } }],
      expect: {
        result: { rebooted: true },
        phaseSeconds: { drain: 60 },
        logs: ["node gpu-1 is drained"],
        logsNever: ["still attached"],
      },
    }));

  test("volumes that stay attached get a warning after two minutes", () =>
    play({
      cluster: { volumes: ["pvc-2"] },
      expect: {
        result: { rebooted: true },
        phaseSeconds: { drain: 119 },
        logs: ["warning: volumes are still attached to it (pvc-2)"],
      },
    }));

  test("an installer that cannot be pulled stops the run before any node is cordoned", () =>
    play({
      failingCalls: [{ call: "pull", problem: "refused" }],
      expect: {
        error: [`machines.gpu-1: it could not pull ${factoryImage("v1.12.6")}`],
        kubernetesCalls: [],
      },
    }));

  test("a pull that hangs once leaves time for a second one: it ends at half of the limit", () =>
    play({
      machine: { hangingPulls: 1 },
      expect: { result: { rebooted: true }, minutes: { atLeast: 5, lessThan: 20 } },
    }));

  test("pulls that all hang end at the limit, before any node is cordoned", () =>
    play({
      machine: { hangingPulls: 99 },
      expect: {
        error: [
          /could not pull \S+: waited 10m for installer .*Talos reports no error: the registry does not answer the machine/,
          /Talos reports no error.*nothing was drained/,
        ],
        minutes: { lessThan: 11 },
        kubernetesCalls: [],
      },
    }));

  test("a Talos release that cannot pull ahead is upgraded without a pull", () =>
    play({
      failingCalls: [{ call: "pull", problem: "unimplemented" }],
      expect: {
        result: { rebooted: true },
        machineCalls: [pullCall, "upgrade legacy"],
        logsNever: ["warning: "],
      },
    }));

  test("a connection that drops after Talos accepted the upgrade costs no second reboot", () =>
    play({
      failingCalls: [{ call: "upgrade", problem: "unreachable", takesEffect: true }],
      expect: {
        result: { rebooted: true, talosVersion: "v1.12.6" },
        machine: { boots: 2 },
        machineCalls: [pullCall, "upgrade legacy"],
      },
    }));

  test("a connection that drops before Talos accepted the upgrade makes the run ask again", () =>
    play({
      failingCalls: [{ call: "upgrade", problem: "unreachable" }],
      expect: {
        result: { rebooted: true, talosVersion: "v1.12.6" },
        machine: { boots: 2 },
        machineCalls: [pullCall, "upgrade legacy", "upgrade legacy"],
      },
    }));

  test("a connection that drops each time ends the run after three tries", () =>
    play({
      failingCalls: [{ call: "upgrade", problem: "unreachable", times: 99 }],
      expect: {
        error: ["the connection dropped 3 times"],
        machineCalls: [pullCall, "upgrade legacy", "upgrade legacy", "upgrade legacy"],
      },
    }));

  test.each([
    "version",
    "schematic",
    "configurations",
    "bootId",
    "read",
    "services",
    "status",
  ] as const)("two lost answers of %s change nothing in the result", (call) =>
    play({
      failingCalls: [{ call, problem: "unreachable", times: 2 }],
      expect: { result: { rebooted: true }, machine: { boots: 2 } },
    }),
  );

  test("a refused upgrade ends the run at once", () =>
    play({
      failingCalls: [{ call: "upgrade", problem: "refused" }],
      expect: { error: ["upgrade: refused"], minutes: { lessThan: 1 }, machine: { boots: 1 } },
    }));

  test("a rollback is reported as one", () =>
    play({
      machine: { rollback: true },
      expect: { error: ["Talos rolled back", "v1.12.4"], node: { unschedulable: true } },
    }));

  test("a boot that never completes ends the run at its limit, with Talos' own reason", () =>
    play({
      events: [
        { afterCall: "upgrade", machine: { unmet: ["services: EtcFileSpecs already exists"] } },
      ],
      expect: {
        error: ["it did not run within 30m", "EtcFileSpecs already exists"],
        minutes: { atLeast: 30, lessThan: 32 },
      },
    }));

  test("a machine that never comes back ends the run at its limit", () =>
    play({
      machine: { timing: { install: 40, boot: Infinity } },
      expect: {
        error: ["last: connection refused", "choose the other entry of the boot menu", "rollback"],
        minutes: { atLeast: 30, lessThan: 32 },
      },
    }));

  test("a machine that never comes back after a plain reboot gets no advice to roll back", () =>
    play({
      machine: {
        talosVersion: "v1.12.6",
        schematicId: schematics.gpu,
        timing: { install: 40, boot: Infinity },
      },
      expect: {
        error: ["look at its console, repair the cause"],
        errorLacks: ["rollback"],
        machineCalls: ["reboot"],
      },
    }));

  test("a machine that does not answer at all ends the run after five minutes", () =>
    play({
      machine: { down: true },
      workbench: { cluster: undefined },
      expect: { error: ["machines.gpu-1.address"], minutes: { atLeast: 5, lessThan: 5.01 } },
    }));
});

describe("refused before any change", () => {
  test("a downgrade", () =>
    play({
      task: { talosVersion: "v1.12.3" },
      expect: { error: ["newer than the wanted v1.12.3"], changesNothing: true },
    }));

  test("several minors at once, with the intermediate release to upgrade to first", () =>
    play({
      task: { talosVersion: "v1.14.0" },
      machine: { talosVersion: "v1.6.8" },
      workbench: { clientVersion: "v1.9.0" },
      expect: { error: ["8 minor releases", "v1.7 release first"], changesNothing: true },
    }));

  test("no kubeconfig for its drain", () =>
    play({
      workbench: { cluster: undefined },
      expect: { error: ["talos-gpu:kubeconfig"], changesNothing: true },
    }));

  const swappedAddresses = {
    nodes: async () => [
      { name: "gpu-1", bootId: "boot-7", addresses: ["10.0.0.2"], kubelet: "" },
      { name: "gpu-2", bootId: "boot-1", addresses: ["10.0.0.1"], kubelet: "" },
    ],
  };
  test("a machine whose address belongs to another node than the one to drain", () =>
    play({
      cluster: swappedAddresses,
      expect: {
        error: ["machines.gpu-1.address: the machine at 10.0.0.1 is node gpu-2"],
        changesNothing: true,
      },
    }));

  test("an owned machine whose address belongs to another node than the one to drain", () =>
    play({
      task: { configuration: "owned" },
      cluster: swappedAddresses,
      expect: {
        error: ["machines.gpu-1.address: the machine at 10.0.0.1 is node gpu-2"],
        changesNothing: true,
      },
    }));

  test("not an owned machine whose node gets its name in this update", () =>
    play({
      task: { configuration: "owned" },
      cluster: {
        nodes: async () => [
          { name: "talos-abc-123", bootId: "boot-1", addresses: ["10.0.0.1"], kubelet: "" },
        ],
      },
      expect: { result: { rebooted: true }, machineCalls: [pullCall, "upgrade legacy"] },
    }));

  test("a talosctl that is too old", () =>
    play({
      workbench: { clientVersion: "v1.9.0" },
      expect: { error: ["talosctl:"], changesNothing: true },
    }));

  test("a talosctl that is too new", () =>
    play({
      workbench: { clientVersion: "v1.16.0" },
      expect: { error: ["talosctl:"], changesNothing: true },
    }));

  test("a talosctl without a version", () =>
    play({
      workbench: { clientVersion: "none" },
      expect: { error: ["talosctl:"], changesNothing: true },
    }));

  test("a control plane of two etcd members, with a learner, an alarm and others down: all findings at once", () =>
    play({
      task: { role: "controlplane" },
      machine: {
        members: [
          { id: "1", hostname: "cp-1", learner: false, urls: ["https://10.0.0.1:2380"] },
          { id: "2", hostname: "cp-2", learner: true, urls: ["https://10.0.0.2:2380"] },
        ],
        etcdComplaints: ["NOSPACE"],
      },
      otherControlPlanes: { "10.0.0.2": { stageName: "upgrading" }, "10.0.0.3": { down: true } },
      expect: {
        error: [
          "etcd has two members",
          "cp-2 is a learner",
          "NOSPACE",
          "10.0.0.2 is in stage upgrading",
          "10.0.0.3 does not answer",
        ],
        changesNothing: true,
      },
    }));

  test("not a worker, whatever state its etcd has", () =>
    play({
      machine: { members: [], etcdComplaints: ["NOSPACE"] },
      expect: { result: { rebooted: true }, machineCalls: [pullCall, "upgrade legacy"] },
    }));

  test("not a machine whose cluster cannot list its nodes", () =>
    play({
      cluster: { nodes: failing("unreachable", "Kubernetes: nodes: forbidden") },
      expect: {
        result: { rebooted: true },
        logs: [/precheck: not known whether the machine is node gpu-1 \(.*forbidden/],
      },
    }));

  test("not a machine whose kubeconfig may not list nodes", () =>
    play({
      cluster: { nodes: failing("refused", "Kubernetes: nodes: forbidden") },
      expect: {
        result: { rebooted: true },
        logs: [/precheck: not known whether the machine is node gpu-1 \(.*forbidden/],
      },
    }));
});

describe("pods that are evicted", () => {
  test("the losses of a pod are logged once; the error names each pod that stays and whose budget holds it", () =>
    play({
      cluster: {
        podList: [
          pod("shell"),
          pod("db", { controller: "StatefulSet" }),
          pod("web", { controller: "ReplicaSet" }),
        ],
        budgets: {
          db: "The disruption budget db-1 needs 3 healthy pods and has 3 currently",
          web: "The disruption budget web-1 needs 1 healthy pods and has 1 currently",
        },
      },
      expect: {
        logsOnce: ["default/shell has no controller"],
        error: [
          /^.*pod default\/db did not end within 5m: .*the owner of the disruption budget default\/db-1 must.*\n/,
          /^.*\n.*pod default\/web .*default\/web-1 must.*kubectl uncordon gpu-1.*$/,
        ],
      },
    }));

  test("a pod that is terminating already is not evicted again", () =>
    play({
      cluster: { podList: [pod("going", { terminating: true }), pod("app")] },
      events: [{ atSecond: 60, deletedPod: "going" }],
      expect: { result: { rebooted: true }, kubernetesCalls: ["cordon", "evict app", "uncordon"] },
    }));

  test("a pod whose eviction got no answer is not reported as terminating", () =>
    play({
      cluster: {
        podList: [pod("app")],
        failing: { app: new CallError("unreachable", "Kubernetes: connection refused") },
      },
      expect: {
        error: [
          "pod default/app did not end within 5m: the update could not request its eviction " +
            "(last: Kubernetes: connection refused); ",
          /connection refused\); .*check that the Kubernetes API answers/,
        ],
      },
    }));
});

describe("an image that is installed and waits for its boot", () => {
  const to113 = { talosVersion: "v1.13.1" };
  test("if the answer to the upgrade is lost, the same run boots it and does not overwrite the running image", () =>
    play({
      task: to113,
      machine: { talosVersion: "v1.13.0", cutOff: true },
      expect: {
        result: { rebooted: true, talosVersion: "v1.13.1" },
        machineCalls: [`pull ${factoryImage("v1.13.1")}`, "upgrade lifecycle", "reboot"],
        imageOnDisk: `${schematics.plain}:v1.13.0`,
      },
    }));

  test("an unwanted image that waits for its boot stops the run before any change, with a remedy", () =>
    play({
      task: to113,
      machine: {
        talosVersion: "v1.13.0",
        lines: [
          `starting upgrade: installer_image=${factoryImage("v1.13.1", schematics.other)}, disk=/dev/vda`,
          "upgrade completed successfully: exit_code=0",
        ],
      },
      expect: {
        error: [
          `boots next: ${factoryImage("v1.13.1", schematics.other)}`,
          "talosctl -n 10.0.0.1 rollback",
        ],
        changesNothing: true,
      },
    }));

  test("an unwanted image that waits for its boot gets a warning on a machine that is up to date", () =>
    play({
      task: to113,
      machine: {
        talosVersion: "v1.13.1",
        schematicId: schematics.gpu,
        active: STAGED,
        lines: [
          "starting upgrade: installer_image=other:v1.13.1, disk=/dev/vda",
          "upgrade completed: exit_code=0",
        ],
      },
      expect: {
        result: { rebooted: false },
        logs: [
          "warning: gpu-1: the next boot starts a different image, which is already installed: other:v1.13.1",
        ],
      },
    }));

  test("the run waits until the machine is ready, since Talos confirms the upgrade only then", () =>
    play({ machine: { readyAfter: 100 }, expect: { phaseSeconds: { reboot: 280 } } }));

  test("a machine that never becomes ready gets a warning about its next reboot", () =>
    play({
      machine: { readyAfter: Infinity },
      expect: {
        result: { rebooted: true },
        logs: [/^warning: gpu-1: it runs but is not ready; Talos confirms an upgrade once/],
        minutes: { lessThan: 12 },
      },
    }));
});

describe("state that an earlier run left", () => {
  const controlPlane: UpgradeRun["task"] = { role: "controlplane" };
  const asWanted = { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED };
  test("a node that an earlier run cordoned is uncordoned once Kubernetes answers, without an upgrade", () =>
    play({
      task: controlPlane,
      machine: asWanted,
      cluster: {
        unreachable: true,
        state: nodeState({
          unschedulable: true,
          annotations: { "talos-gpu/cordoned-by": "talos-gpu" },
        }),
      },
      events: [{ atSecond: 90, cluster: { unreachable: false } }],
      expect: {
        result: { rebooted: false },
        machineCalls: [],
        node: { unschedulable: false, annotations: {} },
      },
    }));

  test("a node without a cordon is left alone once Kubernetes answers", () =>
    play({
      task: controlPlane,
      machine: asWanted,
      cluster: { unreachable: true },
      events: [{ atSecond: 90, cluster: { unreachable: false } }],
      expect: { result: { rebooted: false }, changesNothing: true, logs: [/^equal: /] },
    }));

  test("the run fails at its limit if Kubernetes never answers whether the node is cordoned", () =>
    play({
      task: controlPlane,
      machine: asWanted,
      cluster: { unreachable: true },
      expect: {
        error: [
          /^machines\.gpu-1: Kubernetes did not answer within 5m .*, so it is unknown whether /,
          /within 5m .*takes no pods; make sure that `kubectl get node gpu-1` answers/,
        ],
        minutes: { atLeast: 5, lessThan: 5.01 },
      },
    }));

  test("the next update removes the stack's mark from a node that the user uncordoned, so a later cordon counts as the user's", () =>
    play(
      {
        machine: asWanted,
        cluster: { state: nodeState({ annotations: { "talos-gpu/cordoned-by": schematics.gpu } }) },
        expect: { result: { rebooted: false }, kubernetesCalls: ["unmark"], logs: [/^equal: /] },
      },
      {
        cluster: { state: nodeState({ unschedulable: true }) },
        expect: { node: { unschedulable: true, annotations: {} } },
      },
    ));

  test("a node that the user uncordoned is not reported as cordoned when the next update fails", () =>
    play({
      task: { talosVersion: "v1.12.3" },
      cluster: { state: nodeState({ annotations: { "talos-gpu/cordoned-by": schematics.gpu } }) },
      expect: { error: ["newer than the wanted v1.12.3"], logsNever: ["stays cordoned"] },
    }));

  test("after the printed commands that abandon an update, a node that the user cordons stays cordoned", () =>
    play(
      {
        failingCalls: [{ call: "upgrade", problem: "refused" }],
        expect: {
          error: ["upgrade: refused"],
          logs: [
            /^node gpu-1 stays cordoned.*; to abandon the upgrade, run `kubectl uncordon gpu-1 && .*`$/,
            "to abandon the upgrade, run `kubectl uncordon gpu-1 && kubectl annotate node gpu-1 talos-gpu/cordoned-by-`",
          ],
        },
      },
      {
        cluster: { state: nodeState({ unschedulable: true }) },
        expect: { node: { unschedulable: true, annotations: {} } },
      },
    ));

  // The second schematic brings an argument, and its driver does not come up.
  const withArgument: Partial<FakeMachine> = {
    driverWorks: true,
    running: {
      schematic: "customization:\n    extraKernelArgs:\n        - iommu=pt\n",
      extensions: {},
      configuredArgs: [],
      platform: "metal",
    },
  };
  test("the next edit may remove parts of the image that a failed update brought", () =>
    play(
      { machine: { driverWorks: false }, expect: { error: ["no NVIDIA driver is loaded"] } },
      {
        machine: withArgument,
        task: { schematicId: schematics.other },
        previousResult: { schematicId: schematics.plain },
        expect: { result: { rebooted: true }, machine: { schematicId: schematics.other } },
      },
    ));

  test("parts of the image that a failed update brought may be removed after another, rolled back edit", () =>
    play(
      { machine: { driverWorks: false }, expect: { error: ["no NVIDIA driver is loaded"] } },
      {
        machine: { ...withArgument, rollback: true },
        task: { schematicId: "c".repeat(64) },
        previousResult: { schematicId: schematics.plain },
        expect: { error: ["rolled back"] },
      },
      {
        machine: { rollback: false },
        task: { schematicId: schematics.other },
        previousResult: { schematicId: schematics.plain },
        expect: { result: { rebooted: true } },
      },
    ));

  test("if a failed update's annotation is gone from the node, the image parts that it added count as the user's", () =>
    play(
      { machine: { driverWorks: false }, expect: { error: ["no NVIDIA driver is loaded"] } },
      {
        machine: withArgument,
        cluster: { state: nodeState({ unschedulable: true }) },
        task: { schematicId: schematics.other },
        previousResult: { schematicId: schematics.plain },
        expect: {
          error: ["kernel was started with iommu=pt"],
          machine: { schematicId: schematics.gpu },
        },
      },
    ));
});
