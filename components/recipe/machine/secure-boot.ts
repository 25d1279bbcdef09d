import { isMapping, listAt, mappingAt, type Nested, valueAt } from "../mapping";
import type { FieldFinding } from "../rules/finding";
import { installerKind } from "./schematic";

/** Parts of a machine that decide which images it can start. */
export interface BootDemands {
  /**
   * Whether the machine's firmware starts only signed images (SecurityState, since Talos 1.5). Undefined if unknown.
   */
  secureBoot?: boolean;
  /** Volumes that only the machine's TPM can open (`volumesWithTpmKey`). Default: none. */
  tpmVolumes?: readonly string[];
}

/** A volume that a configuration encrypts with a key in the TPM. */
export interface TpmVolume {
  /** Talos' name, e.g. `EPHEMERAL`. */
  name: string;
  /** Whether the volume has no other key. */
  hasOnlyTpmKey: boolean;
}

/**
 * Volumes that a configuration encrypts with a key in the TPM: in documents such as VolumeConfig and UserVolumeConfig
 * (talos v1.14.1, types/block/encryption.go), and in the older `machine.systemDiskEncryption`.
 *
 * @param documents content of the configuration's documents.
 */
export function volumesWithTpmKey(documents: readonly unknown[]): TpmVolume[] {
  const volumesOf = (name: unknown, encryption: unknown): TpmVolume[] => {
    const keys = listAt(encryption, "keys");
    const inTpm = keys.filter((key) => isMapping(key["tpm"]));
    return inTpm.length === 0
      ? []
      : [{ name: String(name), hasOnlyTpmKey: inTpm.length === keys.length }];
  };
  return documents.flatMap((document) => [
    ...(/VolumeConfig$/.test(String(valueAt(document, "kind")))
      ? volumesOf(valueAt(document, "name"), valueAt(document, "encryption"))
      : []),
    ...Object.entries(mappingAt(document, "machine", "systemDiskEncryption")).flatMap(
      ([name, encryption]) => volumesOf(name.toUpperCase(), encryption),
    ),
  ]);
}

/**
 * Whether an image is signed for Secure Boot, by its name; undefined if the name does not show it. The names of the
 * Image Factory's images and of Talos' own installer show it. Names of other images do not.
 *
 * @param isOwnImage whether the user names the image.
 */
export function isSigned(installer: string, isOwnImage: boolean): boolean | undefined {
  const isKnownInstaller =
    !isOwnImage || /\/[0-9a-f]{64}[:@]/.test(installer) || talosOwn.test(installer);
  return isKnownInstaller ? installerKind(installer)?.secureBoot : undefined;
}

/** Talos' own installer, which is not signed for Secure Boot. */
const talosOwn = /^ghcr\.io\/siderolabs\/installer[:@]/;

/** Reason why the machine would not boot. Talos' installer also replaces the boot loader (sdboot.go, copyAssets). */
const refusedByFirmware =
  "the firmware would refuse to start this image and its boot loader, so the machine would not boot, and Talos could not roll back";

/** Reason why the machine could not open its volumes (talos v1.14.1, internal/pkg/secureboot/tpm2/unseal.go). */
const closed =
  "the TPM releases the volumes' keys only to an image with signed measurements, so the machine could not read the volumes after the reboot";

/**
 * Findings about a machine that could not start its next image, or could not open its volumes after the boot.
 *
 * @param machine node name.
 * @param isOwnImage whether the user names the image.
 */
export function unbootable(
  machine: string,
  { secureBoot, tpmVolumes = [] }: BootDemands,
  installer: string,
  isOwnImage = false,
): FieldFinding[] {
  if (isSigned(installer, isOwnImage) !== false) return [];
  const field = isOwnImage
    ? `machines.${machine}.installerImage`
    : `machines.${machine}.secureBoot`;
  const remedyText = isOwnImage
    ? "name an installer that is signed with the keys of the machine's firmware"
    : `set ${field}: true`;
  if (tpmVolumes.length > 0)
    return [
      {
        field,
        problem: `only the TPM can open the machine's volumes ${tpmVolumes.join(", ")}${secureBoot === true ? ", and its firmware enforces Secure Boot" : ""}, but its next image is not signed`,
        why: closed,
        remedy: remedyText,
      },
    ];
  if (secureBoot !== true) return [];
  return [
    {
      field,
      problem: "the machine boots with Secure Boot, but its next image is not signed for it",
      why: refusedByFirmware,
      remedy: `${remedyText}, or switch Secure Boot off in the machine's firmware first`,
    },
  ];
}

/**
 * Lines about the signature of the machine's next image: that it is unknown, or that the firmware does not check it.
 */
export function signatureLines(
  { secureBoot, tpmVolumes = [] }: BootDemands,
  installer: string,
  isOwnImage = false,
): string[] {
  const isSignedImage = isSigned(installer, isOwnImage);
  const lines: Nested<string> = [
    isSignedImage === undefined &&
      (secureBoot === true || tpmVolumes.length > 0) &&
      `it is unknown whether ${installer} is signed with the keys of the machine's firmware. The firmware does not start other images`,
    isSignedImage === true &&
      secureBoot === false &&
      "its firmware does not enforce Secure Boot, so nothing checks the signature of its image; Talos' Secure Boot ISO enrolls the keys into a firmware in setup mode",
  ];
  return lines.filter((line) => typeof line === "string");
}
