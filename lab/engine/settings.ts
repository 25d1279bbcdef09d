import type { StackSettings } from "@pulumi/pulumi/automation";
import { createCipheriv, pbkdf2, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";

/** A stack's settings file. */
export interface SettingsFile {
  read(): Promise<StackSettings>;
  write(settings: StackSettings): Promise<void>;
}

/** That of a project's folder: where its `stackConfigDir` says, of which the Automation API knows nothing. */
export async function settingsOf(folder: string, stack: string): Promise<SettingsFile> {
  const { stackConfigDir } = parse(await readFile(path.join(folder, "Pulumi.yaml"), "utf8")) as {
    stackConfigDir?: string;
  };
  const file = path.join(folder, stackConfigDir ?? "", `Pulumi.${stack}.yaml`);
  return {
    read: async () => {
      const said = (parse(await readFile(file, "utf8")) ?? {}) as Record<string, string>;
      const { encryptionsalt: encryptionSalt, config = {} } = said;
      return { ...(encryptionSalt ? { encryptionSalt } : {}), config };
    },
    write: ({ encryptionSalt, config }) => writeFile(file, stringify({ encryptionsalt: encryptionSalt, config })),
  };
}

/** What `pulumi stack init --secrets-provider` is given. */
export const secretsProvider = "passphrase";

/**
 * A stack's secrets, written here as Pulumi does: each `pulumi config set` would be a process of its own, with the secret among its
 * arguments.
 *
 * The format is that of pulumi v3.259.0, sdk/go/common/resource/config/crypt.go (`NewSymmetricCrypterFromPassphrase`, `EncryptValue`)
 * and pkg/secrets/passphrase/manager.go.
 */
export class StackSecrets {
  private constructor(
    /** What the settings file says of them. */
    readonly settings: Pick<StackSettings, "encryptionSalt">,
    /** What the CLI needs to read them. */
    readonly environment: Readonly<Record<string, string>>,
    private readonly key: Buffer,
  ) {}

  static async make(): Promise<StackSecrets> {
    const [passphrase, salt] = [randomBytes(24).toString("base64"), randomBytes(8)];
    const key = await promisify(pbkdf2)(passphrase, salt, 1_000_000, 32, "sha256");
    const encryptionSalt = `v1:${salt.toString("base64")}:${encrypted("pulumi", key)}`;
    return new StackSecrets({ encryptionSalt }, { PULUMI_CONFIG_PASSPHRASE: passphrase }, key);
  }

  encrypt(text: string): string {
    return encrypted(text, this.key);
  }
}

function encrypted(text: string, key: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]); // Go puts the tag at the end
  return `v1:${nonce.toString("base64")}:${content.toString("base64")}`;
}
