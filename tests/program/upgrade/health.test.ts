import { schematics } from "../fakes";
import { failedParts } from "../../../components/program/seen/failed-parts";
import { type Event, runUpgrade, type UpgradeRun } from "./scenario";

// The health of a machine whose configuration changed without a reboot.

const task: UpgradeRun["task"] = {
  modules: [],
  driverVersion: undefined,
  extensionServices: [],
  schematicId: schematics.plain,
  configurationHash: "new",
};
const machine: UpgradeRun["machine"] = { talosVersion: "v1.12.6" };
const unchangedConfiguration = { schematicId: schematics.plain, configurationHash: "new" };
const changedConfiguration = { schematicId: schematics.plain, configurationHash: "old" };
/** The provider has put the new configuration into effect before the run. */
const changedMachine: UpgradeRun["machine"] = {
  ...machine,
  persistent: "machine: {type: worker}\n",
};

const kubeletDown = {
  secondsUntilReady: Infinity,
  unmetConditions: ["services: kubelet not running"],
};
const kubeletUp = { secondsUntilReady: 0, unmetConditions: [] };
const afterApply = (seconds: number, fields: Event["machine"]): Event => ({
  afterCall: "activate",
  seconds,
  machine: fields!,
});

test("a change without a reboot ends after the machine has been healthy for a minute", () =>
  runUpgrade({
    task,
    machine,
    expect: {
      result: { rebooted: false, configurationHash: "new" },
      phaseSeconds: { health: 60 },
      logs: ["waiting up to 6m until kubelet and control plane have run for 1m"],
    },
  }));

test("a kubelet that fails for a short time prolongs the wait", () =>
  runUpgrade({
    task,
    machine,
    events: [afterApply(5, kubeletDown), afterApply(40, kubeletUp)],
    expect: { result: { rebooted: false }, phaseSeconds: { health: 99 } },
  }));

test("a kubelet that keeps failing stops the update", () =>
  runUpgrade({
    task,
    machine,
    events: [afterApply(20, kubeletDown)],
    expect: {
      error: [
        "machines.gpu-1: its configuration changed without a reboot, and since then: kubelet not running (after 6m); ",
        "talosctl -n 10.0.0.1 logs kubelet",
      ],
    },
  }));

test("a kubelet that fails again and again stops the update, with its failure in the message", () =>
  runUpgrade({
    task,
    machine,
    events: Array.from({ length: 20 }, (_, index) => [
      afterApply(index * 30, kubeletDown),
      afterApply(index * 30 + 5, kubeletUp),
    ]).flat(),
    expect: { error: ["since then: kubelet not running (after 6m)"] },
  }));

test("a control plane whose only API server stops stops the update, since Talos still reports its old status", () =>
  runUpgrade({
    task: { ...task, role: "controlplane" },
    machine,
    events: [{ afterCall: "activate", seconds: 20, cluster: { unreachable: true } }],
    expect: {
      error: [
        "since then: the Kubernetes API does not answer (after 6m)",
        "talosctl -n 10.0.0.1 containers --kubernetes",
      ],
    },
  }));

test("a control plane whose API server restarts ends after a minute in which it answers", () =>
  runUpgrade({
    task: { ...task, role: "controlplane" },
    machine,
    events: [
      { afterCall: "activate", seconds: 20, cluster: { unreachable: true } },
      { afterCall: "activate", seconds: 50, cluster: { unreachable: false } },
    ],
    expect: { result: { rebooted: false }, phaseSeconds: { health: 110 } },
  }));

test("a worker is healthy although the Kubernetes API does not answer", () =>
  runUpgrade({
    task,
    machine,
    events: [
      afterApply(20, {}),
      { afterCall: "activate", seconds: 20, cluster: { unreachable: true } },
    ],
    expect: { result: { rebooted: false }, phaseSeconds: { health: 60 } },
  }));

test("a kubelet that fails after a reboot stops the update, although the program did not cordon the node", () =>
  runUpgrade({
    task: { drain: false },
    machine: { secondsUntilReady: Infinity },
    events: [
      {
        afterCall: "upgrade",
        seconds: 200,
        machine: { unmetConditions: ["services: kubelet not running"] },
      },
    ],
    expect: {
      error: [
        "machines.gpu-1: since its last boot: kubelet not running (after 6m); ",
        "also change `reconcileToken`",
      ],
    },
  }));

test("a configuration that the provider has put into effect is watched, too", () =>
  runUpgrade({
    task,
    machine: { ...changedMachine, ...kubeletDown },
    previousResult: changedConfiguration,
    expect: { error: ["since then: kubelet not running (after 6m)"], changesNothing: true },
  }));

test.each([
  ["the configuration is unchanged", unchangedConfiguration],
  ["an older version of this package made the last answer", { schematicId: schematics.plain }],
  ["there was no update before", undefined],
])(
  "a healthy machine is not watched if %s, and one whose kubelet fails stops the update",
  async (_, previousResult) => {
    const previous = previousResult && { previousResult };
    await runUpgrade({
      task,
      machine: changedMachine,
      ...previous,
      expect: { changesNothing: true, phases: ["reach", "compare"] },
    });
    await runUpgrade({
      task,
      machine: { ...changedMachine, ...kubeletDown },
      ...previous,
      expect: {
        changesNothing: true,
        error: ["since its last boot: kubelet not running (after 6m)"],
      },
    });
  },
);

test.each<[string[], string[]]>([
  [["services: kubelet not healthy, ext-nvidia-persistenced not running"], ["kubelet not healthy"]],
  [
    ["staticPods: kube-system/kube-apiserver-cp-1 not ready, default/mine-cp-1 failed"],
    ["kube-system/kube-apiserver-cp-1 not ready"],
  ],
  [['nodeReady: node "cp-1" is not ready', "time: time is not synced"], []],
  [
    ["services: etcd not running", "staticPods: kube-system/kube-scheduler-cp-1 pending"],
    ["etcd not running", "kube-system/kube-scheduler-cp-1 pending"],
  ],
])("of the unmet conditions %j, the failed parts are %j", (unmet, failed) =>
  expect(failedParts(unmet)).toEqual(failed),
);
