import * as command from "@pulumi/command";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { didStackSetStorageClass } from "../../../components/program/cluster/states";
import { MANAGER } from "../../../components/clients/kubernetes/manager";
import { ignoreAllChanges } from "../../../components/cluster/gpu-machines";
import { guarded } from "../../../components/kubernetes/guard";
import { OWNER } from "../../../components/kubernetes/guard/live";
import { gpuRelease } from "../../../components/kubernetes/release";
import type { LabEngine, RunResult } from "../../engine";
import { Cluster } from "../../kubernetes/cluster";
import { planOf } from "../../../tests/support/plans";
import { openTestLab, type TestLab } from "./lab";

// Behaviour of Pulumi's engine and of the Kubernetes provider that the package relies on. Both run for real, on a
// real control plane.

let lab: TestLab;
let cluster: Cluster;
let kubeconfig: string;

beforeAll(async () => {
  lab = await openTestLab();
  kubeconfig = readFileSync(lab.kubeconfig, "utf8");
  cluster = Cluster.of(lab.kubeconfig);
});

afterAll(async () => {
  await lab?.close();
});

const unchanged = { changes: { create: 0, update: 0, replace: 0, delete: 0 } };

test("resources of an offline machine are unchanged, and are updated once it is back", async () => {
  const machineState = { task: "one", isOffline: false };
  const program = (): Record<string, unknown> => {
    const machine = new pulumi.ComponentResource(
      "test:index:Machine",
      "machine",
      { task: machineState.task },
      { ...(machineState.isOffline ? { transformations: [ignoreAllChanges] } : {}) },
    );
    const task = new command.local.Command(
      "upgrade",
      { create: "cat", update: "cat", stdin: machineState.task },
      { parent: machine },
    );
    return { output: task.stdout };
  };
  const engine = await lab.openEngine("away", () => Promise.resolve(program()));
  const updateAndReadOutput = async (): Promise<unknown> => {
    expect(await engine.up()).toMatchObject({ result: "succeeded" });
    return (await engine.outputs())["output"]?.value;
  };
  expect(await updateAndReadOutput()).toBe("one");
  Object.assign(machineState, { task: "two", isOffline: true });
  expect(await updateAndReadOutput()).toBe("one");
  machineState.isOffline = false;
  expect(await updateAndReadOutput()).toBe("two");
});

describe("the lab's Kubernetes provider, which creates objects like the releases from 4.29.0 on,", () => {
  let engine: LabEngine;
  /** Registers the resources of the next update. */
  let program: (opts: pulumi.CustomResourceOptions) => unknown;

  beforeAll(async () => {
    engine = await lab.openEngine("creation", () => {
      program({ provider: new k8s.Provider("cluster", { kubeconfig }) });
      return Promise.resolve({});
    });
  });

  const updateWith = (register: typeof program): Promise<RunResult> => {
    program = register;
    return engine.up();
  };

  test("does not take over an existing object", async () => {
    const { result, diagnostics } = await updateWith(
      (opts) => new k8s.core.v1.Namespace("default", { metadata: { name: "default" } }, opts),
    );
    expect(result).toBe("failed");
    expect(diagnostics.join("\n")).toMatch(/namespaces "default" already exists/);
  });

  test("creates objects as the manager pulumi-kubernetes, updates them as the manager in pulumi.com/patchFieldManager, and keeps a claim's storage class", async () => {
    const claimsWith = (labels: Record<string, string>) => (opts: pulumi.CustomResourceOptions) => {
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
      const annotations = {
        "pulumi.com/patchFieldManager": MANAGER,
        "pulumi.com/skipAwait": "true",
      };
      for (const [name, storageClass] of Object.entries({
        "with-class": { storageClassName: "late" },
        "without-class": {},
      })) {
        const spec = {
          ...storageClass,
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
        };
        const metadata = { name, labels, annotations };
        new k8s.core.v1.PersistentVolumeClaim(name, { metadata, spec }, { ...opts, dependsOn });
      }
    };
    const readClaim = async (name: string) => {
      const key = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name } };
      const { metadata, spec } = await cluster.get(key);
      const fields = metadata!["managedFields"] as {
        manager: string;
        operation: string;
        fieldsV1: object;
      }[];
      const packageFields = fields.filter(({ manager }) => /^(pulumi|talos-gpu)/.test(manager));
      const writers = packageFields.map(({ manager, operation }) => `${manager} ${operation}`);
      return {
        writers,
        storageClass: spec.storageClassName,
        didStackSetStorageClass: didStackSetStorageClass(fields),
      };
    };
    expect(await updateWith(claimsWith({}))).toMatchObject({ result: "succeeded" });
    const created = { writers: ["pulumi-kubernetes Update"], storageClass: "late" };
    expect(await readClaim("with-class")).toEqual({ ...created, didStackSetStorageClass: true });
    expect(await readClaim("without-class")).toEqual({
      ...created,
      didStackSetStorageClass: false,
    });
    expect(await updateWith(claimsWith({ a: "b" }))).toMatchObject({
      result: "succeeded",
      changes: { update: 2, replace: 0 },
    });
    const updated = { writers: ["talos-gpu Apply"], storageClass: "late" };
    expect(await readClaim("with-class")).toEqual({ ...updated, didStackSetStorageClass: true });
    expect(await readClaim("without-class")).toEqual({
      ...updated,
      didStackSetStorageClass: false,
    });
    expect(await engine.destroy()).toMatchObject({ result: "succeeded" });
  });
});

