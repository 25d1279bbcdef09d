import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { readFile } from "node:fs/promises";
import { MANAGER } from "../../../../components/clients/kubernetes/manager";
import { isClassGiven } from "../../../../components/clients/kubernetes/asked-cluster";
import type { LabEngine, RunResult } from "../../../../lab/engine";
import { Cluster } from "../../../../lab/providers/kubernetes/cluster";
import { openTestLab, type TestLab } from "../../engine/lab";

jest.setTimeout(300_000);

let lab: TestLab;
let cluster: Cluster;
let kubeconfig: string;
let engine: LabEngine;
/** What the next update's program registers. */
let program: (opts: pulumi.CustomResourceOptions) => pulumi.Resource[];
const { signal } = new AbortController();

beforeAll(async () => {
  lab = await openTestLab();
  kubeconfig = await readFile(lab.kubeconfig, "utf8");
  cluster = Cluster.of(kubeconfig);
  engine = await lab.engine("kubernetes", () => {
    program({ provider: new k8s.Provider("cluster", { kubeconfig }) });
    return Promise.resolve({});
  });
}, 1_800_000);

afterAll(async () => {
  cluster.close();
  await lab.close();
});

afterEach(async () => {
  expect(await engine.destroy()).toMatchObject({ result: "succeeded" });
});

const up = (register: typeof program): Promise<RunResult> => {
  program = register;
  return engine.up();
};
const errors = ({ diagnostics }: RunResult): string =>
  diagnostics.filter((line) => line.startsWith("error")).join("\n");
const podSpec = { containers: [{ name: "main", image: "busybox" }], restartPolicy: "Never" };
const labels = { app: "app" };
const template = { metadata: { labels }, spec: { ...podSpec, restartPolicy: "Always" } };
const within = (seconds: number) => ({ customTimeouts: { create: `${seconds}s`, update: `${seconds}s` } });

test("a Job that failed for good fails at once, with its reason, and is kept", async () => {
  const job = (activeDeadlineSeconds: number) => (opts: pulumi.CustomResourceOptions) => [
    new k8s.batch.v1.Job(
      "deadline",
      { metadata: { name: "deadline" }, spec: { activeDeadlineSeconds, backoffLimit: 0, template: { spec: podSpec } } },
      { ...opts, ...within(120) },
    ),
  ];
  const failed = await up(job(1));
  expect(failed.result).toBe("failed");
  expect(failed.seconds).toBeLessThan(60);
  expect(errors(failed)).toMatch(/Job default\/deadline was created, but did not become ready/);
  expect(errors(failed)).toMatch(/DeadlineExceeded/);
  expect(await engine.stateText()).toContain("kubernetes:batch/v1:Job::deadline");
});

test("a Job that failed is made anew where it asks for that, and only then", async () => {
  const job = (asks: string) => (opts: pulumi.CustomResourceOptions) => [
    new k8s.batch.v1.Job(
      "again",
      {
        metadata: { name: "again", annotations: { "pulumi.com/replaceUnready": asks } },
        spec: { activeDeadlineSeconds: 1, backoffLimit: 0, template: { spec: podSpec } },
      },
      { ...opts, ...within(120) },
    ),
  ];
  expect(await up(job("false"))).toMatchObject({ result: "failed", changes: { replace: 0 } });
  const same = await up(job("false"));
  expect(same).toMatchObject({ result: "failed", changes: { replace: 0 } });
  expect(errors(same)).toMatch(/was updated, but did not become ready/);
  const anew = await up(job("true"));
  expect(errors(anew)).toMatch(/was created, but did not become ready/);
  const { items } = await cluster.list("/apis/batch/v1/namespaces/default/jobs", {}, signal);
  expect(items).toHaveLength(1);
});

test("a Deployment whose pods cannot be placed says what it waits for, and why", async () => {
  const stuck = await up((opts) => [
    new k8s.apps.v1.Deployment(
      "stuck",
      { metadata: { name: "stuck" }, spec: { selector: { matchLabels: labels }, template } },
      { ...opts, ...within(4) },
    ),
  ]);
  expect(stuck.result).toBe("failed");
  expect(errors(stuck)).toMatch(
    /Deployment default\/stuck is not ready after 4 s; it waits for available pods \(0 of 1\)/,
  );
  expect(errors(stuck)).toMatch(/condition Available=False MinimumReplicasUnavailable/);
  expect(errors(stuck)).toMatch(/Pod default\/stuck-\S+: not scheduled: Unschedulable: no nodes available/);
  expect(errors(stuck)).toMatch(/event Pod stuck-\S+: FailedScheduling: no nodes available/);
});

