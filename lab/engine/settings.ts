import { createCipheriv, pbkdf2, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";

/** Value of `pulumi stack init --secrets-provider`. */
export const secretsProvider = "passphrase";

/**
 * A stack's settings with its secrets, written in Pulumi's format. `pulumi config set` would need a process for each
 * secret, with the secret in its arguments. The format is that of pulumi v3.259.0,
 * sdk/go/common/resource/config/crypt.go (`NewSymmetricCrypterFromPassphrase`, `EncryptValue`) and
 * pkg/secrets/passphrase/manager.go.
 */
export class Settings {
  private readonly secrets: Record<string, { secure: string }> = {};

  private constructor(
    private readonly encryptionsalt: string,
    /** Environment variables with which the CLI decrypts the settings. */
    readonly environment: Readonly<Record<string, string>>,
    private readonly key: Buffer,
  ) {}

  static async make(): Promise<Settings> {
    const [passphrase, salt] = [randomBytes(24).toString("base64"), randomBytes(8)];
    const key = await promisify(pbkdf2)(passphrase, salt, 1_000_000, 32, "sha256");
    const encryptionsalt = `v1:${salt.toString("base64")}:${encrypt("pulumi", key)}`;
    return new Settings(encryptionsalt, { PULUMI_CONFIG_PASSPHRASE: passphrase }, key);
  }

  /** Writes the stack's file of a project into the project's `stackConfigDir`, which the Automation API ignores. */
  async write(
    folder: string,
    stack: string,
    config: object,
    secrets: Readonly<Record<string, string>>,
  ): Promise<void> {
    for (const [name, value] of Object.entries(secrets))
      this.secrets[name] = { secure: encrypt(value, this.key) };
    const project = parse(await readFile(path.join(folder, "Pulumi.yaml"), "utf8")) as {
      stackConfigDir?: string;
    };
    const text = stringify({
      encryptionsalt: this.encryptionsalt,
      config: { ...this.secrets, ...config },
    });
    await writeFile(path.join(folder, project.stackConfigDir ?? "", `Pulumi.${stack}.yaml`), text);
  }
}

function encrypt(text: string, key: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]); // Go puts the tag at the end
  return `v1:${nonce.toString("base64")}:${content.toString("base64")}`;
}
