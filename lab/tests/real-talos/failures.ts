import * as semver from "semver";
import { stringify } from "yaml";
import type { UpgradeTask } from "../../../components/program/task";
import { API, RELEASE, type ProgramResult, type TestBed } from "./test-bed";

/** A failure on a real Talos machine, the program's message about it, and the effect of the message's remedy. */
export interface FailureCase {
  name: string;
  /** Range of the Talos versions that fail so. Default: all. */
  talos?: string;
  /**
   * Saved state in which the machine starts. `adopted`: the stack's keys wait for a boot. `installed`: NVIDIA's image
   * waits for it as well. `upgraded`: the machine runs with both.
   */
  initialState: "adopted" | "installed" | "upgraded";
  /** Prepares the failure before the run. */
  prepare?(testBed: TestBed): Promise<unknown>;
  /** The run. Default: an upgrade to NVIDIA's image. */
  run?(testBed: TestBed): Promise<ProgramResult>;
  /** Exit status of the run. Default 1. */
  exitCode?: 0 | 1;
  /** Patterns of the program's messages. */
  messages: RegExp[];
  /** Seconds within which the run ends on a busy computer. */
  maxSeconds: number;
  /** Whether the run must change nothing: the same boot, configuration and number of installations. */
  changesNothing?: boolean;
  /** Follows the remedy, and throws if it does not help. */
  followRemedy?(testBed: TestBed, before: { configuration: string }): Promise<void>;
}

const assertEqual = (description: string, actual: unknown, expected: unknown): void => {
  if (actual !== expected)
    throw new Error(`${description}: ${String(actual)}, not ${String(expected)}`);
};

const file = (path: string, content: string): object => ({
  op: "create",
  path,
  permissions: 0o644,
  content,
});
const containerdPart = (content: string): object =>
  file("/etc/cri/conf.d/20-customization.part", content);
const partDiscardingLayers = containerdPart(
  '[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = true\n',
);
const partWithNvidiaRuntime = containerdPart(
  '[plugins."io.containerd.cri.v1.runtime".containerd]\n  default_runtime_name = "nvidia"\n',
);

const runUpgrade = (
  testBed: TestBed,
  overrides: Partial<UpgradeTask> = {},
): Promise<ProgramResult> => testBed.startProgram("upgrade", testBed.gpuTask(overrides)).result;

/** Short limits, for a run that waits for something that never comes. */
const shortTimeouts = { pull: "10m", drain: "1m", reboot: "4m", verify: "1m" };

/** Upgrades again, and throws unless that succeeds, reboots as expected, and the machine runs NVIDIA's image. */
async function assertUpgradeSucceeds(
  testBed: TestBed,
  expectedReboot: boolean,
  ...messages: RegExp[]
): Promise<void> {
  const { code, answer, output } = await runUpgrade(testBed);
  assertEqual("status of the next run", code, 0);
  assertEqual("whether the next run rebooted", answer["rebooted"], expectedReboot);
  for (const message of messages)
    assertEqual(`${output}\nhas ${String(message)}`, message.test(output), true);
  assertEqual("the machine runs", await testBed.schematic(), testBed.schematics.gpu);
}

/** Reboots the machine by an action, and waits until it answers again. */
async function rebootBy(testBed: TestBed, action: () => Promise<unknown>): Promise<void> {
  const bootIdBefore = await testBed.bootId();
  await action();
  await testBed.waitUntil("it boots", 10, async () => (await testBed.bootId()) !== bootIdBefore);
}

/** Cuts the power when a condition holds, and restores it. The program continues. */
async function cutPowerWhen(
  testBed: TestBed,
  description: string,
  condition: () => boolean,
): Promise<ProgramResult> {
  const { result } = testBed.startProgram("upgrade", testBed.gpuTask());
  await testBed.waitUntil(description, 10, () => Promise.resolve(condition()));
  await testBed.machine.cutPower();
  await testBed.machine.powerOn();
  return result;
}

/** The EPHEMERAL volume, with a fixed size; 400 MB are only enough for the kubelet's image. */
const ephemeralVolume = (size: string): object => ({
  apiVersion: "v1alpha1",
  kind: "VolumeConfig",
  name: "EPHEMERAL",
  provisioning: { minSize: size, maxSize: size },
});

