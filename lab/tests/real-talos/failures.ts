import * as semver from "semver";
import { stringify } from "yaml";
import type { UpgradeTask } from "../../../components/program/task";
import { API, RELEASE, type Ended, type Stand } from "./stand";

/** A failure on a real Talos machine, the program's message about it, and the effect of the message's remedy. */
export interface Row {
  name: string;
  /** Range of the Talos versions that fail so. Default: all. */
  talos?: string;
  /**
   * Saved state in which the machine starts. `adopted`: the stack's keys wait for a boot. `installed`: NVIDIA's image
   * waits for it as well. `upgraded`: the machine runs with both.
   */
  from: "adopted" | "installed" | "upgraded";
  /** Prepares the failure before the run. */
  given?(stand: Stand): Promise<unknown>;
  /** The run. Default: an upgrade to NVIDIA's image. */
  run?(stand: Stand): Promise<Ended>;
  /** Exit status of the run. Default 1. */
  code?: 0 | 1;
  /** Patterns of the program's messages. */
  says: RegExp[];
  /** Seconds within which the run ends on a busy computer. */
  within: number;
  /** Whether the run must change nothing: the same boot, configuration and number of installations. */
  untouched?: boolean;
  /** Follows the remedy, and throws if it does not help. */
  then?(stand: Stand, before: { configuration: string }): Promise<void>;
}

const equal = (what: string, is: unknown, wanted: unknown): void => {
  if (is !== wanted) throw new Error(`${what}: ${String(is)}, not ${String(wanted)}`);
};

const file = (path: string, content: string): object => ({
  op: "create",
  path,
  permissions: 0o644,
  content,
});
const part = (content: string): object => file("/etc/cri/conf.d/20-customization.part", content);
const unpacked = part(
  '[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = true\n',
);
const nvidiaByDefault = part(
  '[plugins."io.containerd.cri.v1.runtime".containerd]\n  default_runtime_name = "nvidia"\n',
);

const upgrade = (stand: Stand, more: Partial<UpgradeTask> = {}): Promise<Ended> =>
  stand.start("upgrade", stand.gpuTask(more)).ended;

/** Short limits, for a run that waits for something that never comes. */
const short = { pull: "10m", drain: "1m", reboot: "4m", verify: "1m" };

/** Repeats the upgrade: it succeeds, and the machine runs NVIDIA's image. */
async function endsWell(stand: Stand, rebooted: boolean, ...says: RegExp[]): Promise<void> {
  const { code, answer, said } = await upgrade(stand);
  equal("status of the next run", code, 0);
  equal("whether the next run rebooted", answer["rebooted"], rebooted);
  for (const words of says) equal(`${said}\nhas ${String(words)}`, words.test(said), true);
  equal("the machine runs", await stand.schematic(), stand.schematics.gpu);
}

/** Causes a reboot, and waits until the machine answers after it. */
async function boots(stand: Stand, doing: () => Promise<unknown>): Promise<void> {
  const before = await stand.bootId();
  await doing();
  await stand.until("it boots", 10, async () => (await stand.bootId()) !== before);
}

/** Cuts the power when a condition holds, and restores it. The program continues. */
async function cutWhen(stand: Stand, what: string, is: () => boolean): Promise<Ended> {
  const { ended } = stand.start("upgrade", stand.gpuTask());
  await stand.until(what, 10, () => Promise.resolve(is()));
  await stand.machine.cutPower();
  await stand.machine.powerOn();
  return ended;
}

/** The EPHEMERAL volume, with a fixed size; 400 MB are only enough for the kubelet's image. */
const ephemeral = (size: string): object => ({
  apiVersion: "v1alpha1",
  kind: "VolumeConfig",
  name: "EPHEMERAL",
  provisioning: { minSize: size, maxSize: size },
});

/** Wipes the EPHEMERAL volume, since it never shrinks. */
async function wipe(stand: Stand): Promise<void> {
  await boots(stand, () =>
    stand.talosctl(
      "reset",
      "--system-labels-to-wipe",
      "EPHEMERAL",
      "--reboot",
      "--graceful=false",
      "--wait=false",
    ),
  );
  await stand.until("it runs and is ready", 10, stand.runs);
}

const twoItems = { machine: { files: [unpacked, nvidiaByDefault] } };
const paused =
  /its boot does not go on: task writeUserFiles \(1\/1\): writeUserFiles failed, rebooting in 35 minutes.*already exists/;

/**
 * With the older API, Talos accepts the request before it installs the image. If the installation fails, it boots the
 * old image.
 */
const notInstalled =
  /Talos rolled back, or did not install the image: .*the installation failed because of an installer error, a power loss/;

