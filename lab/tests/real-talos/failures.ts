import * as semver from "semver";
import { stringify } from "yaml";
import type { UpgradeTask } from "../../../components/program/task";
import {
  API,
  BOOT,
  imageArgument,
  noInit,
  RELEASE,
  type ProgramResult,
  type TestBed,
} from "./test-bed";

/** A failure on a real Talos machine, the program's message about it, and the effect of the message's remedy. */
export interface FailureCase {
  name: string;
  /** Range of the Talos versions that fail so. Default: all. */
  talos?: string;
  /** Boot loader of the machines that fail so. Default: all. */
  boot?: "grub" | "grub-uefi";
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

/** Changes the kubelet's flags. */
const kubeletFlags = (extraArgs: object): object => ({ machine: { kubelet: { extraArgs } } });

/** Upgrades like a stack without cards, whose changes of the configuration often need no reboot. */
const runWithoutDriver = (testBed: TestBed): Promise<ProgramResult> =>
  runUpgrade(testBed, {
    modules: [],
    extensionServices: [],
    driverVersion: undefined,
    timeouts: shortTimeouts,
  });

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

/** Kernel argument that an owner writes to `machine.install.extraKernelArgs`. */
const ownArgument = "lab.own=1";

/**
 * Arguments with which the lab's kernel and its unsigned modules work. The lab's images have them, but GRUB does not use
 * an image's arguments if the configuration has some.
 */
const argumentsOfLab = ["oops=panic", "-module.sig_enforce"];

/** Upgrades to NVIDIA's image with a kernel argument. */
function runUpgradeWithArgument(testBed: TestBed): Promise<ProgramResult> {
  return testBed.startProgram("upgrade", testBed.gpuTask({}, testBed.schematics.argument)).result;
}

/** Whether the machine boots with GRUB, and its Talos has no setting with which GRUB uses an image's arguments. */
const grubIgnoresImages = BOOT.startsWith("grub") && semver.lt(RELEASE, "1.12.0");

/** Whether the running kernel was started with an argument. */
async function hasArgument(testBed: TestBed, argument: string): Promise<boolean> {
  const commandLine = await testBed.talosctl("read", "/proc/cmdline");
  return commandLine.trim().split(/\s+/).includes(argument);
}

/** Patches the machine's configuration as an owner does, and throws if the machine reboots. */
async function patchAsOwner(testBed: TestBed, patch: object): Promise<void> {
  const bootIdBefore = await testBed.bootId();
  await testBed.talosctl("patch", "machineconfig", "--patch", JSON.stringify(patch));
  assertEqual("boot ID after the patch", await testBed.bootId(), bootIdBefore);
}

/**
 * Changes `machine.install` like the owner of a machine that was installed before Talos 1.12: GRUB then takes its
 * kernel arguments from there, and not from the image. Stages the stack's settings again, since the patch discards
 * them.
 */
async function installAsOwner(testBed: TestBed, install: object): Promise<void> {
  const ofConfiguration = semver.gte(RELEASE, "1.12.0") ? { grubUseUKICmdline: false } : {};
  await patchAsOwner(testBed, { machine: { install: { ...ofConfiguration, ...install } } });
  await adoptAgain(testBed);
}

/** Stages the stack's settings again. */
async function adoptAgain(testBed: TestBed): Promise<void> {
  const { code, output } = await testBed.startProgram("adopt", testBed.adoptTask()).result;
  assertEqual(output, code, 0);
}

/**
 * Chooses the other image's entry in GRUB's menu, which OVMF shows on the serial console, while the machine boots its
 * default entry again and again. GRUB lists the entries in any order, since Talos writes them from a map
 * (talos v1.13.0, bootloader/grub/encode.go).
 */
async function chooseOtherEntry(testBed: TestBed): Promise<void> {
  const start = testBed.machine.console().length;
  const entries = (): string[] => {
    const text = testBed.machine.console().slice(start);
    const titles = [...text.matchAll(/\b([AB] - Talos|Reset Talos)/g)].map(([title]) => title);
    return [...new Set(titles)];
  };
  await testBed.waitUntil("GRUB shows its menu", 5, () => Promise.resolve(entries().length === 3));
  // The first upgrade of a machine is installed as B, which is the default.
  const position = (title: string): number =>
    entries().findIndex((entry) => entry.startsWith(title));
  const steps = position("A") - position("B");
  for (let step = 0; step < Math.abs(steps); step++)
    await testBed.machine.press(steps > 0 ? "down" : "up");
  await testBed.machine.press("ret");
  await testBed.waitUntil("it runs and is ready", 10, testBed.isRunning);
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
    messages: [/apply: in effect without a reboot/],
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
    name: "an image without the running image's extensions",
    initialState: "upgraded",
    run: (testBed) =>
      testBed.startProgram("upgrade", testBed.upgradeTaskFor(testBed.schematics.plain)).result,
    messages: [
      /the machine runs .*siderolabs\/nvidia-container-toolkit-lts .*, which its next image lacks/,
      /list them under machines\.talos-lab\.extensions, or under machines\.talos-lab\.drop\.extensions/,
    ],
    maxSeconds: 60,
    changesNothing: true,
    followRemedy: (testBed) => assertUpgradeSucceeds(testBed, false),
  },
  {
    name: "an image whose kernel does not come up",
    initialState: "adopted",
    // Before Talos 1.12 GRUB takes no argument from the image.
    prepare: async (testBed) => {
      if (!grubIgnoresImages) return;
      await installAsOwner(testBed, { extraKernelArgs: [...argumentsOfLab, ...noInit] });
    },
    run: (testBed) =>
      testBed.startProgram(
        "upgrade",
        testBed.upgradeTaskFor(testBed.schematics.broken, { timeouts: shortTimeouts }),
      ).result,
    messages: [/did not run within 4m/],
    maxSeconds: 700,
    followRemedy: async (testBed, { configuration }) => {
      if (BOOT !== "grub-uefi") return; // only this boot loader's menu is on the serial console
      await chooseOtherEntry(testBed);
      assertEqual("the machine runs", await testBed.schematic(), testBed.schematics.plain);
      if (grubIgnoresImages) await testBed.apply(configuration);
      await rebootBy(testBed, () => testBed.talosctl("rollback"));
      await testBed.waitUntil("it runs and is ready", 10, testBed.isRunning);
      assertEqual("the machine still runs", await testBed.schematic(), testBed.schematics.plain);
      await assertUpgradeSucceeds(testBed, true);
    },
  },
  {
    name: "an owner rolls back a confirmed upgrade",
    initialState: "upgraded",
    run: async (testBed) => {
      await rebootBy(testBed, () => testBed.talosctl("rollback"));
      await testBed.waitUntil("it runs and is ready", 10, testBed.isRunning);
      assertEqual("the machine runs", await testBed.schematic(), testBed.schematics.plain);
      return runUpgrade(testBed);
    },
    exitCode: 0,
    messages: [/upgrading through the/],
    maxSeconds: 900,
    followRemedy: (testBed) => assertUpgradeSucceeds(testBed, false),
  },
  {
    name: "GRUB ignores a new kernel argument of the image",
    talos: "<1.14",
    boot: "grub",
    initialState: "adopted",
    prepare: (testBed) => installAsOwner(testBed, {}),
    run: runUpgradeWithArgument,
    messages: [
      new RegExp(`boots with GRUB, which ignores the image's arguments.* without ${imageArgument}`),
    ],
    maxSeconds: 60,
    changesNothing: true,
    followRemedy: async (testBed) => {
      const install = semver.gte(RELEASE, "1.12.0")
        ? { grubUseUKICmdline: true }
        : { extraKernelArgs: [imageArgument] };
      await patchAsOwner(testBed, { machine: { install } });
      // Such a patch starts from the active configuration, so it discards the stack's staged settings.
      const refused = await runUpgradeWithArgument(testBed);
      assertEqual("status without the stack's settings", refused.code, 1);
      assertEqual(refused.output, /lacks the kernel modules nvidia/.test(refused.output), true);
      await adoptAgain(testBed);
      const { code, output } = await runUpgradeWithArgument(testBed);
      assertEqual(output, code, 0);
      assertEqual("the argument is in force", await hasArgument(testBed, imageArgument), true);
    },
  },
  {
    // Configurations that Talos 1.12 or newer generates say so. From 1.14 on they consist of documents, which always
    // mean it.
    name: "GRUB takes the image's kernel arguments if the configuration says so",
    talos: ">=1.12",
    boot: "grub",
    initialState: "adopted",
    run: runUpgradeWithArgument,
    exitCode: 0,
    messages: [/upgrading through the/],
    maxSeconds: 900,
    followRemedy: async (testBed) =>
      assertEqual("the argument is in force", await hasArgument(testBed, imageArgument), true),
  },
  {
    name: "the installer refuses the arguments of an owner's configuration",
    talos: ">=1.12 <1.14",
    initialState: "adopted",
    prepare: async (testBed) => {
      // A configuration that Talos 1.12 or newer generates has grubUseUKICmdline.
      const extraKernelArgs = [...argumentsOfLab, ownArgument];
      await patchAsOwner(testBed, { machine: { install: { extraKernelArgs } } });
      await adoptAgain(testBed);
    },
    messages: [
      /sets both machine\.install\.extraKernelArgs and machine\.install\.grubUseUKICmdline/,
    ],
    maxSeconds: 60,
    changesNothing: true,
    followRemedy: async (testBed) => {
      await patchAsOwner(testBed, { machine: { install: { grubUseUKICmdline: false } } });
      await adoptAgain(testBed);
      await assertUpgradeSucceeds(testBed, true);
    },
  },
  {
    name: "GRUB keeps a kernel argument of machine.install",
    talos: "<1.14",
    boot: "grub",
    initialState: "adopted",
    prepare: (testBed) =>
      installAsOwner(testBed, { extraKernelArgs: [...argumentsOfLab, ownArgument] }),
    exitCode: 0,
    messages: [API === "lifecycle" ? /Only the older upgrade API keeps them/ : /legacy API/],
    maxSeconds: 900,
    followRemedy: async (testBed) => {
      assertEqual("the argument is in force", await hasArgument(testBed, ownArgument), true);
      await assertUpgradeSucceeds(testBed, false);
      assertEqual("it still is", await hasArgument(testBed, ownArgument), true);
    },
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
    name: "a kubelet flag that does not exist, in effect without a reboot",
    talos: "<1.14", // from 1.14 on the flags are in a document of their own, KubeletConfig
    initialState: "upgraded",
    prepare: (testBed) => testBed.apply(kubeletFlags({ "no-such-flag": "1" })),
    run: runWithoutDriver,
    messages: [
      /its configuration changed without a reboot, and since then: .*kubelet not running /,
    ],
    maxSeconds: 200,
    followRemedy: async (testBed) => {
      await testBed.apply(kubeletFlags({ $patch: "delete" }));
      const { code, answer } = await runWithoutDriver(testBed);
      assertEqual("status of the next run", code, 0);
      assertEqual("whether the next run rebooted", answer["rebooted"], false);
    },
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
  .filter(({ boot = "" }) => BOOT.startsWith(boot))
  .map((failure) => ({ run: (testBed: TestBed) => runUpgrade(testBed), exitCode: 1, ...failure }));
