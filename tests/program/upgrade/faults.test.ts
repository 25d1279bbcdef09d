import { CallError } from "../../../components/clients/failure";
import { factoryImage, failsWith, type FakeMachine, nodeState, pod, schematics } from "../fakes";
import { STAGED } from "../setup";
import { runUpgrade, type UpgradeRun } from "./scenario";

// Runs of the upgrade program during which a fault occurs.

const budget = "Cannot evict pod as it would violate the pod's disruption budget.";
const pullCall = `pull ${factoryImage("v1.12.6")}`;

describe("an upgrade", () => {
  test("fails before any reboot if a disruption budget blocks an eviction, and leaves the node cordoned", () =>
    runUpgrade({
      cluster: { podList: [pod("db"), pod("app")], evictionRefusals: { db: budget } },
      expect: {
        error: [`pod default/db did not end within 5m: ${budget}`, "node gpu-1 stays cordoned"],
        errorLacks: ["default/app"],
        machineCalls: [pullCall],
        node: { annotations: { "talos-gpu/cordoned-by": schematics.gpu } },
        minutes: { lessThan: 6 },
      },
    }));

  test("on a node that is not ready, continues once the eviction of each pod is accepted", () =>
    runUpgrade({
      cluster: { state: nodeState({ ready: false }), podList: [pod("app")] },
      events: [{ afterCall: "upgrade", seconds: 180, node: { ready: true } }],
      expect: { result: { rebooted: true }, kubernetesCalls: ["cordon", "evict app", "uncordon"] },
    }));

  test("also fails on a node that is not ready if a disruption budget blocks an eviction", () =>
    runUpgrade({
      cluster: {
        state: nodeState({ ready: false }),
        podList: [pod("db")],
        evictionRefusals: { db: "Cannot evict pod" },
      },
      expect: { error: ["pod default/db did not end within 5m: Cannot evict pod"] },
    }));

  test("waits in its drain until the volumes of the evicted pods are detached", () =>
    runUpgrade({
      cluster: { volumes: ["pvc-1"] },
      events: [{ atSecond: 60, cluster: { volumes: [] } }],
      expect: {
        result: { rebooted: true },
        phaseSeconds: { drain: 60 },
        logs: ["node gpu-1 is drained"],
        logsNever: ["still attached"],
      },
    }));

  test("continues with a warning if volumes stay attached for two minutes", () =>
    runUpgrade({
      cluster: { volumes: ["pvc-2"] },
      expect: {
        result: { rebooted: true },
        phaseSeconds: { drain: 119 },
        logs: ["warning: volumes are still attached to it (pvc-2)"],
      },
    }));

  test("fails before it cordons the node if the installer cannot be pulled", () =>
    runUpgrade({
      failingCalls: [{ call: "pull", problem: "refused" }],
      expect: {
        error: [`machines.gpu-1: the machine could not pull ${factoryImage("v1.12.6")}`],
        kubernetesCalls: [],
      },
    }));

  test("ends a hanging pull after half of the limit, and pulls again", () =>
    runUpgrade({
      machine: { hangingPulls: 1 },
      expect: { result: { rebooted: true }, minutes: { atLeast: 5, lessThan: 20 } },
    }));

  test("fails at the limit of the pull, before it cordons the node, if every pull hangs", () =>
    runUpgrade({
      machine: { hangingPulls: 99 },
      expect: {
        error: [
          /could not pull \S+: waited 10m for installer .*Talos reports no error: the registry does not answer the machine/,
          /Talos reports no error.*the update stopped before the drain/,
        ],
        minutes: { lessThan: 11 },
        kubernetesCalls: [],
      },
    }));

  test("needs no pull if the Talos release cannot pull ahead", () =>
    runUpgrade({
      failingCalls: [{ call: "pull", problem: "unimplemented" }],
      expect: {
        result: { rebooted: true },
        machineCalls: [pullCall, "upgrade legacy"],
        logsNever: ["warning: "],
      },
    }));

  test("reboots once if the connection drops after Talos accepted the request", () =>
    runUpgrade({
      failingCalls: [{ call: "upgrade", problem: "unreachable", takesEffect: true }],
      expect: {
        result: { rebooted: true, talosVersion: "v1.12.6" },
        machine: { bootCount: 2 },
        machineCalls: [pullCall, "upgrade legacy"],
      },
    }));

  test("is requested again if the connection drops before Talos accepted the request", () =>
    runUpgrade({
      failingCalls: [{ call: "upgrade", problem: "unreachable" }],
      expect: {
        result: { rebooted: true, talosVersion: "v1.12.6" },
        machine: { bootCount: 2 },
        machineCalls: [pullCall, "upgrade legacy", "upgrade legacy"],
      },
    }));

  test("fails after three requests if the connection drops each time", () =>
    runUpgrade({
      failingCalls: [{ call: "upgrade", problem: "unreachable", times: 99 }],
      expect: {
        error: ["the connection dropped 3 times", "it is unknown whether the machine runs"],
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
  ] as const)("succeeds with one reboot if two answers to %s are lost", (call) =>
    runUpgrade({
      failingCalls: [{ call, problem: "unreachable", times: 2 }],
      expect: { result: { rebooted: true }, machine: { bootCount: 2 } },
    }),
  );

  test("fails at once if Talos refuses the request", () =>
    runUpgrade({
      failingCalls: [{ call: "upgrade", problem: "refused" }],
      expect: {
        error: [
          "upgrade: refused",
          "the machine still runs the image that it ran before the request",
        ],
        minutes: { lessThan: 1 },
        machine: { bootCount: 1 },
      },
    }));

  test("does not say which image runs if the machine rebooted by itself and does not come up", () =>
    runUpgrade({
      events: [{ afterCall: "cordon", restarts: 1, machine: { stageName: "booting" } }],
      expect: {
        error: ["did not run within", "it is unknown whether the machine runs the wanted image"],
        errorLacks: ["the machine still runs"],
      },
    }));

  test("fails with a report of the rollback if Talos rolls back", () =>
    runUpgrade({
      machine: { rollsBack: true },
      expect: { error: ["Talos rolled back", "v1.12.4"], node: { unschedulable: true } },
    }));

  test("fails at its limit with Talos' reason if the boot never completes", () =>
    runUpgrade({
      events: [
        {
          afterCall: "upgrade",
          machine: { unmetConditions: ["services: EtcFileSpecs already exists"] },
        },
      ],
      expect: {
        error: ["the machine did not run within 30m", "EtcFileSpecs already exists"],
        minutes: { atLeast: 30, lessThan: 32 },
      },
    }));

  test("fails at its limit, with advice to roll back, if the machine never answers again", () =>
    runUpgrade({
      machine: { timing: { install: 40, boot: Infinity } },
      expect: {
        error: [
          "last: connection refused",
          "choose the other Talos release or image in the boot menu",
          "rollback",
        ],
        minutes: { atLeast: 30, lessThan: 32 },
      },
    }));

  test("gives no advice to roll back if the machine never answers again after a reboot without a new image", () =>
    runUpgrade({
      machine: {
        talosVersion: "v1.12.6",
        schematicId: schematics.gpu,
        timing: { install: 40, boot: Infinity },
      },
      expect: {
        error: ["look at the machine's console, repair the cause"],
        errorLacks: ["rollback"],
        machineCalls: ["reboot"],
      },
    }));

  test("fails after five minutes if the machine never answers", () =>
    runUpgrade({
      machine: { isDown: true },
      context: { cluster: undefined },
      expect: { error: ["machines.gpu-1.address"], minutes: { atLeast: 5, lessThan: 5.01 } },
    }));
});

describe("before any change, the upgrade program", () => {
  test("refuses a downgrade", () =>
    runUpgrade({
      task: { talosVersion: "v1.12.3" },
      expect: { error: ["newer than the wanted v1.12.3"], changesNothing: true },
    }));

  test("refuses an upgrade through an unknown minor, and names the release to upgrade to first", () =>
    runUpgrade({
      task: { talosVersion: "v1.14.0" },
      machine: { talosVersion: "v1.6.8" },
      context: { clientVersion: "v1.9.0" },
      expect: { error: ["8 minor releases", "v1.7 release first"], changesNothing: true },
    }));

  test("refuses an upgrade with a drain but without a kubeconfig", () =>
    runUpgrade({
      task: { drain: true },
      context: { cluster: undefined },
      expect: { error: ["talos-gpu:kubeconfig"], machineCalls: [] },
    }));

  const swappedAddresses = {
    nodes: async () => [
      { name: "gpu-1", bootId: "boot-7", addresses: ["10.0.0.2"], kubelet: "", silent: false },
      { name: "gpu-2", bootId: "boot-1", addresses: ["10.0.0.1"], kubelet: "", silent: false },
    ],
  };
  test("refuses a machine whose address belongs to another node", () =>
    runUpgrade({
      cluster: swappedAddresses,
      expect: {
        error: ["machines.gpu-1.address: the machine at 10.0.0.1 is node gpu-2"],
        changesNothing: true,
      },
    }));

  test("refuses an owned machine whose address belongs to another node", () =>
    runUpgrade({
      task: { configuration: "owned" },
      cluster: swappedAddresses,
      expect: {
        error: ["machines.gpu-1.address: the machine at 10.0.0.1 is node gpu-2"],
        changesNothing: true,
      },
    }));

  test("accepts an owned machine whose node gets its name in this update", () =>
    runUpgrade({
      task: { configuration: "owned" },
      cluster: {
        nodes: async () => [
          {
            name: "talos-abc-123",
            bootId: "boot-1",
            addresses: ["10.0.0.1"],
            kubelet: "",
            silent: false,
          },
        ],
      },
      expect: { result: { rebooted: true }, machineCalls: [pullCall, "upgrade legacy"] },
    }));

  test("refuses a talosctl that is too old", () =>
    runUpgrade({
      context: { clientVersion: "v1.9.0" },
      expect: {
        error: ["this talosctl lacks methods that the machine expects"],
        changesNothing: true,
      },
    }));

  test("refuses a talosctl that is too new", () =>
    runUpgrade({
      context: { clientVersion: "v1.16.0" },
      expect: {
        error: ["this talosctl calls methods that the machine does not have"],
        changesNothing: true,
      },
    }));

  test("refuses a talosctl without a version", () =>
    runUpgrade({
      context: { clientVersion: "none" },
      expect: {
        error: ["the update cannot check whether this talosctl works with the machine"],
        changesNothing: true,
      },
    }));

  test("reports all faults of etcd and of the other control planes in one error", () =>
    runUpgrade({
      task: { role: "controlplane" },
      machine: {
        members: [
          { id: "1", hostname: "cp-1", learner: false, urls: ["https://10.0.0.1:2380"] },
          { id: "2", hostname: "cp-2", learner: true, urls: ["https://10.0.0.2:2380"] },
        ],
        reportedEtcdProblems: ["NOSPACE"],
      },
      otherControlPlanes: { "10.0.0.2": { stageName: "upgrading" }, "10.0.0.3": { isDown: true } },
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

  test("accepts a worker without checking etcd", () =>
    runUpgrade({
      machine: { members: [], reportedEtcdProblems: ["NOSPACE"] },
      expect: { result: { rebooted: true }, machineCalls: [pullCall, "upgrade legacy"] },
    }));

  test("accepts a machine if the Kubernetes API does not answer, and logs what is unknown", () =>
    runUpgrade({
      cluster: { nodes: failsWith("unreachable", "Kubernetes: nodes: forbidden") },
      expect: {
        result: { rebooted: true },
        logs: [/precheck: not known whether the machine is node gpu-1 \(.*forbidden/],
      },
    }));

  test("accepts a machine if the user may not list nodes, and logs what is unknown", () =>
    runUpgrade({
      cluster: { nodes: failsWith("refused", "Kubernetes: nodes: forbidden") },
      expect: {
        result: { rebooted: true },
        logs: [/precheck: not known whether the machine is node gpu-1 \(.*forbidden/],
      },
    }));
});

describe("the drain of an upgrade", () => {
  test("logs once that a pod has no controller, and its error has a line for each pod that stays, with the disruption budget", () =>
    runUpgrade({
      cluster: {
        podList: [
          pod("shell"),
          pod("db", { controller: "StatefulSet" }),
          pod("web", { controller: "ReplicaSet" }),
        ],
        evictionRefusals: {
          db: "The disruption budget db-1 needs 3 healthy pods and has 3 currently",
          web: "The disruption budget web-1 needs 1 healthy pods and has 1 currently",
        },
      },
      expect: {
        logsOnce: ["default/shell has no controller"],
        error: ["kubectl uncordon gpu-1"],
        errorLines: [
          /pod default\/db did not end within 5m: .*the owner of the disruption budget default\/db-1 must/,
          /pod default\/web .*the owner of the disruption budget default\/web-1 must/,
        ],
      },
    }));

  test("does not evict a pod that is already terminating", () =>
    runUpgrade({
      cluster: { podList: [pod("going", { terminating: true }), pod("app")] },
      events: [{ atSecond: 60, deletedPod: "going" }],
      expect: { result: { rebooted: true }, kubernetesCalls: ["cordon", "evict app", "uncordon"] },
    }));

  test("does not report a pod as terminating if the request for its eviction got no answer", () =>
    runUpgrade({
      cluster: {
        podList: [pod("app")],
        evictionErrors: { app: new CallError("unreachable", "Kubernetes: connection refused") },
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

describe("an installed image whose boot is pending", () => {
  const taskTo113 = { talosVersion: "v1.13.1" };
  test.each([
    { runningVersion: "v1.13.0", nextVersion: "v1.13.1", log: "the console" },
    { runningVersion: "v1.14.0", nextVersion: "v1.14.1", log: "machined's log" },
  ])(
    "of Talos $nextVersion is found in $log if the answer to the upgrade was lost; the same run boots it, without a second installation",
    ({ runningVersion, nextVersion }) =>
      runUpgrade({
        task: { talosVersion: nextVersion },
        context: { clientVersion: nextVersion },
        machine: { talosVersion: runningVersion, connectionBreaksInUpgrade: true },
        expect: {
          result: { rebooted: true, talosVersion: nextVersion },
          machineCalls: [`pull ${factoryImage(nextVersion)}`, "upgrade lifecycle", "reboot"],
          imageOnDisk: `${schematics.plain}:${runningVersion}`,
        },
      }),
  );

  test("stops the run before any change, with a remedy, if it is not the wanted image", () =>
    runUpgrade({
      task: taskTo113,
      machine: {
        talosVersion: "v1.13.0",
        consoleLines: [
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

  // Seen on Talos v1.14.1: its console is silent about an installation, and machined's log names the image.
  test("stops the run before any change, too, if only machined's log names it", () =>
    runUpgrade({
      task: { talosVersion: "v1.14.1" },
      context: { clientVersion: "v1.14.1" },
      machine: {
        talosVersion: "v1.14.0",
        machinedLines: [
          `starting upgrade {"component": "machined", "service": "lifecycle", "installer_image": "${factoryImage("v1.14.1", schematics.other)}", "disk": "/dev/vda"}`,
          'upgrade completed {"component": "machined", "service": "lifecycle", "exit_code": 0}',
        ],
      },
      expect: {
        error: [`boots next: ${factoryImage("v1.14.1", schematics.other)}`],
        changesNothing: true,
      },
    }));

  test("causes a warning if it is not the wanted image and the machine is up to date", () =>
    runUpgrade({
      task: taskTo113,
      machine: {
        talosVersion: "v1.13.1",
        schematicId: schematics.gpu,
        active: STAGED,
        consoleLines: [
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

  test("is confirmed by Talos when the machine is ready, so the run waits until then", () =>
    runUpgrade({ machine: { secondsUntilReady: 100 }, expect: { phaseSeconds: { reboot: 280 } } }));

  test("causes a warning that a failing boot would roll the image back, if the machine never becomes ready", () =>
    runUpgrade({
      machine: { secondsUntilReady: Infinity },
      expect: {
        result: { rebooted: true },
        logs: [
          /^warning: gpu-1: the machine runs but is not ready; Talos confirms an upgrade once.*rolls back/,
        ],
        minutes: { lessThan: 12 },
      },
    }));
});

describe("state that an earlier run left", () => {
  const nothingToDo = "the machine runs the wanted image and configuration, nothing to do";
  const controlPlane: UpgradeRun["task"] = { role: "controlplane" };
  const upToDateMachine = { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED };
  test("a node that an earlier run cordoned is uncordoned once Kubernetes answers, without an upgrade", () =>
    runUpgrade({
      task: controlPlane,
      machine: upToDateMachine,
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
    runUpgrade({
      task: controlPlane,
      machine: upToDateMachine,
      cluster: { unreachable: true },
      events: [{ atSecond: 90, cluster: { unreachable: false } }],
      expect: { result: { rebooted: false }, changesNothing: true, logs: [nothingToDo] },
    }));

  test("the run fails at its limit if it cannot learn from Kubernetes whether the node is cordoned", () =>
    runUpgrade({
      task: controlPlane,
      machine: upToDateMachine,
      cluster: { unreachable: true },
      expect: {
        error: [
          /^machines\.gpu-1: Kubernetes did not answer within 5m .*, so it is unknown whether /,
          /within 5m .*gets no pods; make sure that `kubectl get node gpu-1` answers/,
        ],
        minutes: { atLeast: 5, lessThan: 5.01 },
      },
    }));

  test("after an update of a node that the user uncordoned, an update no longer undoes the user's own cordon", () =>
    runUpgrade(
      {
        machine: upToDateMachine,
        cluster: { state: nodeState({ annotations: { "talos-gpu/cordoned-by": schematics.gpu } }) },
        expect: {
          result: { rebooted: false },
          kubernetesCalls: ["removeAnnotation"],
          node: { unschedulable: false, annotations: {} },
          logs: [nothingToDo],
        },
      },
      {
        node: { unschedulable: true },
        expect: { changesNothing: true, node: { unschedulable: true, annotations: {} } },
      },
    ));

  test("a node that the user uncordoned is not reported as cordoned when the next update fails", () =>
    runUpgrade({
      task: { talosVersion: "v1.12.3" },
      cluster: { state: nodeState({ annotations: { "talos-gpu/cordoned-by": schematics.gpu } }) },
      expect: { error: ["newer than the wanted v1.12.3"], logsNever: ["stays cordoned"] },
    }));

  test("if the user abandons an update by its printed command, a node that the user cordons later stays cordoned", () =>
    runUpgrade(
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
        // The user has run the command, and has cordoned the node since then.
        node: { unschedulable: true, annotations: {} },
        expect: { node: { unschedulable: true, annotations: {} } },
      },
    ));

  // The second schematic has another kernel argument, and its driver does not load.
  const machineWithArgument: Partial<FakeMachine> = {
    driverWorks: true,
    runningImage: {
      schematic: "customization:\n    extraKernelArgs:\n        - iommu=pt\n",
      extensions: {},
      configuredArgs: [],
      platform: "metal",
    },
  };
  test("the next edit may remove parts of the image that a failed update added", () =>
    runUpgrade(
      { machine: { driverWorks: false }, expect: { error: ["no NVIDIA driver is loaded"] } },
      {
        machine: machineWithArgument,
        task: { schematicId: schematics.other },
        previousResult: { schematicId: schematics.plain },
        expect: { result: { rebooted: true }, machine: { schematicId: schematics.other } },
      },
    ));

  test("parts of the image that a failed update added may be removed, also after another edit that was rolled back", () =>
    runUpgrade(
      { machine: { driverWorks: false }, expect: { error: ["no NVIDIA driver is loaded"] } },
      {
        machine: { ...machineWithArgument, rollsBack: true },
        task: { schematicId: "c".repeat(64) },
        previousResult: { schematicId: schematics.plain },
        expect: { error: ["rolled back"] },
      },
      {
        machine: { rollsBack: false },
        task: { schematicId: schematics.other },
        previousResult: { schematicId: schematics.plain },
        expect: { result: { rebooted: true } },
      },
    ));

  test("if a failed update's annotation is gone from the node, the image parts that it added count as the user's", () =>
    runUpgrade(
      { machine: { driverWorks: false }, expect: { error: ["no NVIDIA driver is loaded"] } },
      {
        machine: machineWithArgument,
        node: { annotations: {} },
        task: { schematicId: schematics.other },
        previousResult: { schematicId: schematics.plain },
        expect: {
          error: ["kernel was started with iommu=pt"],
          machine: { schematicId: schematics.gpu },
        },
      },
    ));
});
