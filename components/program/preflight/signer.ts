import { X509Certificate } from "node:crypto";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import type { RunningImage } from "../../recipe/machine/losses";
import { isSigned } from "../../recipe/machine/secure-boot";
import type { Report } from "../progress";
import { imageParts, namesSchematic } from "./image-parts";
import { answerOrReport } from "./or-report";
import type { AskedMachine } from "./task";
import { type Places, type Web, wordsOf } from "./web";

/**
 * The firmware's variable `db`: it has the keys of the signers whose images the firmware starts (UEFI 2.10, 32.6.1).
 */
const db = "/sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f";

/** Time limit in milliseconds for the download of the Factory's certificate. */
const LIMIT = 10_000;

/**
 * Refuses an image that an Image Factory signed with a key that the machine's firmware does not have. A machine without
 * Secure Boot starts any image. If the program cannot read the certificate or the keys, it reports that.
 */
export async function askForSigner(
  {
    machine: name,
    installerImage,
    ownImage = false,
  }: Pick<AskedMachine, "machine" | "installerImage" | "ownImage">,
  machine: Machine,
  { secureBoot }: RunningImage,
  { web, places, report }: { web: Web; places: Places; report: Report },
): Promise<FieldFinding[]> {
  const parts = imageParts(installerImage);
  if (isSigned(installerImage, ownImage) !== true || parts === undefined) return [];
  if (secureBoot !== true || !namesSchematic(parts.name)) return [];
  const unknownText = (why: string): string =>
    `${name}: not known whether its firmware has the key of ${parts.host} (${why})`;
  // Served by the Factory (siderolabs/image-factory v1.2.0, internal/frontend/http/secureboot.go).
  const url = `${places.registry(parts.host)}/secureboot/signing-cert.pem`;
  const answer = await web.get(url, { limit: LIMIT });
  const certificate =
    "status" in answer && answer.status === 200 ? certificateIn(answer.body) : undefined;
  if (certificate === undefined) {
    report(unknownText(`its certificate: ${wordsOf(answer)}`));
    return [];
  }
  const signatureDatabase = machine.read(db).then((text) => {
    if (text === undefined) report(unknownText("the firmware does not show its keys"));
    return text;
  });
  const keys = await answerOrReport(undefined, signatureDatabase, report, unknownText);
  if (keys === undefined || hasCertificate(keys, certificate)) return [];
  return [
    {
      field: `machines.${name}.secureBoot`,
      problem: `the firmware does not have the key with which ${parts.host} signs the machine's next image`,
      why: "the firmware enforces Secure Boot, so the machine would not start after the reboot",
      remedy: `set factoryUrl to the Factory of the machine's current image, or add the certificate ${url} to the keys of the firmware (db)`,
    },
  ];
}

/** The certificate in a text; undefined without one. */
function certificateIn(text: string): Buffer | undefined {
  try {
    return new X509Certificate(text).raw;
  } catch {
    return undefined;
  }
}

/**
 * Whether the variable contains the certificate. The variable is binary, but the client has decoded it as UTF-8. So the
 * function decodes the certificate in the same way, and looks for it in the variable's text. The certificate's first
 * and last characters are left out, because they depend on the bytes around the certificate.
 */
export function hasCertificate(variable: string, certificate: Buffer): boolean {
  const edge = 4; // bytes of the longest character
  const text = certificate.toString("utf8");
  return variable.includes(text.slice(edge, -edge));
}
