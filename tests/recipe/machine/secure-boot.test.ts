import {
  isSigned,
  volumesWithTpmKey,
  unbootable,
  signatureLines,
} from "../../../components/recipe/machine/secure-boot";

const id = "a".repeat(64);
const unsignedImage = `factory.talos.dev/metal-installer/${id}:v1.14.1`;
const signedImage = `factory.talos.dev/metal-installer-secureboot/${id}:v1.14.1`;

test.each<[string, boolean, boolean]>([
  [unsignedImage, false, false],
  [signedImage, false, true],
  [`factory.talos.dev/installer-secureboot/${id}:v1.9.6`, true, true],
  [`factory.example.com/metal-installer/${id}@sha256:${id}`, true, false],
  ["ghcr.io/siderolabs/installer:v1.12.6", true, false],
])("the installer %s (in installerImage: %s) is signed: %s", (image, isCustom, expected) => {
  expect(isSigned(image, isCustom)).toBe(expected);
});

// An image of the imager may have any name.
test("it is unknown whether an installer from the user's own registry is signed", () => {
  expect(isSigned("registry.example.com/talos/installer:v1.13.6", true)).toBeUndefined();
});

const tpm = { slot: 0, tpm: {} };
const passphrase = { slot: 1, static: { passphrase: "not-a-secret" } };
test("volumes with a key in the TPM are found in every form of the configuration", () => {
  const documents = [
    {
      machine: {
        systemDiskEncryption: {
          state: { provider: "luks2", keys: [tpm] },
          ephemeral: { provider: "luks2", keys: [tpm, passphrase] },
        },
      },
    },
    { kind: "UserVolumeConfig", name: "models", encryption: { keys: [tpm] } },
    { kind: "VolumeConfig", name: "META", encryption: { keys: [passphrase] } },
    { kind: "VolumeConfig", name: "EPHEMERAL", provisioning: {} },
    { kind: "HostnameConfig", hostname: "gpu-1" },
    null,
  ];
  expect(volumesWithTpmKey(documents)).toEqual([
    { name: "STATE", hasOnlyTpmKey: true },
    { name: "EPHEMERAL", hasOnlyTpmKey: false },
    { name: "models", hasOnlyTpmKey: true },
  ]);
});

describe("an unsigned image is refused", () => {
  const messages = (...args: Parameters<typeof unbootable>): string[] =>
    unbootable(...args).map(
      ({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`,
    );

  test("if the firmware enforces Secure Boot", () => {
    const [message = ""] = messages("gpu-1", { secureBoot: true }, unsignedImage);
    expect(message).toMatch(/^machines\.gpu-1\.secureBoot: the machine boots with Secure Boot/);
    expect(message).toMatch(/Talos could not roll back; set machines\.gpu-1\.secureBoot: true, or/);
    expect(messages("gpu-1", { secureBoot: true }, signedImage)).toEqual([]);
    expect(messages("gpu-1", { secureBoot: false }, unsignedImage)).toEqual([]);
    expect(messages("gpu-1", {}, unsignedImage)).toEqual([]);
  });

  test("if it is a custom image and the firmware enforces Secure Boot", () => {
    const [message = ""] = messages("gpu-1", { secureBoot: true }, unsignedImage, true);
    expect(message).toMatch(/^machines\.gpu-1\.installerImage: .*name an installer that is signed/);
  });

  test("if only the TPM opens the machine's volumes, and secureBoot: true is the only remedy", () => {
    for (const secureBoot of [true, false]) {
      const [message = "", ...otherMessages] = messages(
        "gpu-1",
        { secureBoot, tpmVolumes: ["STATE"] },
        unsignedImage,
      );
      expect(otherMessages).toEqual([]);
      expect(message).toMatch(/only the TPM can open the machine's volumes STATE/);
      expect(message).toMatch(/; set machines\.gpu-1\.secureBoot: true$/);
    }
    expect(messages("gpu-1", { secureBoot: true, tpmVolumes: ["STATE"] }, signedImage)).toEqual([]);
  });
});

test("it is reported that the signature of a custom image is unknown if the firmware enforces Secure Boot", () => {
  const customImage = "registry.example.com/talos/installer:v1.13.6";
  expect(signatureLines({ secureBoot: true }, customImage, true)).toEqual([
    expect.stringMatching(/^it is unknown whether registry\.example\.com.* is signed/),
  ]);
  expect(signatureLines({ secureBoot: false }, customImage, true)).toEqual([]);
});

test("it is reported that nothing checks the signature of an image if the firmware does not enforce Secure Boot", () => {
  expect(signatureLines({ secureBoot: true }, signedImage)).toEqual([]);
  expect(signatureLines({ secureBoot: false }, signedImage)).toEqual([
    expect.stringMatching(/does not enforce Secure Boot/),
  ]);
});
