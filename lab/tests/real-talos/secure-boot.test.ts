import * as fs from "node:fs";
import * as path from "node:path";
import { parseResources } from "../../../components/clients/talos/talosctl-output";
import { releases } from "../../talos";
import { programOnPath } from "../../on-path";
import { openStand, RELEASE, whyNotReal, type Stand } from "./stand";

/**
 * The machine program against a machine whose firmware enforces Secure Boot, with keys of the lab's own. Its volume
 * EPHEMERAL is encrypted with a key in its TPM.
 */
const reasons = [
  ...whyNotReal(["1", ...releases]),
  ...(programOnPath("swtpm") === undefined ? ["there is no swtpm (apt-get install swtpm)"] : []),
].join("; ");
if (reasons !== "") console.warn(`Secure Boot: skipped: ${reasons}`);
const real = reasons === "" ? describe : describe.skip;

const minutes = (count: number): number => count * 60_000;
real(`Secure Boot ${reasons === "" ? "" : `(skipped: ${reasons})`}`, () => {
  let stand: Stand;
  /** Identity of the encrypted volume, which a new encryption would change. */
  let volume: unknown;
  beforeAll(async () => {
    stand = await openStand({ secure: true });
  }, minutes(30));
  afterAll(() => stand?.close(), minutes(2));

  const get = async (...args: string[]): Promise<any> =>
    parseResources(await stand.talosctl("get", ...args, "-o", "json"))[0]?.spec;
  const ephemeral = async (): Promise<object> => {
    const { encryptionProvider, configuredEncryptionKeys, partitionUUID } = await get(
      "volumestatus",
      "EPHEMERAL",
    );
    const found = parseResources(await stand.talosctl("get", "discoveredvolumes", "-o", "json"));
    const luks = found.filter(({ spec }) => spec.name === "luks").map(({ spec }) => spec.uuid);
    return { encryptionProvider, configuredEncryptionKeys, partitionUUID, luks };
  };
  const unsigned = (): string =>
    `factory.talos.dev/metal-installer/${stand.schematics.gpu}:${RELEASE}`;
  const theirs = (): string =>
    `factory.talos.dev/theirs/metal-installer-secureboot/${stand.schematics.gpu}:${RELEASE}`;

  /** Disk, variables of the firmware and TPM of the machine, which is off meanwhile. */
  const files = ["disk.qcow2", "variables.qcow2", "tpm"];
  const copy = (from: string, to: string): void => {
    for (const file of files)
      fs.cpSync(path.join(stand.dir, from, file), path.join(stand.dir, to, file), {
        recursive: true,
      });
  };
  const back = async (): Promise<void> => {
    await stand.machine.cutPower();
    copy("copy", "machine");
    await stand.machine.powerOn();
    await stand.until("it runs again", 15, stand.runs);
  };

  test(
    "the firmware has the lab's key, and enforces Secure Boot",
    async () => {
      const { secureBoot, bootedWithUKI, pcrSigningKeyFingerprint } = await get("securitystate");
      expect([secureBoot, bootedWithUKI]).toEqual([true, true]);
      expect(pcrSigningKeyFingerprint).toMatch(/^([0-9A-F]{2}:)+/);
      volume = await ephemeral();
      process.stderr.write(`${JSON.stringify(volume)}\n`);
      expect(volume).toMatchObject({
        encryptionProvider: "luks2",
        configuredEncryptionKeys: ["tpm"],
      });
      // What the preflight reads.
      const db = await stand.talosctl(
        "read",
        "/sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f",
      );
      expect(db).toContain("lab ours");
    },
    minutes(5),
  );

  test(
    "an unsigned image is refused before anything changes",
    async () => {
      const before = await stand.bootId();
      const task = stand.gpuTask({ installerImage: unsigned() });
      const { code, said } = await stand.start("upgrade", task).ended;
      expect(code).toBe(1);
      expect(said).toMatch(
        /secureBoot: only the TPM can open the machine's volumes EPHEMERAL, and its firmware enforces Secure Boot/,
      );
      expect([await stand.bootId(), stand.installed()]).toEqual([before, 0]);
    },
    minutes(5),
  );

  test(
    "the program upgrades to the signed image, and the encrypted volume survives",
    async () => {
      expect((await stand.start("adopt", stand.adoption()).ended).code).toBe(0);
      // The machine unpacks the installer onto an encrypted volume, whose cipher the emulated processor runs slowly.
      const timeouts = { pull: "30m", drain: "2m", reboot: "20m", verify: "5m" };
      const { code, answer } = await stand.start("upgrade", stand.gpuTask({ timeouts })).ended;
      expect([code, answer["rebooted"], answer["schematicId"]]).toEqual([
        0,
        true,
        stand.schematics.gpu,
      ]);
      expect(await get("securitystate")).toMatchObject({ secureBoot: true, bootedWithUKI: true });
      expect(await ephemeral()).toEqual(volume);
      await stand.machine.cutPower();
      copy("machine", "copy");
    },
    minutes(65),
  );

  test.each([
    ["an unsigned image", unsigned],
    ["an image that is signed with another key", theirs],
  ])(
    "%s that an owner installs by hand does not boot, and Talos does not go back",
    async (name, image) => {
      await back();
      const before = stand.console().length;
      const booted = await stand.bootId();
      await stand
        .talosctl(
          "upgrade",
          "--image",
          image(),
          "--wait=false",
          "--drain=false",
          "--progress=plain",
        )
        .catch((error: Error) => process.stderr.write(`${error.message}\n`));
      const said = (): string => stand.console().slice(before);
      await stand.until("it goes down", 15, () =>
        Promise.resolve(/reboot: Restarting system|BdsDxe|Access Denied/.test(said())),
      );
      await stand.until("the firmware refuses it", 5, () =>
        Promise.resolve(/Access Denied|Security Violation|No bootable|Shell>/i.test(said())),
      );
      process.stderr.write(`${name}:\n${said().slice(-3000)}\n`);
      await expect(stand.bootId()).rejects.toThrow();
      expect(booted).not.toBe("");
    },
    minutes(30),
  );
});
