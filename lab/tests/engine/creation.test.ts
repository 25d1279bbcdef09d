import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { MANAGER } from "../../../components/clients/kubernetes/manager";
import { isClassGiven } from "../../../components/clients/kubernetes/asked-cluster";
import type { LabEngine, RunResult } from "../../engine";
import { Cluster } from "../../kubernetes/cluster";
import { openTestLab, type TestLab } from "./lab";

// What the package takes for granted of the provider since its release 4.29.0, and the lab's changes bring to an older one.

jest.setTimeout(300_000);

const { signal } = new AbortController();
let lab: TestLab;
let cluster: Cluster;
let engine: LabEngine;
/** What the next update's program registers. */
let program: (opts: pulumi.CustomResourceOptions) => unknown;

beforeAll(async () => {
  lab = await openTestLab();
  cluster = Cluster.of(lab.kubeconfig);
  const kubeconfig = readFileSync(lab.kubeconfig, "utf8");
  engine = await lab.engine("creation", () => {
    program({ provider: new k8s.Provider("cluster", { kubeconfig }) });
    return Promise.resolve({});
  });
}, 1_800_000);

afterAll(async () => {
  cluster?.close();
  await lab?.close();
});

const up = (register: typeof program): Promise<RunResult> => {
  program = register;
  return engine.up();
};

test("what is in the cluster already is not taken over", async () => {
  const taken = await up((opts) => new k8s.core.v1.Namespace("default", { metadata: { name: "default" } }, opts));
  expect(taken.result).toBe("failed");
  expect(taken.diagnostics.join("\n")).toMatch(/namespaces "default" already exists/);
});

test("a creation writes by the provider's own manager, an update hands all to the annotation's; the class of a claim is told as given all the while", async () => {
  const claims = (labels: Record<string, string>) => (opts: pulumi.CustomResourceOptions) => {
    const isDefault = { "storageclass.kubernetes.io/is-default-class": "true" };
    const dependsOn = new k8s.storage.v1.StorageClass(
      "late",
      {
        metadata: { name: "late", annotations: isDefault },
        provisioner: "none",
        volumeBindingMode: "WaitForFirstConsumer",
      },
      opts,
    );
    const annotations = { "pulumi.com/patchFieldManager": MANAGER, "pulumi.com/skipAwait": "true" };
    for (const [name, given] of Object.entries({ given: { storageClassName: "late" }, left: {} })) {
      const spec = { ...given, accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
      const metadata = { name, labels, annotations };
      new k8s.core.v1.PersistentVolumeClaim(name, { metadata, spec }, { ...opts, dependsOn });
    }
  };
  const seen = async (name: string) => {
    const key = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name } };
    const { metadata, spec } = await cluster.get(key, signal);
    const fields = metadata!["managedFields"] as { manager: string; operation: string; fieldsV1: object }[];
    const ours = fields.filter(({ manager }) => /^(pulumi|talos-gpu)/.test(manager));
    const writers = ours.map(({ manager, operation }) => `${manager} ${operation}`);
    return [writers, spec.storageClassName, isClassGiven(fields)];
  };
  expect(await up(claims({}))).toMatchObject({ result: "succeeded" });
  expect(await seen("given")).toEqual([["pulumi-kubernetes Update"], "late", true]);
  expect(await seen("left")).toEqual([["pulumi-kubernetes Update"], "late", false]);
  expect(await up(claims({ a: "b" }))).toMatchObject({ result: "succeeded", changes: { update: 2, replace: 0 } });
  expect(await seen("given")).toEqual([["talos-gpu Apply"], "late", true]);
  expect(await seen("left")).toEqual([["talos-gpu Apply"], "late", false]);
  expect(await engine.destroy()).toMatchObject({ result: "succeeded" });
});
