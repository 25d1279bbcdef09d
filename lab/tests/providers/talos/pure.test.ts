import { parse } from "yaml";
import { kubeconfigOutputs } from "../../../providers/talos/cluster";
import { readBundle, writeBundle } from "../../../providers/talos/secrets-bundle";
import type { Properties } from "../../../providers/serve";
import { open } from "./fixture";

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
  const { name, ...outputs } = kubeconfigOutputs(text);
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
