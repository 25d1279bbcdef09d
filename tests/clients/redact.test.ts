import { redact } from "../../components/recipe/rules/redact";
import { ordinaryLines } from "../support/ordinary-lines";
import { secretLines } from "../support/secret-lines";

test.each(secretLines)("redact hides the secret in an example of: %s", (_, line, ...secrets) => {
  const redactedLine = redact(line);
  for (const secret of secrets) expect(redactedLine).not.toContain(secret);
  expect(redactedLine).toContain("[redacted]");
});

test("the examples have at least 80 lines with secrets and 100 ordinary lines", () => {
  expect(secretLines.length).toBeGreaterThanOrEqual(80);
  expect(ordinaryLines.length).toBeGreaterThanOrEqual(100);
});

test.each(ordinaryLines)("redact keeps an ordinary line: %s", (line) =>
  expect(redact(line)).toBe(line),
);

test("redact keeps the text before and after a secret", () => {
  expect(redact("run with --token hunter2hunter2 on gpu-1")).toBe(
    "run with --token [redacted] on gpu-1",
  );
  expect(redact("https://me:hunter2@example.com/x is down")).toBe(
    "https://me:[redacted]@example.com/x is down",
  );
  expect(redact('{"password":"hunter2","node":"gpu-1"}')).toBe(
    '{"password":"[redacted]","node":"gpu-1"}',
  );
  expect(redact("a\n-----BEGIN EC PRIVATE KEY-----\nMHcC\nAQEE\nnode gpu-1 is ready")).toBe(
    "a\n[redacted]\nnode gpu-1 is ready",
  );
  expect(redact("password: |\n  hunter2\n  more\nnode: gpu-1")).toBe(
    "password: |\n[redacted]\nnode: gpu-1",
  );
});
