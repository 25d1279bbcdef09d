/**
 * Writes variables into an empty variable store of OVMF, as edk2 lays it out (MdeModulePkg, VariableFormat.h): headers of
 * 60 bytes with name and content behind each, on multiples of four.
 */

const guid = (text: string): Buffer => {
  const [a = "", b = "", c = "", ...rest] = text.split("-");
  const reversed = [a, b, c].map((part) => Buffer.from(part, "hex").reverse());
  return Buffer.concat([...reversed, Buffer.from(rest.join(""), "hex")]);
};

/** UEFI 2.10: EFI_GLOBAL_VARIABLE, EFI_IMAGE_SECURITY_DATABASE_GUID, EFI_CERT_X509_GUID; the others are edk2's. */
const guids = {
  global: guid("8be4df61-93ca-11d2-aa0d-00e098032b8c"),
  database: guid("d719b2cb-3d3a-4596-a3bc-dad00e67656f"),
  x509: guid("a5c059a1-94e4-4aa7-87b5-ab155c2bf072"),
  secureBootEnable: guid("f0a30bc7-af08-4556-99c4-001009c93a44"),
  store: guid("aaf32c78-947b-439a-a180-2e144ec37792"),
};

/** Size of the store's own header. */
const STORE_HEADER_SIZE = 28;
const VARIABLE_HEADER_SIZE = 60;
/** Attributes of a variable that stays, that is readable before and after the boot, and that a key's owner may change. */
const keyAttributes = 0x27;
/** Attributes of a variable that stays, and that is readable before the boot only. */
const persistentAttributes = 0x3;

interface Variable {
  name: string;
  owner: Buffer;
  attributes: number;
  content: Buffer;
}

function record({ name, owner, attributes, content }: Variable): Buffer {
  const text = Buffer.from(`${name}\0`, "utf16le");
  const header = Buffer.alloc(VARIABLE_HEADER_SIZE);
  header.writeUInt16LE(0x55aa, 0);
  header.writeUInt8(0x3f, 2); // VAR_ADDED
  header.writeUInt32LE(attributes, 4);
  // The time of the last change: a later one has to be newer.
  if (attributes === keyAttributes) {
    header.writeUInt16LE(2020, 16);
    header.writeUInt8(1, 18);
    header.writeUInt8(1, 19);
  }
  header.writeUInt32LE(text.length, 36);
  header.writeUInt32LE(content.length, 40);
  owner.copy(header, 44);
  const variable = Buffer.concat([header, text, content]);
  return Buffer.concat([variable, Buffer.alloc((4 - (variable.length % 4)) % 4, 0xff)]);
}

/** EFI_SIGNATURE_LIST with one certificate. */
function signatureList(certificate: Buffer): Buffer {
  const header = Buffer.alloc(12);
  const entrySize = 16 + certificate.length;
  header.writeUInt32LE(16 + 12 + entrySize, 0);
  header.writeUInt32LE(entrySize, 8);
  return Buffer.concat([guids.x509, header, guids.global, certificate]);
}

/**
 * Variables of a firmware that enforces Secure Boot, and starts only images that are signed with one key. Talos, too,
 * uses one certificate for all three (internal/pkg/secureboot/database).
 *
 * @param template OVMF's empty variables.
 * @param certificate in DER.
 */
export function withKeys(template: Buffer, certificate: Buffer): Buffer {
  const storeOffset = template.indexOf(guids.store);
  const list = signatureList(certificate);
  const keyVariable = (name: string, owner: Buffer): Variable => ({
    name,
    owner,
    attributes: keyAttributes,
    content: list,
  });
  const records = [
    keyVariable("PK", guids.global),
    keyVariable("KEK", guids.global),
    keyVariable("db", guids.database),
    {
      name: "SecureBootEnable",
      owner: guids.secureBootEnable,
      attributes: persistentAttributes,
      content: Buffer.from([1]),
    },
  ].map(record);
  const content = Buffer.concat(records);
  const freeSpace = template.subarray(
    storeOffset + STORE_HEADER_SIZE,
    storeOffset + STORE_HEADER_SIZE + content.length,
  );
  if (storeOffset < 0 || !freeSpace.every((byte) => byte === 0xff))
    throw new Error("the firmware's template of variables is not an empty store of edk2's");
  const result = Buffer.from(template);
  content.copy(result, storeOffset + STORE_HEADER_SIZE);
  return result;
}
