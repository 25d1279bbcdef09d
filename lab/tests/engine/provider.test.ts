import * as command from "@pulumi/command";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { isClassGiven } from "../../../components/program/cluster/states";
import { MANAGER } from "../../../components/clients/kubernetes/manager";
import { leftAsIs } from "../../../components/cluster/gpu-machines";
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
  const wanted = { task: "one", away: false };
  const program = (): Record<string, unknown> => {
    const machine = new pulumi.ComponentResource(
      "test:index:Machine",
      "machine",
      { task: wanted.task },
      { ...(wanted.away ? { transformations: [leftAsIs] } : {}) },
    );
    const run = new command.local.Command(
      "upgrade",
      { create: "cat", update: "cat", stdin: wanted.task },
      { parent: machine },
    );
    return { ran: run.stdout };
  };
  const engine = await lab.engine("away", () => Promise.resolve(program()));
  const ran = async (): Promise<unknown> => {
    await engine.up();
    return (await engine.outputs())["ran"]?.value;
  };
  expect(await ran()).toBe("one");
  Object.assign(wanted, { task: "two", away: true });
  expect(await ran()).toBe("one");
  Object.assign(wanted, { away: false });
  expect(await ran()).toBe("two");
});

describe("the lab's Kubernetes provider, which creates objects like the releases from 4.29.0 on,", () => {
  let engine: LabEngine;
  /** Registers the resources of the next update. */
  let program: (opts: pulumi.CustomResourceOptions) => unknown;

  beforeAll(async () => {
    engine = await lab.engine("creation", () => {
      program({ provider: new k8s.Provider("cluster", { kubeconfig }) });
      return Promise.resolve({});
    });
  });

  const up = (register: typeof program): Promise<RunResult> => {
    program = register;
    return engine.up();
  };

  test("does not take over an existing object", async () => {
    const taken = await up(
      (opts) => new k8s.core.v1.Namespace("default", { metadata: { name: "default" } }, opts),
    );
    expect(taken.result).toBe("failed");
    expect(taken.diagnostics.join("\n")).toMatch(/namespaces "default" already exists/);
  });

  test("creates as pulumi-kubernetes, updates as the manager in pulumi.com/patchFieldManager, and keeps a claim's storage class", async () => {
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
      const annotations = {
        "pulumi.com/patchFieldManager": MANAGER,
        "pulumi.com/skipAwait": "true",
      };
      for (const [name, given] of Object.entries({
        given: { storageClassName: "late" },
        left: {},
      })) {
        const spec = {
          ...given,
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
        };
        const metadata = { name, labels, annotations };
        new k8s.core.v1.PersistentVolumeClaim(name, { metadata, spec }, { ...opts, dependsOn });
      }
    };
    const seen = async (name: string) => {
      const key = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name } };
      const { metadata, spec } = await cluster.get(key);
      const fields = metadata!["managedFields"] as {
        manager: string;
        operation: string;
        fieldsV1: object;
      }[];
      const ours = fields.filter(({ manager }) => /^(pulumi|talos-gpu)/.test(manager));
      const writers = ours.map(({ manager, operation }) => `${manager} ${operation}`);
      return [writers, spec.storageClassName, isClassGiven(fields)];
    };
    expect(await up(claims({}))).toMatchObject({ result: "succeeded" });
    expect(await seen("given")).toEqual([["pulumi-kubernetes Update"], "late", true]);
    expect(await seen("left")).toEqual([["pulumi-kubernetes Update"], "late", false]);
    expect(await up(claims({ a: "b" }))).toMatchObject({
      result: "succeeded",
      changes: { update: 2, replace: 0 },
    });
    expect(await seen("given")).toEqual([["talos-gpu Apply"], "late", true]);
    expect(await seen("left")).toEqual([["talos-gpu Apply"], "late", false]);
    expect(await engine.destroy()).toMatchObject({ result: "succeeded" });
  });
});

// With the real device plugin's chart and Helm: an update removes fields that the chart no longer has.
test("without time slicing, the DaemonSet no longer names the service account that the chart deletes", async () => {
  const sliced = planOf("rtx3090").kubernetes.release;
  const { config: _config, ...whole } = sliced.values;
  const wanted = { ...sliced };
  const program = (): Promise<Record<string, unknown>> => {
    const provider = new k8s.Provider("cluster", {
      kubeconfig: pulumi.secret(kubeconfig),
      clusterIdentifier: "cluster",
    });
    const namespace = new k8s.core.v1.Namespace(
      "ns",
      { metadata: { name: wanted.namespace } },
      { provider },
    );
    gpuRelease("gpu", wanted, 60, { provider, dependsOn: namespace });
    return Promise.resolve({});
  };
  const { namespace, name } = sliced;
  const engine = await lab.engine("sliced", program);
  const account = async (): Promise<string[]> => {
    const key = { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name, namespace } };
    const { spec } = (await cluster.get(key)) as { spec?: any };
    const { serviceAccountName, serviceAccount } = spec.template.spec;
    return [serviceAccountName, serviceAccount].filter((one) => one !== undefined);
  };
  expect(await engine.up()).toMatchObject({ result: "succeeded" });
  expect(await account()).toEqual(Array(2).fill("nvidia-device-plugin-service-account"));
  wanted.values = whole;
  expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { update: 1 } });
  expect(await account()).toEqual([]);
  expect(await engine.preview()).toMatchObject(unchanged);
  wanted.values = sliced.values;
  expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { update: 1 } });
  expect(await account()).toEqual(Array(2).fill("nvidia-device-plugin-service-account"));
});

describe("two stacks of one program with the same namespace", () => {
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

  const there = async () =>
    (await cluster.get({ apiVersion: "v1", kind: "Namespace", metadata: { name: "gpu-operator" } }))
      .metadata!;

  const errors = ({ diagnostics }: { diagnostics: readonly string[] }): string[] =>
    diagnostics.filter((line) => line.startsWith("error"));

  let [one, other]: LabEngine[] = [];

  beforeAll(async () => {
    [one, other] = [await lab.engine("one", program), await lab.engine("other", program)];
    expect(await one.up()).toMatchObject({ result: "succeeded" });
  });

  test.each(["preview", "up"] as const)(
    "the second stack's %s is refused, and the error names the first stack",
    async (verb) => {
      const refused = await other![verb]();
      expect(refused.result).toBe("failed");
      expect(errors(refused).join("\n")).toMatch(
        /Namespace gpu-operator: already exists, and was created by trial\/one\/gpu-namespace; .*give one of the two objects another name/,
      );
    },
  );

  test("the second stack's destroy keeps the first stack's objects", async () => {
    expect(await other!.destroy()).toMatchObject({ result: "succeeded" });
    expect((await there()).annotations?.[OWNER]).toMatch(/^trial\/one\//);
    expect(await one!.preview()).toMatchObject(unchanged);
  });

  test.each(["preview", "up"] as const)(
    "the %s of --replace for a namespace with objects is refused",
    async (verb) => {
      const { uid } = await there();
      const replace = ["urn:pulumi:one::trial::kubernetes:core/v1:Namespace::gpu-namespace"];
      const refused = await one![verb]({ replace });
      expect(refused.result).toBe("failed");
      expect(errors(refused).join("\n")).toMatch(
        /Namespace gpu-operator: would be replaced \(because of --replace\), .*contains .*ConfigMap s/,
      );
      expect((await there()).uid).toBe(uid);
      expect(await one!.preview()).toMatchObject(unchanged);
    },
  );
});
