import { factoryImage, failing, nodeState, pod, schematics } from "../fakes";
import { STAGED } from "../setup";
import { pausedBoot, rebootEndsPause } from "./paused-boot";
import { type Event, play, type UpgradeRun } from "./scenario";

// Boots that Talos does not complete.

const kubeletFails =
  "the kubelet fails at every start, and Talos waits 70 minutes for it: unknown service runtime.v1.RuntimeService";

describe("the boot of a new image", () => {
  test("a paused boot ends the run at once if its pause outlasts the limit", () =>
    play({
      machine: { unmet: ["services"] },
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

  test("a boot whose kubelet always fails ends the run at once, since Talos waits longer than the limit", () =>
    play({
      machine: { unmet: ["services"] },
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
    play({
      machine: { unmet: ["services"] },
      events: [pausesAfterUpgrade, { atSecond: 600, restarts: 1 }],
      expect: {
        error: ["its boot does not go on"],
        logsOnce: ["its boot does not go on"],
        minutes: { lessThan: 11 },
      },
    }));

  test("a paused boot is named as the reason if Talos then runs the old image again", () =>
    play({
      machine: { unmet: ["services"] },
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
    play({
      machine: { unmet: ["services"] },
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

// Its pods are terminating already, and a reboot ends the pause.
describe("a paused boot that a run finds", () => {
  const ownImage = `registry.example.com/own/${schematics.gpu}:v1.12.6`;
  const ownImageTask: UpgradeRun["task"] = {
    ownImage: true,
    installerImage: ownImage,
    schematicId: schematics.other,
  };
  /** A staged configuration that names it as the installer. */
  const namesOwnImage = `${STAGED}  install: { image: ${ownImage} }\n`;
  /** The node is not ready, so its pod stays until the next boot. */
  const notReady: UpgradeRun["cluster"] = {
    state: nodeState({ ready: false }),
    podList: [pod("app", { terminating: true })],
  };
  /** The same, where this machine serves the Kubernetes API. */
  const servedByMachine: UpgradeRun["cluster"] = {
    ...notReady,
    servedByMachine: true,
    nodes: failing("unreachable", "Kubernetes: nodes: ECONNRESET"),
  };

  test("ends the run at once if no other configuration is staged", () =>
    play({
      machine: pausedBoot,
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        error: ["machines.gpu-1: its boot does not go on: writeUserFiles failed"],
        minutes: { lessThan: 1 },
        changesNothing: true,
      },
    }));

  test("gets a corrected configuration by a reboot", () =>
    play({
      machine: { ...pausedBoot, persistent: STAGED },
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot"],
        node: { unschedulable: false },
        minutes: { lessThan: 12 },
      },
    }));

  test("gets a corrected configuration by a reboot, and is upgraded after that if the wanted image differs", () =>
    play({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        talosVersion: "v1.12.4",
        schematicId: schematics.plain,
      },
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot", `pull ${factoryImage("v1.12.6")}`, "upgrade legacy"],
        node: { unschedulable: false },
        minutes: { lessThan: 12 },
      },
    }));

  test("gets a configuration that names the user's own image, and is not reported as rolled back", () =>
    play({
      task: ownImageTask,
      machine: {
        ...pausedBoot,
        persistent: namesOwnImage,
        talosVersion: "v1.12.4",
        schematicId: schematics.plain,
      },
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        machineCalls: ["reboot", `pull ${ownImage}`, "upgrade legacy"],
        logsNever: ["Talos rolled back"],
      },
    }));

  test("gets a configuration that names the user's own image of the running release, which is installed", () =>
    play({
      task: ownImageTask,
      machine: {
        ...pausedBoot,
        persistent: namesOwnImage,
        talosVersion: "v1.12.6",
        schematicId: schematics.plain,
      },
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true, driverVersion: "570.211.01" },
        machineCalls: ["reboot", `pull ${ownImage}`, "upgrade legacy"],
      },
    }));

  test("may be the rollback of the user's own image, so the image is installed again", () =>
    play({
      task: ownImageTask,
      machine: {
        ...pausedBoot,
        active: namesOwnImage,
        persistent: `${namesOwnImage}  sysctls: {}\n`,
        talosVersion: "v1.12.6",
        schematicId: schematics.plain,
      },
      unconfirmedUpgradeTo: "v1.12.6",
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        result: { rebooted: true, driverVersion: "570.211.01" },
        machineCalls: ["reboot", `pull ${ownImage}`, "upgrade legacy"],
      },
    }));

  test("rolls back to the previous image if Talos has not confirmed the upgrade, and is upgraded again", () =>
    play({
      task: { talosVersion: "v1.13.1" },
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        talosVersion: "v1.13.0",
        schematicId: schematics.plain,
      },
      unconfirmedUpgradeTo: "v1.13.1",
      cluster: notReady,
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

  test("has a remedy that rolls back to the previous image, if Talos has not confirmed the upgrade", () =>
    play({
      task: { talosVersion: "v1.13.1" },
      machine: { ...pausedBoot, talosVersion: "v1.13.0", schematicId: schematics.plain },
      unconfirmedUpgradeTo: "v1.13.1",
      cluster: notReady,
      events: rebootEndsPause,
      expect: { error: ["that reboot also rolls back to the previous image"] },
    }));

  test("has a remedy that keeps the image if the kubelet fails", () =>
    play({
      task: { talosVersion: "v1.13.1" },
      machine: {
        ...pausedBoot,
        talosVersion: "v1.13.0",
        schematicId: schematics.plain,
        bootProblems: [kubeletFails],
      },
      unconfirmedUpgradeTo: "v1.13.1",
      cluster: notReady,
      events: rebootEndsPause,
      expect: {
        error: ["the kubelet fails at every start", "then run again"],
        errorLacks: ["rolls back to the previous image"],
      },
    }));

  test("of the machine that serves Kubernetes is rebooted without a drain and without a wait for the API", () =>
    play({
      machine: { ...pausedBoot, persistent: STAGED },
      cluster: servedByMachine,
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

  test("of the machine that serves Kubernetes is drained if the kubelet runs, since pods may run too", () =>
    play({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        services: async () => ({ cri: "Running", kubelet: "Running" }),
      },
      cluster: servedByMachine,
      expect: { error: ["its pods did not end within 5m"], machineCalls: [] },
    }));

  test("of the machine that serves Kubernetes is rebooted without a drain if its kubelet always fails", () =>
    play({
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
      cluster: servedByMachine,
      events: rebootEndsPause,
      expect: { result: { rebooted: true }, machineCalls: ["reboot"], kubernetesCalls: [] },
    }));

  const endsByItself: Event[] = [
    { afterCall: "cordon", machine: { stageName: "rebooting" } },
    {
      afterCall: "cordon",
      seconds: 60,
      machine: { stageName: "running", unmet: [], bootProblems: [], active: STAGED },
      restarts: 1,
    },
  ];
  test("may end by itself before the reboot is requested", () =>
    play({
      machine: { ...pausedBoot, persistent: STAGED },
      events: endsByItself,
      expect: { result: { rebooted: true }, machineCalls: [] },
    }));

  test("may end by itself, and the next boot may run, before the pods are gone", () =>
    play({
      machine: { ...pausedBoot, persistent: STAGED },
      events: [
        {
          afterCall: "cordon",
          machine: { stageName: "running", unmet: [], bootProblems: [], active: STAGED },
          restarts: 1,
        },
      ],
      expect: { result: { rebooted: true }, machineCalls: [] },
    }));

  test("may end by itself before the reboot is requested, and is upgraded if the wanted image differs", () =>
    play({
      machine: {
        ...pausedBoot,
        persistent: STAGED,
        talosVersion: "v1.12.4",
        schematicId: schematics.plain,
      },
      events: endsByItself,
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

test("an installer that was pulled before may have empty files after a power cut, so it is pulled into memory", () =>
  play({
    task: { talosVersion: "v1.13.1" },
    machine: {
      talosVersion: "v1.13.0",
      schematicId: schematics.plain,
      pulled: [factoryImage("v1.13.1")],
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

// The image's services wait for a driver that no loaded module brings.
describe("a boot without a driver", () => {
  const withoutDriver: UpgradeRun["machine"] = {
    stageName: "booting",
    talosVersion: "v1.12.6",
    schematicId: schematics.gpu,
    persistent: STAGED,
  };
  test("is ended by a reboot into the staged configuration that names the modules", () =>
    play({
      machine: withoutDriver,
      expect: {
        result: { rebooted: true },
        machineCalls: ["reboot"],
        logs: ["its boot does not end: ext-nvidia-persistenced waits for the driver"],
        minutes: { lessThan: 10 },
      },
    }));

  test("ends the run at once if no other configuration is staged", () =>
    play({
      machine: { ...withoutDriver, persistent: "machine: {type: worker}\n" },
      expect: {
        error: [
          /^machines\.gpu-1: its boot does not end: ext-nvidia-persistenced waits for the driver/,
          "waits for the driver, and its configuration names none",
        ],
        changesNothing: true,
        minutes: { lessThan: 1 },
      },
    }));

  test("ends the run at once if the configuration of the new boot does not name the modules either", () =>
    play({
      machine: { persistent: "machine: {type: worker, sysctls: {a: b}}\n", bootsTo: "booting" },
      expect: {
        error: ["machines.gpu-1: its boot does not end: ext-nvidia-persistenced waits"],
        machine: { boots: 2 },
        minutes: { lessThan: 5 },
      },
    }));

  test("is waited for if the configuration names the modules: they are loaded within the boot", () =>
    play({
      machine: { ...withoutDriver, active: STAGED, driverWorks: false },
      events: [{ atSecond: 20, machine: { stageName: "running", driverWorks: true } }],
      expect: { result: { rebooted: false }, machineCalls: [] },
    }));
});
