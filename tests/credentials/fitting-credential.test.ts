import { parse } from "yaml";
import { fittingCredential } from "../../components/credentials/fitting-credential";

/**
 * Limit in bytes of an environment variable on Linux: with a longer one the program does not start (execve,
 * MAX_ARG_STRLEN).
 */
const LONGEST = 128 * 1024;
const certificate = "c".repeat(4_000);
const numbers = Array.from({ length: 50 }, (_, number) => number);

test("a credential below the size limit stays unchanged", () => {
  expect(fittingCredential("kubeconfig", "a: 1 # as it is\n")).toBe("a: 1 # as it is\n");
});

test("a kubeconfig with fifty clusters is reduced to the one that it uses", () => {
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "context-7",
    contexts: numbers.map((n) => ({
      name: `context-${n}`,
      context: { cluster: `cluster-${n}`, user: `user-${n}` },
    })),
    clusters: numbers.map((n) => ({
      name: `cluster-${n}`,
      cluster: { server: `https://${n}`, data: certificate },
    })),
    users: numbers.map((n) => ({ name: `user-${n}`, user: { token: `token-${n}` } })),
  };
  const fitting = fittingCredential("kubeconfig", JSON.stringify(kubeconfig));
  expect(Buffer.byteLength(fitting)).toBeLessThan(LONGEST);
  expect(parse(fitting)).toEqual({
    ...kubeconfig,
    contexts: [kubeconfig.contexts[7]],
    clusters: [kubeconfig.clusters[7]],
    users: [kubeconfig.users[7]],
  });
});

test("a talosconfig with fifty contexts is reduced to the one that it uses", () => {
  const contexts = Object.fromEntries(
    numbers.map((n) => [`home-${n}`, { endpoints: [`10.0.0.${n}`], ca: certificate }]),
  );
  const fitting = fittingCredential("talosconfig", JSON.stringify({ context: "home-7", contexts }));
  expect(parse(fitting)).toEqual({ context: "home-7", contexts: { "home-7": contexts["home-7"] } });
});

test("a credential that cannot be reduced below the size limit is refused with a remedy", () => {
  const secret = "s".repeat(LONGEST);
  expect(() =>
    fittingCredential("kubeconfig", JSON.stringify({ users: [{ token: secret }], more: secret })),
  ).toThrow(
    /^kubeconfig: is 257 KiB long \(limit 120 KiB\); .*; pass a file with only this cluster$/,
  );
  expect(() => fittingCredential("omniServiceAccountKey", secret)).toThrow(/pass a shorter value/);
});
