import * as fs from "node:fs";
import * as path from "node:path";
import { parseResources } from "../../../components/clients/talos/talosctl-output";
import { releases } from "../../talos";
import { programOnPath } from "../../on-path";
import { BOOT, startTestBed, RELEASE, reasonsToSkip, type TestBed } from "./test-bed";

/**
 * The machine program against a machine whose firmware enforces Secure Boot, with keys of the lab's own. Its volume
 * EPHEMERAL is encrypted with a key in its TPM.
 */
const reasons = [
  ...reasonsToSkip(["1", ...releases]),
  // The disk with the signed image starts by systemd-boot (test-bed.ts).
  ...(BOOT === "systemd-boot" ? [] : [`TALOS_GPU_REAL_BOOT asks for ${BOOT}`]),
  ...(programOnPath("swtpm") === undefined ? ["there is no swtpm (apt-get install swtpm)"] : []),
].join("; ");
if (reasons !== "") console.warn(`Secure Boot: skipped: ${reasons}`);
const describeReal = reasons === "" ? describe : describe.skip;

const minutes = (count: number): number => count * 60_000;
describeReal(`Secure Boot ${reasons === "" ? "" : `(skipped: ${reasons})`}`, () => {
  let testBed: TestBed;
  /** Identity of the encrypted volume, which a new encryption would change. */
  let volume: unknown;
  beforeAll(async () => {
    testBed = await startTestBed({ secure: true });
  }, minutes(30));
  afterAll(() => testBed?.close(), minutes(2));

  const getSpec = async (...args: string[]): Promise<any> =>
    parseResources(await testBed.talosctl("get", ...args, "-o", "json"))[0]?.spec;
  const readEphemeralVolume = async (): Promise<object> => {
    const { encryptionProvider, configuredEncryptionKeys, partitionUUID } = await getSpec(
      "volumestatus",
      "EPHEMERAL",
    );
    const volumes = parseResources(
      await testBed.talosctl("get", "discoveredvolumes", "-o", "json"),
    );
    const luks = volumes.filter(({ spec }) => spec.name === "luks").map(({ spec }) => spec.uuid);
    return { encryptionProvider, configuredEncryptionKeys, partitionUUID, luks };
  };
  const unsignedImage = (): string =>
    `factory.talos.dev/metal-installer/${testBed.schematics.gpu}:${RELEASE}`;
  const imageOfOtherSigner = (): string =>
    `factory.talos.dev/untrusted/metal-installer-secureboot/${testBed.schematics.gpu}:${RELEASE}`;

  /** Disk, variables of the firmware and TPM of the machine, which is off meanwhile. */
  const machineFiles = ["disk.qcow2", "variables.qcow2", "tpm"];
  const copyMachineFiles = (source: string, target: string): void => {
    for (const file of machineFiles)
      fs.cpSync(path.join(testBed.dir, source, file), path.join(testBed.dir, target, file), {
        recursive: true,
      });
  };
  const restoreMachine = async (): Promise<void> => {
    await testBed.machine.cutPower();
    copyMachineFiles("copy", "machine");
    await testBed.machine.powerOn();
    await testBed.waitUntil("it runs again", 15, testBed.isRunning);
  };

  test(
    "the firmware has the lab's key, and enforces Secure Boot",
    async () => {
      const { secureBoot, bootedWithUKI, pcrSigningKeyFingerprint } =
        await getSpec("securitystate");
      expect(secureBoot).toBe(true);
      expect(bootedWithUKI).toBe(true);
      expect(pcrSigningKeyFingerprint).toMatch(/^([0-9A-F]{2}:)+/);
      volume = await readEphemeralVolume();
      process.stderr.write(`${JSON.stringify(volume)}\n`);
      expect(volume).toMatchObject({
        encryptionProvider: "luks2",
        configuredEncryptionKeys: ["tpm"],
      });
      // What the preflight reads.
      const db = await testBed.talosctl(
        "read",
        "/sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f",
      );
      expect(db).toContain("lab trusted");
    },
    minutes(5),
  );

  test(
    "an unsigned image is refused before anything changes",
    async () => {
      const bootIdBefore = await testBed.bootId();
      const task = testBed.gpuTask({ installerImage: unsignedImage() });
      const { code, output } = await testBed.startProgram("upgrade", task).result;
      expect(code).toBe(1);
      expect(output).toMatch(
        /secureBoot: only the TPM can open the machine's volumes EPHEMERAL, and its firmware enforces Secure Boot/,
      );
      expect(await testBed.bootId()).toBe(bootIdBefore);
      expect(testBed.installationCount()).toBe(0);
    },
    minutes(5),
  );

  test(
    "the program upgrades to the signed image, and the encrypted volume survives",
    async () => {
      expect((await testBed.startProgram("adopt", testBed.adoptTask()).result).code).toBe(0);
      // The machine unpacks the installer onto an encrypted volume, whose cipher the emulated processor runs slowly.
      const timeouts = { pull: "30m", drain: "2m", reboot: "20m", verify: "5m" };
      const { code, answer } = await testBed.startProgram("upgrade", testBed.gpuTask({ timeouts }))
        .result;
      expect(code).toBe(0);
      expect(answer["rebooted"]).toBe(true);
      expect(answer["schematicId"]).toBe(testBed.schematics.gpu);
      expect(await getSpec("securitystate")).toMatchObject({
        secureBoot: true,
        bootedWithUKI: true,
      });
      expect(await readEphemeralVolume()).toEqual(volume);
      // The next tests begin with this state of the machine.
      await testBed.machine.cutPower();
      copyMachineFiles("machine", "copy");
    },
    minutes(65),
  );

  test.each([
    ["an unsigned image", unsignedImage],
    ["an image that is signed with another key", imageOfOtherSigner],
  ])(
    "%s that an owner installs by hand does not boot, and Talos does not go back",
    async (name, image) => {
      await restoreMachine();
      // Only the machine's own console, since the firmware writes nothing to machined's log.
      const consoleLength = testBed.machine.console().length;
      await testBed
        .talosctl(
          "upgrade",
          "--image",
          image(),
          "--wait=false",
          "--drain=false",
          "--progress=plain",
        )
        .catch((error: Error) => process.stderr.write(`${error.message}\n`));
      const newConsole = (): string => testBed.machine.console().slice(consoleLength);
      await testBed.waitUntil("it goes down", 15, () =>
        Promise.resolve(/reboot: Restarting system|BdsDxe|Access Denied/.test(newConsole())),
      );
      await testBed.waitUntil("the firmware refuses it", 5, () =>
        Promise.resolve(/Access Denied|Security Violation|No bootable|Shell>/i.test(newConsole())),
      );
      process.stderr.write(`${name}:\n${newConsole().slice(-3000)}\n`);
      // A boot of the old image would take about a minute until its kernel writes to the console.
      await testBed.waitUntil("the firmware tried all of its entries", 10, () =>
        Promise.resolve(/No bootable option or device was found/.test(newConsole())),
      );
      expect(newConsole().split(/reboot: Restarting system/)[1]).not.toContain("Linux version");
    },
    minutes(30),
  );
});
