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
    contexts: numbers.map((number) => ({
      name: `context-${number}`,
      context: { cluster: `cluster-${number}`, user: `user-${number}` },
    })),
    clusters: numbers.map((number) => ({
      name: `cluster-${number}`,
      cluster: { server: `https://${number}`, data: certificate },
    })),
    users: numbers.map((number) => ({
      name: `user-${number}`,
      user: { token: `token-${number}` },
    })),
  };
  const reducedKubeconfig = fittingCredential("kubeconfig", JSON.stringify(kubeconfig));
  expect(Buffer.byteLength(reducedKubeconfig)).toBeLessThan(LONGEST);
  expect(parse(reducedKubeconfig)).toEqual({
    ...kubeconfig,
    contexts: [kubeconfig.contexts[7]],
    clusters: [kubeconfig.clusters[7]],
    users: [kubeconfig.users[7]],
  });
});

test("a talosconfig with fifty contexts is reduced to the one that it uses", () => {
  const contexts = Object.fromEntries(
    numbers.map((number) => [
      `home-${number}`,
      { endpoints: [`10.0.0.${number}`], ca: certificate },
    ]),
  );
  const reducedTalosconfig = fittingCredential(
    "talosconfig",
    JSON.stringify({ context: "home-7", contexts }),
  );
  expect(parse(reducedTalosconfig)).toEqual({
    context: "home-7",
    contexts: { "home-7": contexts["home-7"] },
  });
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
