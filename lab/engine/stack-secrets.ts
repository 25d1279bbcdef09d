import type { StackSettings } from "@pulumi/pulumi/automation";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { keyService } from "./key-service";

/** What `pulumi stack init --secrets-provider` is given: a key of a key service. */
export const secretsProvider = "hashivault://lab";

/**
 * A stack's secrets, written and read here as Pulumi does: each `pulumi config set` and `pulumi stack output` would be a
 * process of its own.
 *
 * The format is that of pulumi v3.259.0, sdk/go/common/resource/config/crypt.go (`EncryptValue`).
 */
export class StackSecrets {
  private constructor(
    /** What the settings file says of them. */
    readonly settings: Pick<StackSettings, "secretsProvider" | "encryptedKey">,
    /** What the CLI needs to read them. */
    readonly environment: Readonly<Record<string, string>>,
    private readonly key: Buffer,
  ) {}

  /** Those of a new stack. */
  static async make(): Promise<StackSecrets> {
    const { keep, environment } = await keyService();
    const key = randomBytes(32);
    const encryptedKey = Buffer.from(keep(key)).toString("base64");
    return new StackSecrets({ secretsProvider, encryptedKey }, environment, key);
  }

  encrypt(text: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", this.key, nonce);
    const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `v1:${nonce.toString("base64")}:${content.toString("base64")}`;
  }

  /** Error: it was encrypted with another key, or changed since. */
  decrypt(text: string): string {
    const [, nonce, content] = text.split(":").map((part) => Buffer.from(part, "base64"));
    const decipher = createDecipheriv("aes-256-gcm", this.key, nonce!);
    decipher.setAuthTag(content!.subarray(-tagBytes)); // Go puts the tag at the end
    return Buffer.concat([decipher.update(content!.subarray(0, -tagBytes)), decipher.final()]).toString("utf8");
  }
}

const tagBytes = 16;
