import { NODE, openStand, whyNotReal, type Stand } from "./stand";

/** The machine program, as it is shipped, against Talos itself in a virtual machine: what an emulation was found wrong about before. */
const reasons = whyNotReal().join("; ");
if (reasons !== "") console.warn(`real Talos: skipped: ${reasons}`);
const real = reasons === "" ? describe : describe.skip;

const minutes = (count: number): number => count * 60_000;
const patches = [
  "machine:\n  kernel:\n    modules:\n      - name: nvidia\n        parameters:\n          - NVreg_PreserveVideoMemoryAllocations=1\n      - name: nvidia_uvm\n      - name: nvidia_drm\n      - name: nvidia_modeset\n",
  "machine:\n  sysctls:\n    net.core.bpf_jit_harden: '1'\n",
];

real(`real Talos ${reasons === "" ? "" : `(skipped: ${reasons})`}`, () => {
  let stand: Stand;
  let owned: string;
  const adoption = (): object => ({ machine: NODE, address: stand.machine.address, patches });
  const installed = (): number => stand.machine.console().split("upgrade completed successfully").length - 1;
  /** Keys of META: 0x06 (6) names the image to fall back to, as long as an upgrade is not confirmed. */
  const waits = async (): Promise<boolean> => / 0x06 /.test(await stand.talosctl("get", "metakeys"));
  const gpuTask = (more = {}): object =>
    stand.upgradeTo(stand.schematics.gpu, {
      extensionServices: [
        { name: "ext-nvidia-persistenced", state: "Running" },
        { name: "ext-nvidia-cdi-gen", state: "Finished" },
      ],
      ...more,
    });

  beforeAll(async () => {
    stand = await openStand();
    const stage = async (): Promise<boolean> =>
      /stage: running/.test(await stand.talosctl("get", "machinestatus", "-o", "yaml"));
    await stand.until("the machine runs", 15, stage);
  }, minutes(30));
  afterAll(() => stand?.close(), minutes(2));

  test(
    "adopt adds our keys, and leaves every other line as it was",
    async () => {
      owned = await stand.configuration();
      const { code, answer } = await stand.start("adopt", adoption()).ended;
      expect([code, answer["changed"]]).toEqual([0, true]);
      const lines = (text: string): string[] =>
        text
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== "");
      const now = lines(await stand.configuration());
      expect(lines(owned).filter((line) => !now.includes(line))).toEqual([]);
      const again = await stand.start("adopt", adoption(), { PULUMI_COMMAND_STDOUT: JSON.stringify(answer) }).ended;
      expect(again.answer["hash"]).toBe(answer["hash"]);
    },
    minutes(5),
  );

  test(
    "a registry that does not answer ends the upgrade before anything is changed",
    async () => {
      const before = await stand.bootId();
      const task = gpuTask({
        installerImage: "factory.talos.dev/silent/installer:v1.13.0",
        timeouts: { pull: "1m", drain: "1m", reboot: "5m", verify: "1m" },
      });
      const { code, said, seconds } = await stand.start("upgrade", task).ended;
      expect(code).toBe(1);
      expect(said).toContain("installer");
      expect(seconds).toBeLessThan(150);
      expect(await stand.bootId()).toBe(before);
      expect(installed()).toBe(0);
    },
    minutes(5),
  );

  test(
    "killed between install and reboot, it installs once, and the image that ran is still there to fall back to",
    async () => {
      const { child, ended } = stand.start("upgrade", gpuTask());
      await stand.until("the installer is done", 15, () =>
        Promise.resolve(installed() === 1 || child.exitCode !== null),
      );
      child.kill("SIGKILL");
      await ended;
      // Talos reboots where its client asks for that, which a killed one does not.
      expect([installed(), await waits()]).toEqual([1, true]);
      const before = await stand.bootId();
      const { code, answer } = await stand.start("upgrade", gpuTask()).ended;
      expect([code, answer["rebooted"], answer["schematicId"]]).toEqual([0, true, stand.schematics.gpu]);
      expect(installed()).toBe(1);
      expect(await stand.bootId()).not.toBe(before);
      expect(await stand.talosctl("read", "/proc/driver/nvidia/version")).toContain("Open Kernel Module");
    },
    minutes(30),
  );

  test(
    "run again, it finds what it wants, and reboots nothing",
    async () => {
      const before = await stand.bootId();
      const { code, answer } = await stand.start("upgrade", gpuTask()).ended;
      expect([code, answer["rebooted"]]).toEqual([0, false]);
      expect(await stand.bootId()).toBe(before);
    },
    minutes(5),
  );

  test(
    "release gives back what was there",
    async () => {
      const { code } = await stand.start("release", adoption()).ended;
      expect(code).toBe(0);
      const words = (text: string): string => text.replace(/\s+/g, " ").trim();
      expect(words(await stand.configuration())).toBe(words(owned));
    },
    minutes(5),
  );
});