test("a Deployment over its progress deadline fails before the time is over, and recovers by the next update", async () => {
  const deployment = (replicas: number) => (opts: pulumi.CustomResourceOptions) => [
    new k8s.apps.v1.Deployment(
      "late",
      {
        metadata: { name: "late" },
        spec: { replicas, progressDeadlineSeconds: 1, selector: { matchLabels: labels }, template },
      },
      { ...opts, ...within(120) },
    ),
  ];
  const failed = await up(deployment(1));
  expect(failed.seconds).toBeLessThan(60);
  expect(errors(failed)).toMatch(/will not become ready; it waits for progress \(ProgressDeadlineExceeded/);
  const recovered = await up(deployment(0));
  expect(recovered).toMatchObject({ result: "succeeded", changes: { update: 1, replace: 0, create: 0 } });
});

test("a Service waits for an endpoint, unless it has no selector or is told not to", async () => {
  const service =
    (name: string, spec: object, annotations = {}) =>
    (opts: pulumi.CustomResourceOptions) =>
      new k8s.core.v1.Service(
        name,
        { metadata: { name, annotations }, spec: { ports: [{ port: 80 }], ...spec } },
        { ...opts, ...within(3) },
      );
  const lonely = await up((opts) => [service("lonely", { selector: labels })(opts)]);
  expect(errors(lonely)).toMatch(/Service default\/lonely is not ready after 3 s; it waits for an endpoint/);
  const others = await up((opts) => [
    service("headless", { selector: labels, clusterIP: "None" })(opts),
    service("bare", {})(opts),
    service("hurried", { selector: labels }, { "pulumi.com/skipAwait": "true" })(opts),
  ]);
  expect(others).toMatchObject({ result: "succeeded", changes: { create: 3, delete: 1 } });
});

const late = (annotations: Record<string, string>, opts: pulumi.CustomResourceOptions) =>
  new k8s.storage.v1.StorageClass(
    "late",
    { metadata: { name: "late", annotations }, provisioner: "none", volumeBindingMode: "WaitForFirstConsumer" },
    opts,
  );
const claim = (
  metadata: k8s.types.input.meta.v1.ObjectMeta & { name: string },
  said: object,
  opts: pulumi.CustomResourceOptions,
) => {
  const spec = { ...said, accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  return new k8s.core.v1.PersistentVolumeClaim(metadata.name, { metadata, spec }, { ...opts, ...within(10) });
};

test("a claim of a class that binds late is ready while it is pending", async () => {
  const result = await up((opts) => {
    const dependsOn = late({}, opts);
    return [dependsOn, claim({ name: "models" }, { storageClassName: "late" }, { ...opts, dependsOn })];
  });
  expect(result).toMatchObject({ result: "succeeded", changes: { create: 4 } });
});

test("a creation writes by the provider's own manager, an update hands all to the annotation's; the class of a claim is told as given all the while", async () => {
  const claims = (labels: Record<string, string>) => (opts: pulumi.CustomResourceOptions) => {
    const dependsOn = late({ "storageclass.kubernetes.io/is-default-class": "true" }, opts);
    const annotations = { "pulumi.com/patchFieldManager": MANAGER, "pulumi.com/skipAwait": "true" };
    const after = { ...opts, dependsOn };
    const given = claim({ name: "given", labels, annotations }, { storageClassName: "late" }, after);
    return [dependsOn, given, claim({ name: "left", labels, annotations }, {}, after)];
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
});

test("what admission forbids is an error with the API server's words; a name that is taken too", async () => {
  const forbidden = await up((opts) => [
    new k8s.core.v1.Pod(
      "privileged",
      {
        metadata: { name: "privileged" },
        spec: { containers: [{ name: "main", image: "busybox", securityContext: { privileged: true } }] },
      },
      opts,
    ),
  ]);
  expect(errors(forbidden)).toMatch(/Pod default\/privileged: .*violates PodSecurity "baseline:latest": privileged/);
  const taken = await up((opts) => [new k8s.core.v1.Namespace("default", { metadata: { name: "default" } }, opts)]);
  expect(errors(taken)).toMatch(/namespaces "default" already exists/);
});

test("a definition and its object in one update, whatever their order; waitFor looks at the object", async () => {
  const definition = (opts: pulumi.CustomResourceOptions) =>
    new k8s.apiextensions.v1.CustomResourceDefinition(
      "policies",
      {
        metadata: { name: "policies.trial.dev" },
        spec: {
          group: "trial.dev",
          scope: "Cluster",
          names: { kind: "Policy", plural: "policies" },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } as object },
            },
          ],
        },
      },
      opts,
    );
  const result = await up((opts) => [
    new k8s.apiextensions.CustomResource(
      "policy",
      {
        apiVersion: "trial.dev/v1",
        kind: "Policy",
        metadata: { annotations: { "pulumi.com/waitFor": "jsonpath={.spec.state}=ready" } },
        spec: { state: "ready" },
      },
      opts,
    ),
    definition(opts),
  ]);
  expect(errors(result)).toBe("");
  expect(result).toMatchObject({ result: "succeeded", changes: { create: 4 } });
});

test("a field of another owner is a conflict, and a refresh sees drift", async () => {
  const settings = (mine: string) => (opts: pulumi.CustomResourceOptions) => [
    new k8s.core.v1.NamespacePatch("labels", { metadata: { name: "default", labels: { shared: mine } } }, opts),
  ];
  const target = { apiVersion: "v1", kind: "Namespace", metadata: { name: "default", labels: { shared: "theirs" } } };
  const theirs = { fieldManager: "somebody", force: true, dryRun: false, signal };
  await cluster.apply(target, theirs);
  expect(errors(await up(settings("mine")))).toMatch(/conflict with "somebody".*another manager owns these fields/s);
  expect(await up(settings("theirs"))).toMatchObject({ result: "succeeded" });
  await cluster.apply({ ...target, metadata: { name: "default", labels: { shared: "drifted" } } }, theirs);
  expect(await engine.preview()).toMatchObject({ changes: { update: 0 } });
  const drifted = await engine.preview({ refresh: true });
  expect(errors(drifted)).toMatch(/labels .*NamespacePatch.*conflict with "somebody": .metadata.labels.shared/);
  await cluster.apply({ ...target, metadata: { name: "default" } }, theirs);
});
