import { parse } from "yaml";
import { valueAt } from "../../../components/recipe/mapping";
import { releases } from "../../talos";
import {
  configurationInStyle,
  configurationStyles,
  linesAfter,
} from "../../../tests/support/configuration-styles";
import { rows } from "./failures";
import { differences, emulate, shown, unlike, words } from "./judge";
import { API, openStand, RELEASE, whyNotReal, type Stand } from "./stand";

/**
 * The published machine program against real Talos in a virtual machine. The emulation was once wrong about each of
 * these cases.
 */
const reasons = whyNotReal(["1", ...releases]).join("; ");
if (reasons !== "") console.warn(`real Talos: skipped: ${reasons}`);
const real = reasons === "" ? describe : describe.skip;

const minutes = (count: number): number => count * 60_000;
real(`real Talos ${reasons === "" ? "" : `(skipped: ${reasons})`}`, () => {
  let stand: Stand;
  let owned: string;
  /** Output of `adopt`, which Pulumi passes to the next `adopt` and to `release`. */
  let adopted: { PULUMI_COMMAND_STDOUT: string };
  /**
   * The machine's resources and the program's output after each step, for the comparison with an emulated machine.
   */
  const seen: Record<string, string[]> = {};
  beforeAll(async () => {
    stand = await openStand();
  }, minutes(30));
  afterAll(() => stand?.close(), minutes(2));

  test(
    "adopt adds the stack's keys, and changes no other line",
    async () => {
      owned = await stand.configuration();
      const ended = await stand.start("adopt", stand.adoption()).ended;
      const { code, answer } = ended;
      expect([code, answer["changed"]]).toEqual([0, true]);
      seen["adopt"] = words(ended);
      seen["adopted"] = await shown(stand.talosctl);
      const lines = (text: string): string[] =>
        text
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== "");
      const now = lines(await stand.configuration());
      expect(lines(owned).filter((line) => !now.includes(line))).toEqual([]);
      adopted = { PULUMI_COMMAND_STDOUT: JSON.stringify(answer) };
      const again = await stand.start("adopt", stand.adoption(), adopted).ended;
      expect(again.answer["hash"]).toBe(answer["hash"]);
      await stand.machine.save("adopted");
    },
    minutes(5),
  );

  test.each(configurationStyles)(
    "an owner's configuration in the style of %s is the same, byte for byte, after adopt and release",
    async (style) => {
      const values = parse(owned.split(/^---$/m)[0]!) as unknown;
      const written = configurationInStyle(style, (at) =>
        String(valueAt(values, ...at.split("."))),
      );
      await stand.restore("adopted");
      await stand.until("it answers", 2, async () => (await stand.bootId()) !== "");
      await stand.apply(written);
      expect(await stand.configuration()).toBe(written);
      const { code, answer } = await stand.start("adopt", stand.adoption()).ended;
      expect([code, answer["changed"]]).toEqual([0, true]);
      linesAfter(written, await stand.configuration());
      const kept = { PULUMI_COMMAND_STDOUT: JSON.stringify(answer) };
      expect((await stand.start("release", stand.adoption(), kept).ended).code).toBe(0);
      expect(await stand.configuration()).toBe(written);
    },
    minutes(5),
  );

  test(
    "if the registry does not answer, the upgrade stops before it changes anything",
    async () => {
      const before = await stand.bootId();
      const task = stand.gpuTask({
        installerImage: `factory.talos.dev/silent/installer:${RELEASE}`,
        timeouts: { pull: "1m", drain: "1m", reboot: "5m", verify: "1m" },
      });
      const { code, said, seconds } = await stand.start("upgrade", task).ended;
      expect(code).toBe(1);
      expect(said).toContain("installer");
      expect(seconds).toBeLessThan(150);
      expect(await stand.bootId()).toBe(before);
      expect(stand.installed()).toBe(0);
    },
    minutes(5),
  );

  test(
    "an upgrade that is killed during the installation installs once, and Talos can still return to the former image",
    async () => {
      const before = await stand.bootId();
      const { child, ended } = stand.start("upgrade", stand.gpuTask());
      const upgrades = (): boolean =>
        stand.installed() === 1 || /performing upgrade/.test(stand.console());
      await stand.until("it upgrades", 15, () =>
        Promise.resolve(upgrades() || child.exitCode !== null),
      );
      child.kill("SIGKILL");
      await ended;
      if (API === "lifecycle") {
        // Talos reboots only when its client asks for it, which a killed client does not; and it reads META only at
        // boot.
        expect([stand.installed(), await stand.unconfirmed()]).toEqual([1, false]);
        await stand.machine.save("installed");
      }
      const again = stand.start("upgrade", stand.gpuTask());
      await stand.until("the new image boots, unconfirmed", 15, stand.unconfirmed);
      const { code, answer } = await again.ended;
      const asked = API === "lifecycle";
      expect([code, answer["rebooted"], answer["schematicId"]]).toEqual([
        0,
        asked,
        stand.schematics.gpu,
      ]);
      expect([stand.installed(), await stand.unconfirmed()]).toEqual([1, false]);
      expect(await stand.bootId()).not.toBe(before);
      expect(await stand.talosctl("read", "/proc/driver/nvidia/version")).toContain(
        "Open Kernel Module",
      );
      seen["upgraded"] = await shown(stand.talosctl);
      await stand.machine.save("upgraded");
    },
    minutes(30),
  );

  test(
    "a second run of the upgrade finds the machine as wanted, and does not reboot it",
    async () => {
      const before = await stand.bootId();
      const ended = await stand.start("upgrade", stand.gpuTask()).ended;
      expect([ended.code, ended.answer["rebooted"]]).toEqual([0, false]);
      seen["upgrade again"] = words(ended);
      expect(await stand.bootId()).toBe(before);
    },
    minutes(5),
  );

  test(
    "release restores the former configuration, except for the modules that the image needs",
    async () => {
      const ended = await stand.start("release", stand.adoption(), adopted).ended;
      expect(ended.code).toBe(0);
      seen["release"] = words(ended);
      // The modules stay, since extensions of the running image wait for the driver at every boot (talos#14373).
      const modules =
        "kernel: modules: - name: nvidia parameters: - NVreg_PreserveVideoMemoryAllocations=1 - name: nvidia_uvm - name: nvidia_drm - name: nvidia_modeset ";
      const flat = (text: string): string => text.replace(/\s+/g, " ").trim();
      const released = flat(await stand.configuration());
      expect(released).toContain(modules);
      expect(released.replace(modules, "")).toBe(flat(owned));
    },
    minutes(5),
  );

  test(
    "an emulated machine has the real one's resources, and the program reports the same, except for listed differences",
    async () => {
      const emulated = await emulate(stand, owned);
      try {
        const now: Record<string, string[]> = {};
        now["adopt"] = words(await emulated.start("adopt", stand.adoption()).ended);
        now["adopted"] = await shown(emulated.talosctl);
        await emulated.start("upgrade", stand.gpuTask()).ended;
        now["upgraded"] = await shown(emulated.talosctl);
        now["upgrade again"] = words(await emulated.start("upgrade", stand.gpuTask()).ended);
        now["release"] = words(await emulated.start("release", stand.adoption(), adopted).ended);
        const all = Object.keys(now).flatMap((at) =>
          unlike(seen[at]!, now[at]!).map((line) => `${at}: ${line}`),
        );
        expect(all.filter((line) => !differences.some(([known]) => known.test(line)))).toEqual([]);
        expect(differences.filter(([known]) => !all.some((line) => known.test(line)))).toEqual([]);
      } finally {
        await emulated.close();
      }
    },
    minutes(5),
  );

  test.each(rows)(
    "$name",
    async ({ from, given, run, code, says, within, untouched, then }) => {
      await stand.restore(from);
      const state = async (): Promise<unknown[]> => [
        await stand.bootId(),
        await stand.configuration(),
        stand.installed(),
      ];
      await stand.until("it answers", 2, async () => (await stand.bootId()) !== "");
      const configuration = await stand.configuration();
      await given?.(stand);
      const before = untouched ? await state() : [];
      const ended = await run(stand);
      for (const words of says) expect(ended.said).toMatch(words);
      expect(ended.code).toBe(code);
      expect(ended.seconds).toBeLessThan(within);
      if (untouched) expect(await state()).toEqual(before);
      await then?.(stand, { configuration });
    },
    minutes(45),
  );
});
