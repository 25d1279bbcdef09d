import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** Keeps keys for the CLI's processes, and gives them to whoever has the token. */
export interface KeyService {
  /** What tells a process of the CLI where it is; the token is a secret. */
  readonly environment: Readonly<Record<string, string>>;
  /** Takes a key, and returns what stands for it in a settings file and in the state. */
  keep(key: Buffer): string;
}

let service: Promise<KeyService> | undefined;

/**
 * The key service of this process, for as long as it lives. With a passphrase, each process of the CLI would derive its key
 * anew, for a third to a half of the CPU time that it takes in all.
 *
 * It answers as much of HashiCorp Vault's transit engine as Pulumi asks of one (gocloud.dev/secrets/hashivault, `Decrypt`,
 * through pulumi v3.259.0, pkg/secrets/cloud/manager.go). Pulumi judges it: it reads the configuration, and writes and reads
 * the state, by the key that it gets here.
 */
export const keyService = (): Promise<KeyService> => (service ??= serve());

async function serve(): Promise<KeyService> {
  const keys = new Map<string, Buffer>();
  const token = randomBytes(24).toString("base64url");
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const key = request.headers["x-vault-token"] === token ? keys.get(ciphertextOf(text)) : undefined;
      response.writeHead(key === undefined ? 403 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(key === undefined ? { errors: ["no such key"] } : { data: plaintext(key) }));
    });
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  server.unref(); // whoever waits for this process to end does not wait for it
  return {
    environment: {
      VAULT_SERVER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      VAULT_SERVER_TOKEN: token,
    },
    keep: (key) => {
      const name = `vault:v1:${randomBytes(12).toString("base64")}`;
      keys.set(name, key);
      return name;
    },
  };
}

const plaintext = (key: Buffer): { plaintext: string } => ({ plaintext: key.toString("base64") });

/** What is asked for; nothing where the request is none of Pulumi's. */
function ciphertextOf(text: string): string {
  try {
    return String((JSON.parse(text) as { ciphertext?: unknown }).ciphertext);
  } catch {
    return "";
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
