import { factoryImage, failsWith, nodeState, pod, schematics } from "../fakes";
import { STAGED } from "../setup";
import { pausedBoot, rebootEndsPause } from "./paused-boot";
import { type Event, runUpgrade, type UpgradeRun } from "./scenario";

// Boots that Talos does not complete.

const kubeletFails =
  "the kubelet fails at every start (unknown service runtime.v1.RuntimeService), and Talos waits 70 minutes for the kubelet";

describe("after an upgrade", () => {
  test("a paused boot ends the run at once if its pause outlasts the limit", () =>
    runUpgrade({
      machine: { unmetConditions: ["services"] },
      events: [
        {
          afterCall: "upgrade",
          machine: {
            bootProblems: ["writeUserFiles failed, rebooting in 35 minutes: already exists"],
          },
        },
      ],
      expect: {
        error: [
          "machines.gpu-1: its boot does not go on: writeUserFiles failed",
          "edit machineconfig",
        ],
        minutes: { lessThan: 5 },
      },
    }));

  test("a boot whose kubelet always fails ends the run at once", () =>
    runUpgrade({
      machine: { unmetConditions: ["services"] },
      events: [{ afterCall: "upgrade", machine: { bootProblems: [kubeletFails] } }],
      expect: {
        error: [
          "machines.gpu-1: its boot does not go on: the kubelet fails at every start",
          "unknown service",
          "edit machineconfig",
        ],
        minutes: { lessThan: 5 },
      },
    }));

  const pausesAfterUpgrade: Event = {
    afterCall: "upgrade",
    machine: { bootProblems: ["writeUserFiles failed, rebooting in 5 minutes: already exists"] },
  };
  test("a paused boot is logged first, and ends the run if the next boot pauses too", () =>
    runUpgrade({
      machine: { unmetConditions: ["services"] },
      events: [pausesAfterUpgrade, { atSecond: 600, restarts: 1 }],
      expect: {
        error: ["its boot does not go on"],
        logsOnce: ["its boot does not go on"],
        minutes: { lessThan: 11 },
      },
    }));

  test("a paused boot is named as the reason if Talos then runs the old image again", () =>
    runUpgrade({
      machine: { unmetConditions: ["services"] },
      events: [
        pausesAfterUpgrade,
        {
          atSecond: 600,
          machine: {
            bootProblems: [],
            stageName: "running",
            talosVersion: "v1.12.4",
            schematicId: schematics.plain,
          },
          restarts: 1,
        },
      ],
      expect: {
        error: [
          /Talos rolled back: .*the boot of the new image failed \(its boot does not go on: writeUserFiles/,
        ],
        errorLacks: ["another tool"],
      },
    }));

  test("a paused boot is waited for, and the run goes on if the user corrects the configuration meanwhile", () =>
    runUpgrade({
      machine: { unmetConditions: ["services"] },
      events: [
        pausesAfterUpgrade,
        { atSecond: 600, machine: { bootProblems: [], stageName: "running" }, restarts: 1 },
      ],
      expect: {
        result: { rebooted: true },
        machineCalls: [`pull ${factoryImage("v1.12.6")}`, "upgrade legacy"],
        logsOnce: ["its boot does not go on"],
      },
    }));
});

// The pods of the machine are already terminating, and a reboot ends the pause.
describe("a boot that is paused before the run", () => {
  const ownImage = `registry.example.com/own/${schematics.gpu}:v1.12.6`;
  const ownImageTask: UpgradeRun["task"] = {
    ownImage: true,
    installerImage: ownImage,
    schematicId: schematics.other,
  };
  /** A staged configuration with this image as its installer. */
  const configurationWithOwnImage = `${STAGED}  install: { image: ${ownImage} }\n`;
  /** The node is not ready, so its pod stays until the next boot. */
  const clusterWithNodeNotReady: UpgradeRun["cluster"] = {
    state: nodeState({ ready: false }),
    podList: [pod("app", { terminating: true })],
  };
  /** The same cluster, if this machine serves the Kubernetes API. */
  const clusterServedByMachine: UpgradeRun["cluster"] = {
    ...clusterWithNodeNotReady,
    servedByMachine: true,
    nodes: failsWith("unreachable", "Kubernetes: nodes: ECONNRESET"),
  };

  test("ends the run at once if no other configuration is staged", () =>
    runUpgrade({
      machine: pausedBoot,
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        error: ["machines.gpu-1: its boot does not go on: writeUserFiles failed"],
        minutes: { lessThan: 1 },
        changesNothing: true,
      },
    }));

  test("gets a corrected configuration by a reboot", () =>
    runUpgrade({
      machine: { ...pausedBoot, persistent: STAGED },
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot"],
        node: { unschedulable: false },
        minutes: { lessThan: 12 },
      },
    }));

  test("gets a corrected configuration by a reboot before it is upgraded to the wanted image", () =>
    runUpgrade({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        talosVersion: "v1.12.4",
        schematicId: schematics.plain,
      },
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot", `pull ${factoryImage("v1.12.6")}`, "upgrade legacy"],
        node: { unschedulable: false },
        minutes: { lessThan: 12 },
      },
    }));

  test("gets a staged configuration with the user's own image, which is then installed without a report of a rollback", () =>
    runUpgrade({
      task: ownImageTask,
      machine: {
        ...pausedBoot,
        persistent: configurationWithOwnImage,
        talosVersion: "v1.12.4",
        schematicId: schematics.plain,
      },
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        machineCalls: ["reboot", `pull ${ownImage}`, "upgrade legacy"],
        logsNever: ["Talos rolled back"],
      },
    }));

  test("gets a staged configuration with the user's own image of the running release, which is then installed", () =>
    runUpgrade({
      task: ownImageTask,
      machine: {
        ...pausedBoot,
        persistent: configurationWithOwnImage,
        talosVersion: "v1.12.6",
        schematicId: schematics.plain,
      },
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true, driverVersion: "570.211.01" },
        machineCalls: ["reboot", `pull ${ownImage}`, "upgrade legacy"],
      },
    }));

  test("is followed by a second installation of the user's own image if Talos may have rolled back", () =>
    runUpgrade({
      task: ownImageTask,
      machine: {
        ...pausedBoot,
        active: configurationWithOwnImage,
        persistent: `${configurationWithOwnImage}  sysctls: {}\n`,
        talosVersion: "v1.12.6",
        schematicId: schematics.plain,
      },
      unconfirmedUpgradeTo: "v1.12.6",
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true, driverVersion: "570.211.01" },
        machineCalls: ["reboot", `pull ${ownImage}`, "upgrade legacy"],
      },
    }));

  test("is followed by a second upgrade if Talos had not confirmed the first one", () =>
    runUpgrade({
      task: { talosVersion: "v1.13.1" },
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        talosVersion: "v1.13.0",
        schematicId: schematics.plain,
      },
      unconfirmedUpgradeTo: "v1.13.1",
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        result: { talosVersion: "v1.13.1", rebooted: true },
        machineCalls: ["reboot", `pull ${factoryImage("v1.13.1")}`, "upgrade lifecycle"],
        logs: [
          "Talos has not confirmed the upgrade, and may roll back",
          "the upgrade's boot failed and Talos rolled back",
        ],
      },
    }));

  test("fails with an error that mentions the rollback, if Talos has not confirmed the upgrade", () =>
    runUpgrade({
      task: { talosVersion: "v1.13.1" },
      machine: { ...pausedBoot, talosVersion: "v1.13.0", schematicId: schematics.plain },
      unconfirmedUpgradeTo: "v1.13.1",
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: { error: ["The reboot that ends the pause also rolls back to the previous image"] },
    }));

  test("fails with an error that promises no rollback, if the kubelet fails", () =>
    runUpgrade({
      task: { talosVersion: "v1.13.1" },
      machine: {
        ...pausedBoot,
        talosVersion: "v1.13.0",
        schematicId: schematics.plain,
        bootProblems: [kubeletFails],
      },
      unconfirmedUpgradeTo: "v1.13.1",
      cluster: clusterWithNodeNotReady,
      events: rebootEndsPause,
      expect: {
        error: ["the kubelet fails at every start", "Then run again"],
        errorLacks: ["rolls back to the previous image"],
      },
    }));

  test("is ended without a drain on the machine that serves the Kubernetes API", () =>
    runUpgrade({
      machine: { ...pausedBoot, persistent: STAGED },
      cluster: clusterServedByMachine,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot"],
        kubernetesCalls: [],
        logs: [
          "drain: skipped, since the machine runs no pods and the Kubernetes API does not answer",
        ],
        minutes: { lessThan: 3.5 },
      },
    }));

  test("is not ended without a kubeconfig, since its reboot needs a drain", () =>
    runUpgrade({
      task: { modules: [], driverVersion: undefined },
      machine: { ...pausedBoot, persistent: STAGED },
      context: { cluster: undefined },
      expect: { error: ["talos-gpu:kubeconfig"], machineCalls: [] },
    }));

  test("needs a drain on the machine that serves the Kubernetes API if its kubelet runs", () =>
    runUpgrade({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        services: async () => ({ cri: "Running", kubelet: "Running" }),
      },
      cluster: clusterServedByMachine,
      expect: { error: ["its pods did not end within 5m"], machineCalls: [] },
    }));

  test("is ended without a drain on the machine that serves the Kubernetes API if its kubelet always fails", () =>
    runUpgrade({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        bootProblems: [kubeletFails],
        services: async () => ({
          cri: "Running",
          kubelet: "Running",
          "ext-nvidia-persistenced": "Running",
        }),
      },
      cluster: clusterServedByMachine,
      events: rebootEndsPause,
      expect: { result: { rebooted: true }, machineCalls: ["reboot"], kubernetesCalls: [] },
    }));

  const pauseEndsByItself: Event[] = [
    { afterCall: "cordon", machine: { stageName: "rebooting" } },
    {
      afterCall: "cordon",
      seconds: 60,
      machine: { stageName: "running", unmetConditions: [], bootProblems: [], active: STAGED },
      restarts: 1,
    },
  ];
  test("may end by itself before the reboot is requested", () =>
    runUpgrade({
      machine: { ...pausedBoot, persistent: STAGED },
      events: pauseEndsByItself,
      expect: { result: { rebooted: true }, machineCalls: [] },
    }));

  test("may end by itself while the run drains the node", () =>
    runUpgrade({
      machine: { ...pausedBoot, persistent: STAGED },
      events: [
        {
          afterCall: "cordon",
          machine: { stageName: "running", unmetConditions: [], bootProblems: [], active: STAGED },
          restarts: 1,
        },
      ],
      expect: { result: { rebooted: true }, machineCalls: [] },
    }));

  test("may end by itself before the reboot is requested, and the machine is then upgraded to the wanted image", () =>
    runUpgrade({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        talosVersion: "v1.12.4",
        schematicId: schematics.plain,
      },
      events: pauseEndsByItself,
      expect: {
        result: { rebooted: true },
        machineCalls: [
          `pull ${factoryImage("v1.12.6")}`,
          `pull ${factoryImage("v1.12.6")}`,
          "upgrade legacy",
        ],
      },
    }));
});

