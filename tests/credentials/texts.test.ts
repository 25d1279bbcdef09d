import {
  bundleOf,
  encryptionPatchesOf,
  endpointFor,
  machineSecretsOf,
  talosClientOf,
} from "../../components/credentials/texts";
import { machineSecrets, talosconfig } from "../support/talos";

test("machineSecretsOf turns talosctl's bundle of secrets into the provider's input", () => {
  const pair = { cert: "Y2VydA==", key: "bG9uZy1zZWNyZXQ=" };
  expect(machineSecretsOf(machineSecrets)).toEqual({
    cluster: { id: "aWQ=", secret: "bG9uZy1zZWNyZXQ=" },
    secrets: {
      bootstrapToken: "zp8du1.0gn7ja4tmx6qulju",
      secretboxEncryptionSecret: "bG9uZy1zZWNyZXQ=",
    },
    trustdinfo: { token: "7f96mj.ns0jpllwd6ye0qv1" },
    certs: {
      etcd: pair,
      k8s: pair,
      k8sAggregator: pair,
      k8sServiceaccount: { key: "bG9uZy1zZWNyZXQ=" },
      os: pair,
    },
  });
});

test("bundleOf turns the provider's secrets into a bundle that machineSecretsOf reads back", () => {
  const secrets = machineSecretsOf(machineSecrets);
  expect(machineSecretsOf(bundleOf(secrets))).toEqual(secrets);
  expect(bundleOf(secrets)).toContain("bootstraptoken: zp8du1.0gn7ja4tmx6qulju");
});

test("an older bundle keeps its AES-CBC secret", () => {
  const olderBundle = machineSecrets.replace("secretboxencryptionsecret", "aescbcencryptionsecret");
  expect(machineSecretsOf(olderBundle).secrets).toEqual({
    bootstrapToken: "zp8du1.0gn7ja4tmx6qulju",
    secretboxEncryptionSecret: "",
    aescbcEncryptionSecret: "bG9uZy1zZWNyZXQ=",
  });
});

test.each([
  ["only the older key", 1, [["secretboxencryptionsecret", "aescbcencryptionsecret"]]],
  [
    "both keys",
    1,
    [["    secretbox", "    aescbcencryptionsecret: bG9uZy1zZWNyZXQ=\n    secretbox"]],
  ],
  ["only the newer key", 0, []],
] as const)("a bundle with %s needs %d patches with the AES-CBC key", (_, count, replacements) => {
  const text = replacements.reduce(
    (bundle, [oldText, newText]) => bundle.replace(oldText, newText),
    machineSecrets,
  );
  const patches = encryptionPatchesOf(machineSecretsOf(text));
  expect(patches).toEqual(
    Array(count).fill("cluster:\n  aescbcEncryptionSecret: bG9uZy1zZWNyZXQ=\n"),
  );
});

test("talosClientOf returns the client of the current context", () => {
  expect(talosClientOf(talosconfig)).toEqual({
    configuration: {
      caCertificate: "Y2E=",
      clientCertificate: "Y2VydA==",
      clientKey: "bG9uZy1zZWNyZXQ=",
    },
    endpoints: ["10.0.0.10"],
  });
  expect(talosClientOf(talosconfig.replace("context: lab", "context: other")).endpoints).toEqual(
    [],
  );
  expect(() => talosClientOf(talosconfig.replace("context: lab", "context: gone"))).toThrow(
    'current context "gone"',
  );
});

test("an error names the missing field, and contains no secret", () => {
  const brokenSecrets = machineSecrets.replace(
    "    token: 7f96mj.ns0jpllwd6ye0qv1",
    "    other: x",
  );
  expect(() => machineSecretsOf(brokenSecrets)).toThrow(
    "machineSecrets: missing or of the wrong type: trustdinfo.token",
  );
  expect(() => machineSecretsOf("secret: [bG9uZy1zZWNyZXQ")).toThrow(
    /^(?!.*bG9uZy1zZWNyZXQ).*not YAML/,
  );
});

test.each([
  ["10.0.0.1", [], "10.0.0.1"],
  ["10.0.0.1", ["10.0.0.10", "10.0.0.11"], "10.0.0.10"],
  ["10.0.0.11", ["10.0.0.10", "10.0.0.11"], "10.0.0.11"],
])("the machine %s with the endpoints %j is reached through %s", (address, endpoints, endpoint) =>
  expect(endpointFor(address, endpoints)).toBe(endpoint),
);
