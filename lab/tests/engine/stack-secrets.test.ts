import { StackSecrets } from "../../engine/stack-secrets";

// What the CLI makes of it, engine.test.ts shows: it reads the configuration's secrets, and its state has none in plain text.

test("a text is read by the key that it was written with alone", async () => {
  const [one, other] = [await StackSecrets.make(), await StackSecrets.make()];
  const text = "correct horse, battery staple: größer";
  expect(one.encrypt(text)).not.toBe(one.encrypt(text));
  expect(one.decrypt(one.encrypt(text))).toBe(text);
  expect(() => other.decrypt(one.encrypt(text))).toThrow();
});
