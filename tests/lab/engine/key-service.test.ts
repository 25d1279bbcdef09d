import { randomBytes } from "node:crypto";
import { keyService } from "../../../lab/engine/key-service";
import { StackSecrets } from "../../../lab/engine/stack-secrets";

// What the CLI makes of it, engine.test.ts shows: it reads the configuration's secrets, and its state has none in plain text.

const ask = async (ciphertext: string, token: string, url: string): Promise<[number, string | undefined]> => {
  const body = JSON.stringify({ ciphertext });
  const response = await fetch(`${url}/v1/transit/decrypt/lab`, {
    method: "PUT",
    headers: { "x-vault-token": token },
    body,
  });
  const { data } = (await response.json()) as { data?: { plaintext: string } };
  return [response.status, data?.plaintext];
};

test("a key is given to whoever has the token and its name, and to nobody else", async () => {
  const { environment, keep } = await keyService();
  const { VAULT_SERVER_URL: url = "", VAULT_SERVER_TOKEN: token = "" } = environment;
  const [one, other] = [randomBytes(32), randomBytes(32)];
  const [name, otherName] = [keep(one), keep(other)];
  expect(await ask(name, token, url)).toEqual([200, one.toString("base64")]);
  expect(await ask(otherName, token, url)).toEqual([200, other.toString("base64")]);
  expect(await ask(name, "another token", url)).toEqual([403, undefined]);
  expect(await ask("vault:v1:another", token, url)).toEqual([403, undefined]);
  const { status } = await fetch(url, { method: "PUT", headers: { "x-vault-token": token }, body: "no JSON" });
  expect(status).toBe(403);
});

test("a text is read by the key that it was written with alone", async () => {
  const [one, other] = [await StackSecrets.make(), await StackSecrets.make()];
  const text = "correct horse, battery staple: größer";
  expect(one.encrypt(text)).not.toBe(one.encrypt(text));
  expect(one.decrypt(one.encrypt(text))).toBe(text);
  expect(() => other.decrypt(one.encrypt(text))).toThrow();
});