// With the real device plugin's chart and Helm: an update removes fields that the chart no longer has.
test("the DaemonSet names the chart's service account with time slicing, and no longer after time slicing is removed", async () => {
  const slicedRelease = planOf("rtx3090").kubernetes.release;
  const { config: _config, ...valuesWithoutSlicing } = slicedRelease.values;
  const release = { ...slicedRelease };
  const program = (): Promise<Record<string, unknown>> => {
    const provider = new k8s.Provider("cluster", {
      kubeconfig: pulumi.secret(kubeconfig),
      clusterIdentifier: "cluster",
    });
    const namespace = new k8s.core.v1.Namespace(
      "ns",
      { metadata: { name: release.namespace } },
      { provider },
    );
    gpuRelease("gpu", release, 60, { provider, dependsOn: namespace });
    return Promise.resolve({});
  };
  const { namespace, name } = slicedRelease;
  const engine = await lab.openEngine("sliced", program);
  const serviceAccountsOfDaemonSet = async (): Promise<string[]> => {
    const key = { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name, namespace } };
    const { spec } = (await cluster.get(key)) as { spec?: any };
    const { serviceAccountName, serviceAccount } = spec.template.spec;
    return [serviceAccountName, serviceAccount].filter((account) => account !== undefined);
  };
  expect(await engine.up()).toMatchObject({ result: "succeeded" });
  expect(await serviceAccountsOfDaemonSet()).toEqual(
    Array(2).fill("nvidia-device-plugin-service-account"),
  );
  release.values = valuesWithoutSlicing;
  expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { update: 1 } });
  expect(await serviceAccountsOfDaemonSet()).toEqual([]);
  expect(await engine.preview()).toMatchObject(unchanged);
  release.values = slicedRelease.values;
  expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { update: 1 } });
  expect(await serviceAccountsOfDaemonSet()).toEqual(
    Array(2).fill("nvidia-device-plugin-service-account"),
  );
});

describe("a namespace that two stacks of one program register", () => {
  /** Registers a namespace and its objects. */
  function program(): Promise<Record<string, unknown>> {
    const secret = pulumi.secret(kubeconfig);
    const provider = new k8s.Provider("cluster", {
      kubeconfig: secret,
      clusterIdentifier: "cluster",
    });
    const opts = { provider, transformations: [guarded("gpu", secret)] };
    const { metadata } = new k8s.core.v1.Namespace(
      "gpu-namespace",
      { metadata: { name: "gpu-operator" } },
      opts,
    );
    new k8s.core.v1.ConfigMap(
      "gpu-settings",
      { metadata: { name: "s", namespace: metadata.name }, data: {} },
      opts,
    );
    return Promise.resolve({});
  }

  const namespaceMetadata = async () =>
    (await cluster.get({ apiVersion: "v1", kind: "Namespace", metadata: { name: "gpu-operator" } }))
      .metadata!;

  const errorLines = ({ diagnostics }: { diagnostics: readonly string[] }): string[] =>
    diagnostics.filter((line) => line.startsWith("error"));

  let [firstStack, secondStack]: LabEngine[] = [];

  beforeAll(async () => {
    [firstStack, secondStack] = [
      await lab.openEngine("one", program),
      await lab.openEngine("other", program),
    ];
    expect(await firstStack.up()).toMatchObject({ result: "succeeded" });
  });

  test.each(["preview", "up"] as const)(
    "the second stack's %s is refused, and the error names the first stack",
    async (verb) => {
      const result = await secondStack![verb]();
      expect(result.result).toBe("failed");
      expect(errorLines(result).join("\n")).toMatch(
        /Namespace gpu-operator: already exists, and was created by trial\/one\/gpu-namespace; .*give one of the two objects another name/,
      );
    },
  );

  test("the second stack's destroy keeps the first stack's objects", async () => {
    expect(await secondStack!.destroy()).toMatchObject({ result: "succeeded" });
    expect((await namespaceMetadata()).annotations?.[OWNER]).toMatch(/^trial\/one\//);
    expect(await firstStack!.preview()).toMatchObject(unchanged);
  });

  test.each(["preview", "up"] as const)(
    "`pulumi %s --replace` of a namespace with objects is refused, and changes nothing",
    async (verb) => {
      const { uid } = await namespaceMetadata();
      const replace = ["urn:pulumi:one::trial::kubernetes:core/v1:Namespace::gpu-namespace"];
      const result = await firstStack![verb]({ replace });
      expect(result.result).toBe("failed");
      expect(errorLines(result).join("\n")).toMatch(
        /Namespace gpu-operator: would be replaced \(because of --replace\), .*contains .*ConfigMap s/,
      );
      expect((await namespaceMetadata()).uid).toBe(uid);
      expect(await firstStack!.preview()).toMatchObject(unchanged);
    },
  );
});
