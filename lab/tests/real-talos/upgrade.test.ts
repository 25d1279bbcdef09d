import { parse } from "yaml";
import { valueAt } from "../../../components/recipe/mapping";
import { releases } from "../../talos";
import {
  configurationInStyle,
  configurationStyles,
  linesAfter,
} from "../../../tests/support/configuration-styles";
import { failureCases } from "./failures";
import {
  knownDifferences,
  startEmulatedMachine,
  resourceLines,
  differingLines,
  outputLines,
} from "./judge";
import { API, startTestBed, RELEASE, reasonsToSkip, type TestBed } from "./test-bed";

/**
 * The published machine program against real Talos in a virtual machine. The emulation was once wrong about each of
 * these cases.
 */
const reasons = reasonsToSkip(["1", ...releases]).join("; ");
if (reasons !== "") console.warn(`real Talos: skipped: ${reasons}`);
const describeReal = reasons === "" ? describe : describe.skip;

const minutes = (count: number): number => count * 60_000;
describeReal(`real Talos ${reasons === "" ? "" : `(skipped: ${reasons})`}`, () => {
  let testBed: TestBed;
  let ownerConfiguration: string;
  /** Output of `adopt`, which Pulumi passes to the next `adopt` and to `release`. */
  let adoptEnvironment: { PULUMI_COMMAND_STDOUT: string };
  /**
   * The machine's resources and the program's output after each step, for the comparison with an emulated machine.
   */
  const realLines: Record<string, string[]> = {};
  beforeAll(async () => {
    testBed = await startTestBed();
  }, minutes(30));
  afterAll(() => testBed?.close(), minutes(2));

  test(
    "adopt adds the stack's keys, and changes no other line",
    async () => {
      ownerConfiguration = await testBed.configuration();
      const result = await testBed.startProgram("adopt", testBed.adoptTask()).result;
      const { code, answer } = result;
      expect(code).toBe(0);
      expect(answer["changed"]).toBe(true);
      realLines["adopt"] = outputLines(result);
      realLines["adopted"] = await resourceLines(testBed.talosctl);
      const lines = (text: string): string[] =>
        text
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== "");
      const adoptedLines = lines(await testBed.configuration());
      expect(lines(ownerConfiguration).filter((line) => !adoptedLines.includes(line))).toEqual([]);
      adoptEnvironment = { PULUMI_COMMAND_STDOUT: JSON.stringify(answer) };
      const secondResult = await testBed.startProgram(
        "adopt",
        testBed.adoptTask(),
        adoptEnvironment,
      ).result;
      expect(secondResult.answer["hash"]).toBe(answer["hash"]);
      await testBed.machine.save("adopted");
    },
    minutes(5),
  );

  test.each(configurationStyles)(
    "an owner's configuration in the style of %s is the same, byte for byte, after adopt and release",
    async (style) => {
      const values = parse(ownerConfiguration.split(/^---$/m)[0]!) as unknown;
      const original = configurationInStyle(style, (path) =>
        String(valueAt(values, ...path.split("."))),
      );
      await testBed.restore("adopted");
      await testBed.waitUntil("it answers", 2, async () => (await testBed.bootId()) !== "");
      await testBed.apply(original);
      expect(await testBed.configuration()).toBe(original);
      const { code, answer } = await testBed.startProgram("adopt", testBed.adoptTask()).result;
      expect(code).toBe(0);
      expect(answer["changed"]).toBe(true);
      linesAfter(original, await testBed.configuration());
      const environment = { PULUMI_COMMAND_STDOUT: JSON.stringify(answer) };
      const released = await testBed.startProgram("release", testBed.adoptTask(), environment)
        .result;
      expect(released.code).toBe(0);
      expect(await testBed.configuration()).toBe(original);
    },
    minutes(5),
  );

  test(
    "if the registry does not answer, the upgrade stops before it changes anything",
    async () => {
      const bootIdBefore = await testBed.bootId();
      const task = testBed.gpuTask({
        installerImage: `factory.talos.dev/silent/installer:${RELEASE}`,
        timeouts: { pull: "1m", drain: "1m", reboot: "5m", verify: "1m" },
      });
      const { code, output, seconds } = await testBed.startProgram("upgrade", task).result;
      expect(code).toBe(1);
      expect(output).toContain("installer");
      expect(seconds).toBeLessThan(150);
      expect(await testBed.bootId()).toBe(bootIdBefore);
      expect(testBed.installationCount()).toBe(0);
    },
    minutes(5),
  );

  test(
    "an upgrade that is killed during the installation installs once, and Talos can still return to the former image",
    async () => {
      const bootIdBefore = await testBed.bootId();
      const { child, result } = testBed.startProgram("upgrade", testBed.gpuTask());
      const hasStartedUpgrade = (): boolean =>
        testBed.installationCount() === 1 || /performing upgrade/.test(testBed.console());
      await testBed.waitUntil("it upgrades", 15, () =>
        Promise.resolve(hasStartedUpgrade() || child.exitCode !== null),
      );
      child.kill("SIGKILL");
      await result;
      if (API === "lifecycle") {
        // Talos reboots only when its client asks for it, which a killed client does not; and it reads META only at
        // boot.
        expect(testBed.installationCount()).toBe(1);
        expect(await testBed.isUpgradeUnconfirmed()).toBe(false);
        await testBed.machine.save("installed");
      }
      const secondRun = testBed.startProgram("upgrade", testBed.gpuTask());
      await testBed.waitUntil("the new image boots, unconfirmed", 15, testBed.isUpgradeUnconfirmed);
      const { code, answer } = await secondRun.result;
      expect(code).toBe(0);
      // With the older API, the installation that the killed program requested ends with a reboot.
      expect(answer["rebooted"]).toBe(API === "lifecycle");
      expect(answer["schematicId"]).toBe(testBed.schematics.gpu);
      expect(testBed.installationCount()).toBe(1);
      expect(await testBed.isUpgradeUnconfirmed()).toBe(false);
      expect(await testBed.bootId()).not.toBe(bootIdBefore);
      expect(await testBed.talosctl("read", "/proc/driver/nvidia/version")).toContain(
        "Open Kernel Module",
      );
      realLines["upgraded"] = await resourceLines(testBed.talosctl);
      await testBed.machine.save("upgraded");
    },
    minutes(30),
  );

  test(
    "a second run of the upgrade finds the machine as wanted, and does not reboot it",
    async () => {
      const bootIdBefore = await testBed.bootId();
      const result = await testBed.startProgram("upgrade", testBed.gpuTask()).result;
      expect(result.code).toBe(0);
      expect(result.answer["rebooted"]).toBe(false);
      realLines["upgrade again"] = outputLines(result);
      expect(await testBed.bootId()).toBe(bootIdBefore);
    },
    minutes(5),
  );

  test(
    "release restores the former configuration, except for the modules that the image needs",
    async () => {
      const result = await testBed.startProgram("release", testBed.adoptTask(), adoptEnvironment)
        .result;
      expect(result.code).toBe(0);
      realLines["release"] = outputLines(result);
      // The modules stay, since extensions of the running image wait for the driver at every boot (talos#14373).
      const keptModules =
        "kernel: modules: - name: nvidia parameters: - NVreg_PreserveVideoMemoryAllocations=1 - name: nvidia_uvm - name: nvidia_drm - name: nvidia_modeset ";
      const inOneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
      const released = inOneLine(await testBed.configuration());
      expect(released).toContain(keptModules);
      expect(released.replace(keptModules, "")).toBe(inOneLine(ownerConfiguration));
    },
    minutes(5),
  );

  test(
    "an emulated machine has the real one's resources, and the program reports the same, except for listed differences",
    async () => {
      const emulated = await startEmulatedMachine(testBed, ownerConfiguration);
      try {
        const emulatedLines: Record<string, string[]> = {};
        const runOnEmulated = async (...args: Parameters<TestBed["startProgram"]>) =>
          outputLines(await emulated.startProgram(...args).result);
        emulatedLines["adopt"] = await runOnEmulated("adopt", testBed.adoptTask());
        emulatedLines["adopted"] = await resourceLines(emulated.talosctl);
        await runOnEmulated("upgrade", testBed.gpuTask());
        emulatedLines["upgraded"] = await resourceLines(emulated.talosctl);
        emulatedLines["upgrade again"] = await runOnEmulated("upgrade", testBed.gpuTask());
        emulatedLines["release"] = await runOnEmulated(
          "release",
          testBed.adoptTask(),
          adoptEnvironment,
        );
        const foundDifferences = Object.keys(emulatedLines).flatMap((step) =>
          differingLines(realLines[step]!, emulatedLines[step]!).map((line) => `${step}: ${line}`),
        );
        const unknownDifferences = foundDifferences.filter(
          (line) => !knownDifferences.some((known) => known.line.test(line)),
        );
        expect(unknownDifferences).toEqual([]);
        const missingDifferences = knownDifferences.filter(
          (known) => !foundDifferences.some((line) => known.line.test(line)),
        );
        expect(missingDifferences).toEqual([]);
      } finally {
        await emulated.close();
      }
    },
    minutes(5),
  );

  test.each(failureCases)(
    "the program reports the failure as expected, and its remedy works: $name",
    async ({
      initialState,
      prepare,
      run,
      exitCode,
      messages,
      maxSeconds,
      changesNothing,
      followRemedy,
    }) => {
      await testBed.restore(initialState);
      const readState = async (): Promise<unknown[]> => [
        await testBed.bootId(),
        await testBed.configuration(),
        testBed.installationCount(),
      ];
      await testBed.waitUntil("it answers", 2, async () => (await testBed.bootId()) !== "");
      const configuration = await testBed.configuration();
      await prepare?.(testBed);
      const stateBefore = changesNothing ? await readState() : [];
      const result = await run(testBed);
      for (const message of messages) expect(result.output).toMatch(message);
      expect(result.code).toBe(exitCode);
      expect(result.seconds).toBeLessThan(maxSeconds);
      if (changesNothing) expect(await readState()).toEqual(stateBefore);
      await followRemedy?.(testBed, { configuration });
    },
    minutes(45),
  );
});