/** lab/docs/conformance.md lists the rows that have already run on a machine. */
const all: readonly Row[] = [
  {
    name: "an installer that its registry does not know",
    from: "adopted",
    run: (stand) =>
      upgrade(stand, {
        installerImage: `factory.talos.dev/metal-installer/${"0".repeat(64)}:${RELEASE}`,
      }),
    says: [
      /the machine could not pull \S+: .*code = NotFound/,
      /nothing was changed on the machine/,
    ],
    within: 60,
    untouched: true,
  },
  {
    name: "an owner's containerd part where the stack has one",
    from: "adopted",
    given: (stand) => stand.apply({ machine: { files: [unpacked] } }),
    run: (stand) =>
      stand.start(
        "adopt",
        stand.adoption(JSON.stringify({ machine: { files: [nvidiaByDefault] } })),
      ).ended,
    says: [/20-customization\.part/],
    within: 30,
    untouched: true,
  },
  {
    name: "another tool staged a configuration without our part",
    from: "adopted",
    given: async (stand) => {
      await stand.apply(await stand.active());
      await stand.apply({ machine: { sysctls: { "vm.swappiness": "7" } } });
    },
    run: (stand) => stand.start("adopt", stand.adoption()).ended,
    code: 0,
    says: [/stage: the configuration takes effect at the next boot/],
    within: 30,
    then: async (stand) => {
      const now = await stand.configuration();
      for (const words of ["vm.swappiness: ", "net.core.bpf_jit_harden: ", "name: nvidia_uvm"])
        equal(`what waits has ${words}`, now.includes(words), true);
    },
  },
  {
    name: "another image than the wanted one is installed and waits for its boot",
    from: "installed",
    run: (stand) => stand.start("upgrade", stand.upgradeTo(stand.schematics.modules)).ended,
    says: [
      /an image that does not belong to this stack is installed and boots next: \S+/,
      /rollback/,
    ],
    within: 60,
    untouched: true,
    then: async (stand) => {
      await boots(stand, () => stand.talosctl("rollback"));
      equal("the machine runs", await stand.schematic(), stand.schematics.plain);
    },
  },
  {
    name: "two items for one containerd part, in the first boot of an upgrade",
    talos: "<1.14", // from 1.14 on the first item takes effect (v1alpha1_cri_bridge.go)
    from: "adopted",
    given: (stand) => stand.apply(twoItems),
    says: [paused, /edit machineconfig/, /rolls back to the previous image/],
    within: 700,
    then: async (stand, before) => {
      await boots(stand, () => stand.apply(before.configuration, "auto"));
      equal("the machine runs", await stand.schematic(), stand.schematics.plain);
      await endsWell(stand, true);
    },
  },
  {
    name: "two items for one containerd part, on an image that is confirmed",
    talos: "<1.14", // from 1.14 on the first item takes effect (v1alpha1_cri_bridge.go)
    from: "upgraded",
    given: (stand) => stand.apply(twoItems),
    says: [paused, /edit machineconfig/, /Then run again(?!, which)/],
    within: 300,
    then: async (stand, before) => {
      await stand.apply(before.configuration);
      await endsWell(stand, true, /a corrected configuration is staged/);
    },
  },
  {
    name: "two items for one containerd part: the first one takes effect",
    talos: ">=1.14",
    from: "adopted",
    given: (stand) => stand.apply(twoItems),
    code: 0,
    says: [/upgrading through the lifecycle API/],
    within: 700,
    then: async (stand) => {
      const part = await stand.talosctl("read", "/etc/cri/conf.d/20-customization.part");
      equal("the first item is in the file", part.includes("discard_unpacked_layers"), true);
      equal("the second item is in the file", part.includes("default_runtime_name"), false);
    },
  },
  {
    name: "a file outside /var",
    from: "upgraded",
    given: (stand) => stand.apply({ machine: { files: [file("/etc/lab.conf", "a line\n")] } }),
    says: [
      /its boot does not go on: .*create operation not allowed outside of \/var: "\/etc\/lab\.conf"/,
    ],
    within: 300,
    then: async (stand, before) => {
      await boots(stand, () => stand.apply(before.configuration, "auto"));
      await endsWell(stand, false);
    },
  },
  {
    name: "a kernel module that is not there",
    from: "upgraded",
    given: (stand) =>
      stand.apply({ machine: { kernel: { modules: [{ name: "nvidia_peermem" }] } } }),
    run: (stand) =>
      upgrade(stand, { modules: [...stand.gpuTask().modules, "nvidia_peermem"], timeouts: short }),
    says: [/kernel modules not loaded: nvidia_peermem/],
    within: 400,
    then: async (stand, before) => {
      await stand.apply(before.configuration);
      await endsWell(stand, true);
    },
  },
  {
    name: "another tool staged a sysctl",
    from: "upgraded",
    given: (stand) => stand.apply({ machine: { sysctls: { "vm.swappiness": "7" } } }),
    code: 0,
    says: [/rebooting once, to activate the staged configuration/],
    within: 300,
    then: async (stand) =>
      equal("vm.swappiness", (await stand.talosctl("read", "/proc/sys/vm/swappiness")).trim(), "7"),
  },
  {
    name: "an image without the extension of the default runtime",
    from: "adopted",
    given: (stand) => stand.apply({ machine: { files: [nvidiaByDefault] } }),
    run: (stand) =>
      stand.start(
        "upgrade",
        stand.upgradeTo(stand.schematics.modules, { modules: ["nvidia"], timeouts: short }),
      ).ended,
    says: [
      /its boot does not go on: the kubelet fails at every start.*unknown service runtime\.v1\.RuntimeService.*edit machineconfig/,
      /Then run again(?!, which)/,
    ],
    within: 400,
    then: async (stand, before) => {
      await boots(stand, () => stand.apply(before.configuration, "auto"));
      await endsWell(stand, true);
    },
  },
  {
    name: "an image whose kernel does not come up",
    from: "adopted",
    run: (stand) =>
      stand.start("upgrade", stand.upgradeTo(stand.schematics.broken, { timeouts: short })).ended,
    says: [/did not run within 4m/],
    within: 700,
  },
  {
    name: "an installer that fails",
    from: "adopted",
    run: (stand) => stand.start("upgrade", stand.upgradeTo(stand.schematics.empty)).ended,
    says: [API === "legacy" ? notInstalled : /the machine was not rebooted/],
    within: 700,
    then: (stand) => endsWell(stand, true),
  },
  {
    name: "a disk that is full",
    from: "adopted",
    given: async (stand) => {
      await stand.apply(`${await stand.configuration()}---\n${stringify(ephemeral("400MB"))}`);
      await wipe(stand);
    },
    says: [
      /its disk has no room for the installer: .*no space left on device/,
      /nothing was changed on the machine/,
    ],
    within: 200,
    untouched: true,
    then: async (stand, { configuration }) => {
      await stand.talosctl("usage", "/var");
      await stand.apply(`${configuration}---\n${stringify(ephemeral("4GB"))}`);
      await wipe(stand);
      await endsWell(stand, true);
    },
  },
  {
    name: "power cut in the pull",
    from: "adopted",
    run: (stand) => {
      const before = stand.imageFactory.registry.requests.length;
      return cutWhen(stand, "a layer is pulled", () =>
        stand.imageFactory.registry.requests
          .slice(before)
          .some((line) => /GET .*\/blobs\//.test(line)),
      );
    },
    code: 0,
    says: [new RegExp(`upgrading through the ${API} API`)],
    within: 700,
    then: (stand) => endsWell(stand, false),
  },
  {
    name: "power cut in the installation",
    from: "adopted",
    run: (stand) =>
      cutWhen(stand, "it installs", () =>
        /starting upgrade|performing upgrade/.test(stand.console()),
      ),
    code: API === "legacy" ? 1 : 0,
    says: [API === "legacy" ? notInstalled : /so the program requests the reboot again/],
    within: 900,
    then: (stand) => endsWell(stand, API === "legacy"),
  },
  {
    name: "power cut in the first boot of an upgrade",
    from: "adopted",
    run: (stand) => {
      const boot = /Linux version/g;
      const before = [...stand.console().matchAll(boot)].length;
      return cutWhen(
        stand,
        "the new image boots",
        () => [...stand.console().matchAll(boot)].length > before,
      );
    },
    code: 0,
    says: [/upgrading through the/],
    within: 700,
    then: (stand) => endsWell(stand, false),
  },
  ...(
    [
      ["the machine does not answer", "pause", "resume", 120],
      ["the machine is off", "cutPower", "powerOn", 90],
    ] as const
  ).map(([name, goes, comes, within]): Row => ({
    name,
    from: "upgraded",
    given: (stand) => stand.machine[goes](),
    run: (stand) => upgrade(stand, { timeouts: { ...short, reboot: "1m" } }),
    says: [/was not up within 1m/, /nothing was changed on the machine/],
    within,
    then: async (stand) => {
      await stand.machine[comes]();
      await endsWell(stand, false);
    },
  })),
];
// With the older API no image waits for a boot: Talos reboots as soon as it has installed the image.
export const rows = all
  .filter(({ from }) => API === "lifecycle" || from !== "installed")
  .filter(({ talos = "*" }) => semver.satisfies(RELEASE, talos))
  .map((row) => ({ run: (stand: Stand) => upgrade(stand), code: 1, ...row }));
