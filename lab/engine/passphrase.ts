import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";

/**
 * Pulumi's passphrase secrets, read and written here: each `pulumi config set` and `pulumi stack output` would be a
 * process that derives the key anew, which takes longer than all the rest of it.
 *
 * The format is that of pulumi v3.259.0, sdk/go/common/resource/config/crypt.go (`NewSymmetricCrypterFromPassphrase`,
 * `EncryptValue`) and pkg/secrets/passphrase/manager.go (the salt, with a known text by which a passphrase is checked).
 * Pulumi judges it: it checks the salt when the stack is made, and decrypts the configuration in every update.
 */
export class Passphrase {
  private constructor(
    /** What a settings file calls `encryptionsalt`. */
    readonly salt: string,
    private readonly key: Buffer,
  ) {}

  /** @param salt `encryptionsalt` of a stack that exists. Default: a new one */
  static async of(phrase: string, salt?: string): Promise<Passphrase> {
    const bytes = salt === undefined ? randomBytes(8) : Buffer.from(salt.split(":")[1]!, "base64");
    const key = await promisify(pbkdf2)(phrase, bytes, 1_000_000, 32, "sha256");
    const known = salt ?? `v1:${bytes.toString("base64")}:${encrypted("pulumi", key)}`;
    return new Passphrase(known, key);
  }

  encrypt(text: string): string {
    return encrypted(text, this.key);
  }

  /** Error: it was encrypted by another passphrase, or changed since. */
  decrypt(text: string): string {
    const [, nonce, content] = text.split(":").map((part) => Buffer.from(part, "base64"));
    const decipher = createDecipheriv("aes-256-gcm", this.key, nonce!);
    decipher.setAuthTag(content!.subarray(-tagBytes)); // Go puts the tag at the end
    return Buffer.concat([decipher.update(content!.subarray(0, -tagBytes)), decipher.final()]).toString("utf8");
  }
}

const tagBytes = 16;

function encrypted(text: string, key: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `v1:${nonce.toString("base64")}:${content.toString("base64")}`;
}