/** Wipes the EPHEMERAL volume, since it never shrinks. */
async function wipeEphemeral(testBed: TestBed): Promise<void> {
  await rebootBy(testBed, () =>
    testBed.talosctl(
      "reset",
      "--system-labels-to-wipe",
      "EPHEMERAL",
      "--reboot",
      "--graceful=false",
      "--wait=false",
    ),
  );
  await testBed.waitUntil("it runs and is ready", 10, testBed.isRunning);
}

const twoFilesForOnePart = { machine: { files: [partDiscardingLayers, partWithNvidiaRuntime] } };
const bootIsPaused =
  /its boot does not go on: task writeUserFiles \(1\/1\): writeUserFiles failed, rebooting in 35 minutes.*already exists/;

/**
 * With the older API, Talos accepts the request before it installs the image. If the installation fails, it boots the
 * old image.
 */
const imageNotInstalled =
  /Talos rolled back, or did not install the image: .*the installation failed because of an installer error, a power loss/;

/** lab/docs/conformance.md lists the rows that have already run on a machine. */
const allCases: readonly FailureCase[] = [
  {
    name: "an installer that its registry does not know",
    initialState: "adopted",
    run: (testBed) =>
      runUpgrade(testBed, {
        installerImage: `factory.talos.dev/metal-installer/${"0".repeat(64)}:${RELEASE}`,
      }),
    messages: [
      /the machine could not pull \S+: .*code = NotFound/,
      /nothing was changed on the machine/,
    ],
    maxSeconds: 60,
    changesNothing: true,
  },
  {
    name: "an owner's containerd part where the stack has one",
    initialState: "adopted",
    prepare: (testBed) => testBed.apply({ machine: { files: [partDiscardingLayers] } }),
    run: (testBed) =>
      testBed.startProgram(
        "adopt",
        testBed.adoptTask(JSON.stringify({ machine: { files: [partWithNvidiaRuntime] } })),
      ).result,
    messages: [/20-customization\.part/],
    maxSeconds: 30,
    changesNothing: true,
  },
  {
    name: "another tool staged a configuration without our part",
    initialState: "adopted",
    prepare: async (testBed) => {
      await testBed.apply(await testBed.activeConfiguration());
      await testBed.apply({ machine: { sysctls: { "vm.swappiness": "7" } } });
    },
    run: (testBed) => testBed.startProgram("adopt", testBed.adoptTask()).result,
    exitCode: 0,
    messages: [/stage: the configuration takes effect at the next boot/],
    maxSeconds: 30,
    followRemedy: async (testBed) => {
      const configuration = await testBed.configuration();
      for (const text of ["vm.swappiness: ", "net.core.bpf_jit_harden: ", "name: nvidia_uvm"])
        assertEqual(`what waits has ${text}`, configuration.includes(text), true);
    },
  },
  {
    name: "another image than the wanted one is installed and waits for its boot",
    initialState: "installed",
    run: (testBed) =>
      testBed.startProgram("upgrade", testBed.upgradeTaskFor(testBed.schematics.modules)).result,
    messages: [
      /an image that does not belong to this stack is installed and boots next: \S+/,
      /rollback/,
    ],
    maxSeconds: 60,
    changesNothing: true,
    followRemedy: async (testBed) => {
      await rebootBy(testBed, () => testBed.talosctl("rollback"));
      assertEqual("the machine runs", await testBed.schematic(), testBed.schematics.plain);
    },
  },
  {
    name: "two items for one containerd part, in the first boot of an upgrade",
    talos: "<1.14", // from 1.14 on the first item takes effect (v1alpha1_cri_bridge.go)
    initialState: "adopted",
    prepare: (testBed) => testBed.apply(twoFilesForOnePart),
    messages: [bootIsPaused, /edit machineconfig/, /rolls back to the previous image/],
    maxSeconds: 700,
    followRemedy: async (testBed, before) => {
      await rebootBy(testBed, () => testBed.apply(before.configuration, "auto"));
      assertEqual("the machine runs", await testBed.schematic(), testBed.schematics.plain);
      await assertUpgradeSucceeds(testBed, true);
    },
  },
  {
    name: "two items for one containerd part, on an image that is confirmed",
    talos: "<1.14", // from 1.14 on the first item takes effect (v1alpha1_cri_bridge.go)
    initialState: "upgraded",
    prepare: (testBed) => testBed.apply(twoFilesForOnePart),
    messages: [bootIsPaused, /edit machineconfig/, /Then run again(?!, which)/],
    maxSeconds: 300,
    followRemedy: async (testBed, before) => {
      await testBed.apply(before.configuration);
      await assertUpgradeSucceeds(testBed, true, /a corrected configuration is staged/);
    },
  },
  {
    name: "two items for one containerd part: the first one takes effect",
    talos: ">=1.14",
    initialState: "adopted",
    prepare: (testBed) => testBed.apply(twoFilesForOnePart),
    exitCode: 0,
    messages: [/upgrading through the lifecycle API/],
    maxSeconds: 700,
    followRemedy: async (testBed) => {
      // Talos 1.14 merges containerd's part in memory, so no file has it alone (v1.14.1,
      // internal/app/machined/pkg/controllers/files/cri_config.go).
      const content = await testBed.talosctl("read", "/etc/cri/conf.d/cri.toml");
      assertEqual(
        "the first item is in containerd's configuration",
        content.includes("discard_unpacked_layers"),
        true,
      );
      assertEqual(
        "the second item is in containerd's configuration",
        /default_runtime_name = ['"]nvidia/.test(content),
        false,
      );
    },
  },
  {
    name: "a file outside /var",
    initialState: "upgraded",
    prepare: (testBed) =>
      testBed.apply({ machine: { files: [file("/etc/lab.conf", "a line\n")] } }),
    messages: [
      /its boot does not go on: .*create operation not allowed outside of \/var: "\/etc\/lab\.conf"/,
    ],
    maxSeconds: 300,
    followRemedy: async (testBed, before) => {
      await rebootBy(testBed, () => testBed.apply(before.configuration, "auto"));
      await assertUpgradeSucceeds(testBed, false);
    },
  },
  {
    name: "a kernel module that is not there",
    initialState: "upgraded",
    prepare: (testBed) =>
      testBed.apply({ machine: { kernel: { modules: [{ name: "nvidia_peermem" }] } } }),
    run: (testBed) =>
      runUpgrade(testBed, {
        modules: [...testBed.gpuTask().modules, "nvidia_peermem"],
        timeouts: shortTimeouts,
      }),
    messages: [/kernel modules not loaded: nvidia_peermem/],
    maxSeconds: 400,
    followRemedy: async (testBed, before) => {
      await testBed.apply(before.configuration);
      await assertUpgradeSucceeds(testBed, true);
    },
  },
  {
    name: "another tool staged a sysctl",
    initialState: "upgraded",
    prepare: (testBed) => testBed.apply({ machine: { sysctls: { "vm.swappiness": "7" } } }),
    exitCode: 0,
    messages: [/rebooting once, to activate the staged configuration/],
    maxSeconds: 300,
    followRemedy: async (testBed) =>
      assertEqual(
        "vm.swappiness",
        (await testBed.talosctl("read", "/proc/sys/vm/swappiness")).trim(),
        "7",
      ),
  },
  {
    name: "an image without the extension of the default runtime",
    initialState: "adopted",
    prepare: (testBed) => testBed.apply({ machine: { files: [partWithNvidiaRuntime] } }),
    run: (testBed) =>
      testBed.startProgram(
        "upgrade",
        testBed.upgradeTaskFor(testBed.schematics.modules, {
          modules: ["nvidia"],
          timeouts: shortTimeouts,
        }),
      ).result,
    messages: [
      /its boot does not go on: the kubelet fails at every start.*unknown service runtime\.v1\.RuntimeService.*edit machineconfig/,
      /Then run again(?!, which)/,
    ],
    maxSeconds: 400,
    followRemedy: async (testBed, before) => {
      await rebootBy(testBed, () => testBed.apply(before.configuration, "auto"));
      await assertUpgradeSucceeds(testBed, true);
    },
  },
  {
    name: "an image whose kernel does not come up",
    initialState: "adopted",
    run: (testBed) =>
      testBed.startProgram(
        "upgrade",
        testBed.upgradeTaskFor(testBed.schematics.broken, { timeouts: shortTimeouts }),
      ).result,
    messages: [/did not run within 4m/],
    maxSeconds: 700,
  },
  {
    name: "an installer that fails",
    initialState: "adopted",
    run: (testBed) =>
      testBed.startProgram("upgrade", testBed.upgradeTaskFor(testBed.schematics.empty)).result,
    messages: [API === "legacy" ? imageNotInstalled : /the machine was not rebooted/],
    maxSeconds: 700,
    followRemedy: (testBed) => assertUpgradeSucceeds(testBed, true),
  },
  {
    name: "a disk that is full",
    initialState: "adopted",
    prepare: async (testBed) => {
      await testBed.apply(
        `${await testBed.configuration()}---\n${stringify(ephemeralVolume("400MB"))}`,
      );
      await wipeEphemeral(testBed);
    },
    messages: [
      /its disk has no room for the installer: .*no space left on device/,
      /nothing was changed on the machine/,
    ],
    maxSeconds: 200,
    changesNothing: true,
    followRemedy: async (testBed, { configuration }) => {
      await testBed.talosctl("usage", "/var");
      await testBed.apply(`${configuration}---\n${stringify(ephemeralVolume("4GB"))}`);
      await wipeEphemeral(testBed);
      await assertUpgradeSucceeds(testBed, true);
    },
  },
  {
    name: "power cut in the pull",
    initialState: "adopted",
    run: (testBed) => {
      const requestsBefore = testBed.imageFactory.registry.requests.length;
      return cutPowerWhen(testBed, "a layer is pulled", () =>
        testBed.imageFactory.registry.requests
          .slice(requestsBefore)
          .some((line) => /GET .*\/blobs\//.test(line)),
      );
    },
    exitCode: 0,
    messages: [new RegExp(`upgrading through the ${API} API`)],
    maxSeconds: 700,
    followRemedy: (testBed) => assertUpgradeSucceeds(testBed, false),
  },
  {
    name: "power cut in the installation",
    initialState: "adopted",
    run: (testBed) =>
      cutPowerWhen(testBed, "it installs", () =>
        /starting upgrade|performing upgrade/.test(testBed.console()),
      ),
    exitCode: API === "legacy" ? 1 : 0,
    messages: [API === "legacy" ? imageNotInstalled : /so the program requests the reboot again/],
    maxSeconds: 900,
    followRemedy: (testBed) => assertUpgradeSucceeds(testBed, API === "legacy"),
  },
  {
    name: "power cut in the first boot of an upgrade",
    initialState: "adopted",
    run: (testBed) => {
      const boot = /Linux version/g;
      const bootsBefore = [...testBed.console().matchAll(boot)].length;
      return cutPowerWhen(
        testBed,
        "the new image boots",
        () => [...testBed.console().matchAll(boot)].length > bootsBefore,
      );
    },
    exitCode: 0,
    messages: [/upgrading through the/],
    maxSeconds: 700,
    followRemedy: (testBed) => assertUpgradeSucceeds(testBed, false),
  },
  {
    name: "the machine does not answer",
    initialState: "upgraded",
    prepare: (testBed) => testBed.machine.pause(),
    run: (testBed) => runUpgrade(testBed, { timeouts: { ...shortTimeouts, reboot: "1m" } }),
    messages: [/was not up within 1m/, /nothing was changed on the machine/],
    maxSeconds: 120,
    followRemedy: async (testBed) => {
      await testBed.machine.resume();
      await assertUpgradeSucceeds(testBed, false);
    },
  },
  {
    name: "the machine is off",
    initialState: "upgraded",
    prepare: (testBed) => testBed.machine.cutPower(),
    run: (testBed) => runUpgrade(testBed, { timeouts: { ...shortTimeouts, reboot: "1m" } }),
    messages: [/was not up within 1m/, /nothing was changed on the machine/],
    maxSeconds: 90,
    followRemedy: async (testBed) => {
      await testBed.machine.powerOn();
      await assertUpgradeSucceeds(testBed, false);
    },
  },
];
// With the older API no image waits for a boot: Talos reboots as soon as it has installed the image.
export const failureCases = allCases
  .filter(({ initialState }) => API === "lifecycle" || initialState !== "installed")
  .filter(({ talos = "*" }) => semver.satisfies(RELEASE, talos))
  .map((failure) => ({ run: (testBed: TestBed) => runUpgrade(testBed), exitCode: 1, ...failure }));
