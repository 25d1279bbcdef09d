import { parse } from "yaml";
import { readKubeconfig } from "../../../../lab/providers/talos/cluster";
import { parseDuration } from "../../../../lab/providers/talos/retry";
import { readBundle, writeBundle } from "../../../../lab/providers/talos/secrets-bundle";
import type { Properties } from "../../../../lab/providers/serve";
import { open } from "./fixture";

test.each([
  ["10m", 600_000],
  ["1h30m", 5_400_000],
  ["1.5s", 1500],
  ["250ms", 250],
])("duration %s", (text, milliseconds) => expect(parseDuration(text)).toBe(milliseconds));

test.each(["", "10", "m", "10 minutes", "5d"])("duration %j is refused", (text) => {
  expect(() => parseDuration(text)).toThrow("not a duration");
});

test("the two spellings of a secrets bundle hold the same", () => {
  const pair = (name: string): Properties => ({ cert: `${name}-cert`, key: `${name}-key` });
  const machineSecrets = {
    cluster: { id: "id", secret: "s" },
    secrets: { bootstrapToken: "b", secretboxEncryptionSecret: "x" },
    trustdinfo: { token: "t" },
    certs: {
      etcd: pair("etcd"),
      k8s: pair("k8s"),
      k8sAggregator: pair("agg"),
      k8sServiceaccount: { key: "sa" },
      os: pair("os"),
    },
  };
  const file = writeBundle(machineSecrets);
  expect(parse(file)).toMatchObject({
    secrets: { bootstraptoken: "b" },
    certs: { k8saggregator: { crt: "agg-cert", key: "agg-key" }, k8sserviceaccount: { key: "sa" } },
  });
  expect(readBundle(file)).toEqual(machineSecrets);
});

test("a kubeconfig is taken apart", () => {
  const text = JSON.stringify({
    "current-context": "admin@one",
    contexts: [
      { name: "other", context: {} },
      { name: "admin@one", context: { cluster: "one", user: "admin" } },
    ],
    clusters: [{ name: "one", cluster: { server: "https://10.0.0.1:6443", "certificate-authority-data": "CA" } }],
    users: [{ name: "admin", user: { "client-certificate-data": "CRT", "client-key-data": "KEY" } }],
  });
  const { name, ...outputs } = readKubeconfig(text);
  expect(name).toBe("one");
  expect(open(outputs)).toEqual({
    values: {
      kubeconfigRaw: text,
      kubernetesClientConfiguration: {
        host: "https://10.0.0.1:6443",
        caCertificate: "CA",
        clientCertificate: "CRT",
        clientKey: "KEY",
      },
    },
    secrets: ["kubeconfigRaw", "kubernetesClientConfiguration.clientKey"],
  });
});