test("an installer that the disk already has is pulled again into memory, since a power cut may have emptied its files", () =>
  runUpgrade({
    task: { talosVersion: "v1.13.1" },
    machine: {
      talosVersion: "v1.13.0",
      schematicId: schematics.plain,
      pulledImages: [factoryImage("v1.13.1")],
    },
    expect: {
      result: { rebooted: true },
      machineCalls: [
        `pull ${factoryImage("v1.13.1")} into memory`,
        "upgrade lifecycle from memory",
      ],
      logs: ["the disk already has this installer"],
    },
  }));

// The image's services wait for a driver, but no loaded module contains it.
describe("a boot that waits for the NVIDIA driver", () => {
  const machineWithoutDriver: UpgradeRun["machine"] = {
    stageName: "booting",
    talosVersion: "v1.12.6",
    schematicId: schematics.gpu,
    persistent: STAGED,
  };
  test("is ended by a reboot into a staged configuration that has the modules", () =>
    runUpgrade({
      machine: machineWithoutDriver,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot"],
        logs: ["its boot does not end: ext-nvidia-persistenced waits for the driver"],
        minutes: { lessThan: 10 },
      },
    }));

  test("ends the run at once if no other configuration is staged", () =>
    runUpgrade({
      machine: { ...machineWithoutDriver, persistent: "machine: {type: worker}\n" },
      expect: {
        error: [
          /^machines\.gpu-1: its boot does not end: ext-nvidia-persistenced waits for the driver/,
          "waits for the driver, and the machine's configuration lists none",
        ],
        changesNothing: true,
        minutes: { lessThan: 1 },
      },
    }));

  const withoutModules = "machine: {type: worker, sysctls: {a: b}}\n";

  test("is prevented if another tool has replaced the staged configuration", () =>
    runUpgrade({
      machine: { persistent: withoutModules },
      expect: {
        error: [
          "machines.gpu-1: the configuration of its next boot lacks the kernel modules nvidia, nvidia_uvm",
          "change `reconcileToken`",
        ],
        changesNothing: true,
      },
    }));

  test("ends the run at once if another tool replaces the configuration during the upgrade", () =>
    runUpgrade({
      machine: { stageAfterBoot: "booting" },
      events: [{ afterCall: "cordon", machine: { persistent: withoutModules } }],
      expect: {
        error: ["machines.gpu-1: its boot does not end: ext-nvidia-persistenced waits"],
        machine: { bootCount: 2 },
        minutes: { lessThan: 5 },
      },
    }));

  test("is waited for if its configuration has the modules", () =>
    runUpgrade({
      machine: { ...machineWithoutDriver, active: STAGED, driverWorks: false },
      events: [{ atSecond: 20, machine: { stageName: "running", driverWorks: true } }],
      expect: { result: { rebooted: false }, machineCalls: [] },
    }));
});
